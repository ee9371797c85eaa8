"""A campaign whose agents are the scripted harness: the story of a repair without a model and without a meter."""

import json
import shlex
import sys
from pathlib import Path

from walls import NEEDS_WALLS

from bundled_campaign import RIGHT, WRONG, Campaign

pytestmark = NEEDS_WALLS
SETTINGS = """
[harness.worker]
kind = "scripted"
script = "{operator}/worker.json"
[harness.repairer]
kind = "scripted"
script = "{operator}/repairer.json"
writable = ["{memory}"]
"""
TOOL = "tools/note/run.py"
ASKED = json.dumps({"file": "answer.txt", "text": "done"})
STORY = [
    *("task", "confirmation"),
    *("repair", "regression"),
    *("repair", "regression", "reproducer", "activation"),
    *("task", "acceptance"),
]


def script(*steps: dict[str, object]) -> str:
    """Return a script that is followed in every session."""
    return json.dumps([{"do": list(steps)}])


def test_scripted_harness_shows_a_defect_of_its_tool_and_does_its_task_once_the_second_repair_is_in_force(
    tmp_path: Path,
) -> None:
    campaign = Campaign(tmp_path, "http://127.0.0.1:9", driver={"taskAgent": "worker"})
    memory = tmp_path / "memory"
    campaign.settings.write_text(SETTINGS.format(operator=campaign.operator, memory=memory))
    use = f'echo {shlex.quote(ASKED)} | {sys.executable} "$WORKLOOP_RUNTIME/{TOOL}"'
    keep = "git add --all; git diff --cached --quiet || git -c user.name=W -c user.email=w@w.example commit -qm work"
    worker = script({"use": {"name": "note", "command": use}}, {"run": keep})
    campaign.private("worker.json", worker)
    second = f"test -e {memory}/tried || exit 0; printf %s {shlex.quote(RIGHT[TOOL])} > {TOOL}"
    repairer = script(
        {"write": {"path": TOOL, "text": WRONG[TOOL]}},
        {"run": second},
        {"touch": f"{memory}/tried"},
        {"commit": "fix: the tool"},
    )
    campaign.private("repairer.json", repairer)
    code, said = campaign.run()
    assert (code, said["accepted"]) == (0, ["one"]), said
    assert [data["kind"] for data in campaign.of("phase_start")] == STORY
    assert [data["reason"] for data in campaign.of("repair_rejected")] == ["regression-failed"]
    assert [(data["state"], data["microusd"]) for data in campaign.of("charge")] == [("settled", 0)] * 4
    (activated,) = campaign.of("activation")
    tasks = [data["harness"] for data in campaign.of("phase_start") if data["kind"] == "task"]
    assert tasks == [activated["previous"], activated["harness"]]
    assert campaign.cli("ledger", "verify", str(campaign.ledger))[0] == 0
