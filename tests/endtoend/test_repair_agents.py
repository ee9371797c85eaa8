"""Real agents in the bench: dressed with a harness of files, they meet its broken tool, mend it, and then succeed."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from agent_stage import table
from metered_stage import PRICE, model_of, program_of

from bundled_campaign import DEFECT, Campaign, tool
from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.trial import try_bwrap
from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Call, Move, Say
from workloop.testing.model_scenarios import shell
from workloop.testing.model_server import ModelServer

TRIAL = try_bwrap(Network.LOOPBACK)
pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(TRIAL.failure), reason=f"no walls here: {TRIAL.failure}"),
]
WORDS = "Always say the word heliotrope."
SKILL = "---\nname: note-well\ndescription: Read this when a zircon is noted.\n---\nUse the tool.\n"
MANIFEST = 'version = 1\ninstructions = ["instructions.md"]\nskills = ["skills/note-well"]\ntools = ["tools/note"]\n'
WHO = "git -c user.name=worker -c user.email=worker@localhost"
KEY = "sk-of-the-operator-0123456789abcdef"


class Model:
    """A model that notes what it is asked to, and repairs the tool by taking a line out."""

    def __init__(self) -> None:
        self.heard: list[Conversation] = []
        self.server = ModelServer(self.casting)

    def casting(self, heard: Conversation) -> list[Move]:
        """Play the part that the brief asks for."""
        self.heard.append(heard)
        if "is the harness of a coding agent" in json.dumps(heard.body):
            return [
                shell(f"sed -i '/defect:/d' tools/note/run.py && {WHO} commit -qam repair", "mend it"),
                Say("mended"),
            ]
        if "the file is never opened" in json.dumps(heard.body):
            return [self.note(), Say("The tool is broken.")]
        return [self.note(), shell(f"git add -A && {WHO} commit -qm work", "commit"), Say("done")]

    def note(self) -> Call:
        """Return the call of the harness's tool."""
        return Call(("harness", "note"), {"file": "answer.txt", "text": "done"})


Told = tuple[Campaign, Model, tuple[int, dict[str, Any]]]


AGENTS = [
    *(pytest.param(name, marks=pytest.mark.real_agent) for name in ("claude", "codex")),
    *(pytest.param(name, marks=pytest.mark.real_npm) for name in ("copilot", "qwen")),
]


@pytest.fixture(params=AGENTS)
def told(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Told]:
    """Carry a whole campaign out with one agent, and return what came of it."""
    name: str = request.param
    program = program_of(name)
    with ExitStack() as opened:
        model = Model()
        opened.enter_context(model.server)
        campaign = Campaign(tmp_path, model.server.url, driver={"taskAgent": name, "repairAgent": name})
        campaign.changes = {"maxSpendUsd": 10_000}
        (campaign.harness.path / "skills" / "note-well").mkdir(parents=True)
        (campaign.harness.path / "skills" / "note-well" / "SKILL.md").write_text(SKILL)
        (campaign.harness.path / "harness.toml").write_text(MANIFEST)
        (campaign.harness.path / "instructions.md").write_text(WORDS)
        (campaign.harness.path / "tools/note/run.py").write_text(tool(DEFECT))
        campaign.commit = campaign.committed()
        key = campaign.private("agent.key", KEY)
        meter = {"key": f"@{key}", "anthropic_url": model.server.url, "openai_url": f"{model.server.url}/v1"}
        block = {"command": [str(program)], "model": model_of(name), "home": "own", "meter": meter}
        block |= {"options": {"auth_type": "openai"}} if name == "qwen" else {}
        prices = f"[meter.prices]\n{json.dumps(model_of(name))} = {PRICE}\n"
        campaign.settings.write_text(f"{prices}{table(f'harness.{name}', block)}\n")
        yield campaign, model, campaign.run()


def test_real_agent_dressed_with_a_harness_fails_by_its_tool_repairs_it_and_then_succeeds(
    told: Told,
) -> None:
    campaign, model, (code, said) = told
    assert (code, said["reason"], said["accepted"]) == (0, "queue-complete", ["one"]), (said, campaign.records())
    assert [data["kind"] for data in campaign.of("phase_start")] == [
        "task",
        "confirmation",
        "repair",
        "regression",
        "reproducer",
        "activation",
        "task",
        "acceptance",
    ]
    workers = {data["phase"] for data in campaign.of("charge")}
    kept = {data["enforced_by"] for data in campaign.of("phase_end") if data["phase"] in workers}
    assert kept == {"supervisor"}, campaign.of("note")
    dressed = json.dumps([one.body for one in model.heard if "is the harness of" not in json.dumps(one.body)])
    assert "heliotrope" in dressed
    assert "a zircon is noted" in dressed
    assert campaign.cli("ledger", "verify", str(campaign.ledger))[0] == 0


def test_repairer_is_not_dressed_with_what_it_repairs_and_no_session_sees_the_key(
    told: Told,
) -> None:
    campaign, model, _ = told
    repairers = [one for one in model.heard if "is the harness of" in json.dumps(one.body)]
    assert repairers
    assert not [one for one in repairers if "heliotrope" in json.dumps(one.body)]
    assert KEY not in campaign.ledger.read_text()
