"""A campaign that is ended while it waits for the store of runtimes, which somebody else holds: it changes nothing."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from walls import NEEDS_WALLS

from bundled_campaign import Campaign
from workloop.testing.model.moves import Say
from workloop.testing.model_server import ModelServer
from workloop.wiring.runtimes import runtime_store

pytestmark = NEEDS_WALLS
BOUND_SECONDS = 120
LOOK_SECONDS = 0.01


@pytest.fixture
def model() -> Iterator[str]:
    """Serve a model that has nothing to say, and return where."""
    with ModelServer(lambda _: [Say("ok")]) as server:
        yield server.url


def test_sigterm_while_an_activation_waits_for_the_store_leaves_what_was_in_force(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model)
    config = campaign.private("campaign.json", json.dumps(campaign.values()))
    store = runtime_store(campaign.environment)
    words = ("--config", str(config), "repair", "--settings", str(campaign.settings))
    with store.lock():
        running = subprocess.Popen([sys.executable, "-m", "workloop", *words], env=campaign.environment)
        try:
            until = time.monotonic() + BOUND_SECONDS
            while len(store.ids()) < 2:
                assert time.monotonic() < until
                assert running.poll() is None
                time.sleep(LOOK_SECONDS)
            running.send_signal(signal.SIGTERM)
            assert running.wait(BOUND_SECONDS) == 128 + signal.SIGTERM
        finally:
            running.kill()
    assert campaign.of("phase_start")[-1]["kind"] == "activation"
    assert campaign.of("phase_end")[-1]["status"] == "aborted"
    assert campaign.of("activation") == []
    assert store.activations().current is None
