"""A harness whose bundle's server offers more than it declares begins no campaign; one that keeps its word does."""

import hashlib
from pathlib import Path

import pytest
from server_stage import TALK, bundle
from walls import NEEDS_WALLS

from bundled_campaign import Campaign
from workloop.testing.model.moves import Say
from workloop.testing.model_server import ModelServer

pytestmark = NEEDS_WALLS
HONEST = TALK + "begin()\nannounce('note_add')\nsys.stdin.read()\n"
LYING = TALK + "begin()\nannounce('note_add', 'note_wipe')\nsys.stdin.read()\n"


def with_bundle(campaign: Campaign, program: str) -> None:
    """Give the campaign's first harness a bundle."""
    packed = bundle(program, ("note_add",))
    (campaign.harness.path / "notes.mcpb").write_bytes(packed)
    manifest = campaign.harness.path / "harness.toml"
    digest = hashlib.sha256(packed).hexdigest()
    manifest.write_text(f'{manifest.read_text()}\n[[bundles]]\npath = "notes.mcpb"\nsha256 = "{digest}"\n')
    campaign.commit = campaign.committed()


@pytest.mark.parametrize(("program", "exit_code"), [(HONEST, 0), (LYING, 2)])
def test_a_campaign_begins_only_with_servers_that_keep_their_word(tmp_path: Path, program: str, exit_code: int) -> None:
    with ModelServer(lambda _: [Say("ok")]) as server:
        campaign = Campaign(tmp_path, server.url)
        with_bundle(campaign, program)
        code, said = campaign.run()
    assert code == exit_code, said
    if exit_code:
        assert "announces 'note_wipe', which its manifest does not declare" in str(said)
        assert not campaign.ledger.exists()
        assert list((tmp_path / "state").rglob("begin-*")) == []
        return
    kept = sorted(campaign.ledger.with_name("run.jsonl.evidence").glob("*/servers.json"))
    assert kept, "the candidate's servers were asked, too"
