"""A harness that a campaign names has to be there as it says, or the bundled driver begins nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from walls import NEEDS_WALLS

from bundled_campaign import Campaign
from workloop.testing.model.moves import Say
from workloop.testing.model_server import ModelServer

pytestmark = NEEDS_WALLS


@pytest.fixture
def model() -> Iterator[str]:
    """Serve a model that has nothing to say, and return where."""
    with ModelServer(lambda _: [Say("ok")]) as server:
        yield server.url


@pytest.mark.parametrize(
    "wrong",
    [
        {"commit": "a" * 40},
        {"commit": "a" * 64},
        {"commit": "a" * 40, "runtimeId": "sha256:opaque"},
        {"runtimeId": "sha256:opaque"},
        {"runtimeId": "b" * 64},
    ],
)
def test_a_harness_that_is_not_there_begins_nothing(tmp_path: Path, model: str, wrong: dict[str, str]) -> None:
    """A commit of no such repository, one of another kind of repository, and runtimes that the host has not built."""
    campaign = Campaign(tmp_path, model)
    campaign.changes = {"harness": {**campaign.values()["harness"], **wrong}}
    code, said = campaign.run()
    assert (code, said["code"]) == (2, "CAMPAIGN_UNREADY"), said
    assert f"harness.{'commit' if 'commit' in wrong else 'runtimeId'}: " in said["detail"]
    assert not campaign.ledger.exists()
    assert list((tmp_path / "scratch").iterdir()) == []
