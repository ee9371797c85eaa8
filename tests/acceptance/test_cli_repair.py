"""A person repairs a harness with the driver of the page about it: real repositories, real programs, one command."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workloop.testing.gitrepo import scratch_repository

PAGE = Path(__file__).parents[2] / "docs" / "repair.md"
TOOL = """import sys
if sys.argv[1] == "--version":
    print("tool 1")
else:
    BROKEN
    open(sys.argv[1], "w").write("done")
"""
MEND = """
import pathlib
tool = pathlib.Path("tool.py")
tool.write_text(tool.read_text().replace('raise OSError("defect")', "pass"))
"""
SPOIL = "import pathlib; pathlib.Path('tool.py').write_text('raise SystemExit(1)')"


def example() -> str:
    """Return the driver that the page shows."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (driver,) = [block for block in blocks if "create_work_loop_driver" in block]
    return driver


class Campaign:
    """An operator's folder, a project, a harness with a defect, and scratch space for workers."""

    def __init__(self, folder: Path, agent: str, **limits: object) -> None:
        self.operator = folder / "operator"
        self.operator.mkdir(mode=0o700)
        (folder / "scratch").mkdir()
        scratch_repository(folder / "project")
        harness = scratch_repository(folder / "harness")
        (harness.path / "tool.py").write_text(TOOL.replace("BROKEN", 'raise OSError("defect")'))
        for words in (["add", "-A"], ["-c", "user.name=o", "-c", "user.email=o@localhost", "commit", "-qm", "defect"]):
            subprocess.run(["git", "-C", str(harness.path), *words], check=True)
        head = ["git", "-C", str(harness.path), "rev-parse", "HEAD"]
        self.base = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
        self.ledger = self.operator / "run.jsonl"
        self.values = {
            "tasks": [{"id": "one", "prompt": "write the answer"}],
            "harness": {"commit": self.base, "runtimeId": f"git:{self.base}"},
            "ledgerPath": str(self.ledger),
            "maxTasks": 1,
            "maxTaskAttempts": 2,
            "maxRepairs": 1,
            "maxRepairAttempts": 1,
            "maxRuntimeMs": 240_000,
            "maxSpendUsd": 1,
            "driver": {
                **{name: str(folder / name) for name in ("project", "harness", "scratch")},
                "repair_agent": [sys.executable, "-c", agent],
            },
            **limits,
        }

    def run(self) -> tuple[int, dict[str, object]]:
        """Run the command; returns its exit code and what it said."""
        for name, text in (("campaign.json", json.dumps(self.values)), ("driver.py", example())):
            path = self.operator / name
            path.write_text(text)
            path.chmod(0o600)
        return cli(
            "repair", "--config", str(self.operator / "campaign.json"), "--driver", str(self.operator / "driver.py")
        )


def cli(*words: str) -> tuple[int, dict[str, object]]:
    """Run a command; returns its exit code and what it said in JSON."""
    argv = [sys.executable, "-m", "workloop", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=dict(os.environ), timeout=240)
    return done.returncode, json.loads(done.stdout or done.stderr.splitlines()[-1])


def test_a_defect_of_the_harness_is_repaired_and_the_task_accepted(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, MEND)
    code, said = campaign.run()
    assert (code, said["reason"], said["accepted"]) == (0, "queue-complete", ["one"]), said
    assert cli("ledger", "verify", str(campaign.ledger))[0] == 0
    types = [json.loads(line)["type"] for line in campaign.ledger.read_text("utf-8").splitlines()]
    assert types.count("activation") == 1
    assert oct(campaign.ledger.stat().st_mode & 0o777) == "0o600"
    before = campaign.ledger.read_bytes()
    assert campaign.run()[0] == 2, "the ledger is there already"
    assert campaign.ledger.read_bytes() == before


def test_a_repair_that_breaks_something_else_is_refused(tmp_path: Path) -> None:
    code, said = Campaign(tmp_path, SPOIL).run()
    assert (code, said["reason"], said["failed"]) == (1, "queue-complete-with-failures", ["one"]), said


def test_a_ledger_in_a_workers_reach_is_refused(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, MEND, ledgerPath=str(tmp_path / "scratch" / "run.jsonl"))
    code, said = campaign.run()
    assert (code, said["code"]) == (2, "PLACEMENT_INVALID")
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--driver", "x.py"), ("--confg", "x"), ("more",)])
def test_a_wrong_command_line_is_refused(words: tuple[str, ...]) -> None:
    code, said = cli("repair", *words)
    assert (code, said["code"]) == (2, "USAGE")
