"""A person repairs a harness with the driver of the page about it: real repositories, walls and programs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundled_campaign import ASK
from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.trial import try_bwrap
from workloop.testing.gitrepo import scratch_repository
from workloop.testing.model.moves import Say
from workloop.testing.model_server import ModelServer

PAGE = Path(__file__).parents[2] / "docs" / "repair.md"
FAILURE = try_bwrap(Network.LOOPBACK).failure
NEEDS_WALLS = pytest.mark.skipif(bool(FAILURE) and os.environ.get("CI") != "true", reason=f"no walls here: {FAILURE}")
TOOL = """import sys
if sys.argv[1] == "--version":
    print("tool 1")
else:
    BROKEN
    open(sys.argv[1], "w").write("done")
"""
DEFECT = 'raise OSError("defect")'
PROBES = {
    "regression": """import subprocess, sys
sys.exit(subprocess.run([sys.executable, "tool.py", "--version"]).returncode)
""",
    "reproducer": """import os, subprocess, sys
place = os.path.join(os.environ["TMPDIR"], "probe.txt")
subprocess.run([sys.executable, "tool.py", place])
sys.exit(0 if os.path.exists(place) and open(place).read() == "done" else 1)
""",
}
COMMIT = """
for words in (["add", "-A"], ["-c", "user.name=w", "-c", "user.email=w@localhost", "commit", "-qm", "work"]):
    subprocess.run(["git", *words])
"""
WORKER = """
tool = Path(os.environ["WORKLOOP_RUNTIME"]) / "tool.py"
done = subprocess.run([sys.executable, str(tool), "answer.txt"])
result = "tool_fault" if done.returncode else "ok"
with open(os.environ["WORKLOOP_EVENTS"], "a") as events:
    for line in (
        {"type": "tool_call", "call_id": "1", "name": "tool", "kind": "other"},
        {"type": "tool_result", "call_id": "1", "name": "tool", "class": result},
    ):
        events.write(json.dumps(line) + "\\n")
"""
MEND = f"Path('tool.py').write_text(Path('tool.py').read_text().replace({DEFECT!r}, 'pass'))"
SPOIL = "Path('tool.py').write_text('raise SystemExit(1)')"
PEEK = "Path('tool.py').write_text('\"' + str(list(Path(r'OWN').rglob('*'))) + '\"')"
SETTINGS = """[sandbox]
hidden = ["{own}"]

[meter.prices.scripted]
input_usd = 1.0
output_usd = 2.0
"""
AGENT = """
[harness.{name}]
kind = "command"
command = ["{python}", "{program}"]
[harness.{name}.meter]
key = "@{key}"
anthropic_url = "{model}"
"""


def example() -> str:
    """Return the driver that the page shows."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (driver,) = [block for block in blocks if "create_work_loop_driver" in block]
    return driver


class Campaign:
    """An operator's folder with probes, a project, a harness with a defect, agents, and scratch space for workers."""

    def __init__(self, folder: Path, model: str, repair: str, **limits: object) -> None:
        self.folder, self.model = folder, model
        self.operator, self.agents = folder / "operator", folder / "agents"
        for name in ("operator", "operator/state", "agents", "scratch", "home"):
            (folder / name).mkdir(mode=0o700)
        for name, text in PROBES.items():
            (self.operator / name).mkdir()
            (self.operator / name / "probe.py").write_text(text)
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ},
            "HOME": str(folder / "home"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        project, harness = scratch_repository(folder / "project"), scratch_repository(folder / "harness")
        self.base = harness.commit({"tool.py": TOOL.replace("BROKEN", DEFECT)}, "a harness with a defect")
        self.ledger = self.operator / "run.jsonl"
        self.private("key", "sk-of-the-operator-0123456789abcdef")
        self.private("settings.toml", self.settings(repair))
        self.values = {
            "tasks": [{"id": "one", "prompt": "write the answer"}],
            "harness": {"commit": self.base, "runtimeId": self.runtime()},
            "ledgerPath": str(self.ledger),
            "maxTasks": 1,
            "maxTaskAttempts": 2,
            "maxRepairs": 1,
            "maxRepairAttempts": 1,
            "maxRuntimeMs": 240_000,
            "maxSpendUsd": 1,
            "driver": {
                **{name: str(folder / name) for name in ("project", "harness", "scratch")},
                "own": str(self.operator),
                "projectCommit": project.head,
            },
            **limits,
        }

    def settings(self, repair: str) -> str:
        """Write the programs of both agents, and return settings that name them."""
        written = SETTINGS.format(own=self.operator)
        for name, text in (("worker", WORKER), ("mender", repair.replace("OWN", str(self.operator)))):
            program = self.agents / f"{name}.py"
            program.write_text(ASK + text + COMMIT)
            written += AGENT.format(
                name=name, python=sys.executable, program=program, key=self.operator / "key", model=self.model
            )
        return written

    def private(self, name: str, text: str) -> Path:
        """Write a file of the operator's."""
        path = self.operator / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def runtime(self) -> str:
        """Build the runtime of the harness as it is."""
        code, said = self.cli("runtime", "build", str(self.folder / "harness"), self.base)
        assert code == 0, said
        return str(said["id"])

    def cli(self, *words: str) -> tuple[int, dict[str, object]]:
        """Run a command; returns its exit code and what it said in JSON."""
        argv = [sys.executable, "-m", "workloop", "--json", *words]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=self.environment, timeout=240)
        return done.returncode, json.loads(done.stdout or done.stderr.splitlines()[-1])

    def run(self) -> tuple[int, dict[str, object]]:
        """Carry the campaign out with the page's driver."""
        named = {
            "--config": self.private("campaign.json", json.dumps(self.values)),
            "--driver": self.private("driver.py", example()),
            "--settings": self.operator / "settings.toml",
        }
        return self.cli("repair", *(word for name, path in named.items() for word in (name, str(path))))

    def of(self, kind: str) -> list[dict[str, object]]:
        """Return the data of all records of a type."""
        lines = [json.loads(line) for line in self.ledger.read_text("utf-8").splitlines()]
        return [line["data"] for line in lines if line["type"] == kind]


@pytest.fixture
def model() -> Iterator[str]:
    """Serve a model that has nothing to say, and return where."""
    with ModelServer(lambda _: [Say("ok")]) as server:
        yield server.url


@NEEDS_WALLS
def test_a_defect_of_the_harness_is_repaired_and_the_task_accepted(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model, MEND)
    code, said = campaign.run()
    assert (code, said["reason"], said["accepted"]) == (0, "queue-complete", ["one"]), said
    assert campaign.cli("ledger", "verify", str(campaign.ledger))[0] == 0
    assert len(campaign.of("activation")) == 1
    by = {str(end["phase"]): end["enforced_by"] for end in campaign.of("phase_end")}
    workers = [str(start["phase"]) for start in campaign.of("phase_start") if start["kind"] in ("task", "repair")]
    assert [by[phase] for phase in workers] == ["supervisor"] * 3, campaign.of("note")
    assert oct(campaign.ledger.stat().st_mode & 0o777) == "0o600"
    before = campaign.ledger.read_bytes()
    assert campaign.run()[0] == 2, "the ledger is there already"
    assert campaign.ledger.read_bytes() == before


@NEEDS_WALLS
def test_a_repair_that_breaks_something_else_is_refused(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model, SPOIL)
    code, said = campaign.run()
    assert (code, said["reason"], said["failed"]) == (1, "queue-complete-with-failures", ["one"]), said
    assert campaign.of("repair_rejected")[0]["reason"] == "regression-failed"


@NEEDS_WALLS
def test_a_repair_sees_nothing_of_what_judges_it(tmp_path: Path, model: str) -> None:
    """It would write all that it finds of the operator's folder into the harness."""
    campaign = Campaign(tmp_path, model, PEEK)
    assert campaign.run()[0] == 1
    tip = subprocess.run(
        ["git", "-C", str(tmp_path / "harness"), "log", "--all", "--format=%B", "-p"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert '+"[]"' in tip


def test_a_ledger_in_a_workers_reach_is_refused(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model, MEND, ledgerPath=str(tmp_path / "scratch" / "run.jsonl"))
    code, said = campaign.run()
    assert (code, said["code"]) == (2, "PLACEMENT_INVALID")
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--driver", "x.py"), ("--confg", "x"), ("more",)])
def test_a_wrong_command_line_is_refused(words: tuple[str, ...]) -> None:
    argv = [sys.executable, "-m", "workloop", "--json", "repair", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, json.loads(done.stderr.splitlines()[-1])["code"]) == (2, "USAGE")
