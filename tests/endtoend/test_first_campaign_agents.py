"""The campaign that `workloop repair init` makes, carried out by real agents against a scripted model."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_stage import require
from metered_stage import model_of, program_of

from workloop.repair.ledger.verifying import verify
from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Call, Say, Scenario
from workloop.testing.model_scenarios import shell
from workloop.testing.model_server import ModelServer

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(400)]
BOUND_SECONDS = 280
COUNT = Call(("harness", "count_lines"), {"path": "menu.txt"})
MEND = "sed -i 's/\"utf-8\"/\"latin-1\"/' tools/count-lines/bin/count.py && git commit -qam 'fix: read any file'"
PRICES = """
[meter.prices.{model}]
input_usd = 0
output_usd = 1
cache_read_usd = 0
cache_write_usd = 0
"""


class Model:
    """Plays the task's worker, who gives up where the tool fails, and the repair's."""

    def __init__(self) -> None:
        self.heard: list[Conversation] = []
        self.server = ModelServer(self.casting)

    def casting(self, heard: Conversation) -> Scenario:
        """Choose a part by the brief; what a task's worker does goes by what the tool said."""
        self.heard.append(heard)
        if "the harness of a coding agent" in heard.prompt:
            return [shell(MEND, "mend the tool"), Say("Mended.")]
        if "UnicodeDecodeError" in json.dumps(heard.body):
            return [COUNT, Say("The tool fails.")]
        return [COUNT, shell("echo 3 > lines.txt && git add -A && git commit -qm count", "write it down"), Say("Done.")]


class Bench:
    """A folder that init has filled, and the little that a person adds before the first run."""

    def __init__(self, folder: Path, agent: str, url: str) -> None:
        (folder / "home").mkdir()
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "XDG_STATE_HOME": str(folder / "state"),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        self.said: dict[str, Any] = json.loads(
            self.run("repair", "init", str(folder / "bench"), "--agent", agent).stdout
        )
        key = folder / "bench" / f"{agent}.key"
        key.write_text("sk-of-the-operator-0123456789abcdef")
        key.chmod(0o600)
        settings, model = Path(self.said["settings"]), json.dumps(model_of(agent))
        block = f'[harness.{agent}]\ncommand = ["{program_of(agent)}"]\nmodel = {model}\n'
        text = settings.read_text("utf-8").replace(f"[harness.{agent}]\n", block)
        urls = f'anthropic_url = "{url}"\nopenai_url = "{url}/v1"\n'
        settings.write_text(f"{text}{urls}{PRICES.format(model=model)}")

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the program as a person would."""
        argv = [sys.executable, "-m", "workloop", *words]
        return subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, check=False, timeout=BOUND_SECONDS
        )

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        """Return what the ledger holds."""
        lines = (Path(self.said["folder"]) / "run.jsonl").read_text("utf-8").splitlines()
        return [(record["type"], record["data"]) for record in map(json.loads, lines)]


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_flaw_of_the_first_campaign_is_found_repaired_and_its_task_accepted(tmp_path: Path, agent: str) -> None:
    require(agent)
    model = Model()
    with model.server:
        bench = Bench(tmp_path, agent, model.server.url)
        done = bench.run("repair", "--config", bench.said["campaign"], "--settings", bench.said["settings"])
    records = bench.records()
    assert done.returncode == 0, (done.stdout, done.stderr, records)
    kinds = {data["phase"]: data["kind"] for name, data in records if name == "phase_start"}
    assert list(kinds.values()) == [
        *("task", "confirmation", "repair", "regression", "reproducer", "activation"),
        *("task", "acceptance"),
    ]
    (seen,) = [data["subject"] for name, data in records if name == "observation"]
    assert seen == "mcp__harness__count_lines"
    ended = [data for name, data in records if name == "phase_end" and kinds[data["phase"]] in ("task", "repair")]
    assert {data["enforced_by"] for data in ended} == {"supervisor"}, records
    (asked,) = Path(bench.said["folder"]).glob("run.jsonl.evidence/*/servers.json")
    assert [row["tools"] for row in json.loads(asked.read_text("utf-8"))] == [["count_lines"]]
    assert verify(Path(bench.said["folder"]) / "run.jsonl").first_bad is None
