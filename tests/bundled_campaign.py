"""A campaign for the driver that comes with the bench: real repositories, an agent of the harness's own, real walls.

The harness is a small agent in Python with one tool that writes a line into a file, and a defect in that tool. Its
repairer is a program of the operator's, whose attempts follow each other in a list.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workloop.testing.gitrepo import scratch_repository

ASK = """
import json, os, subprocess, sys
from pathlib import Path
from urllib.request import Request, urlopen

body = {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": "go on"}]}
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json",
           "anthropic-version": "2023-06-01"}
urlopen(Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), headers)).read()
"""
AGENT = """
here = Path(__file__).resolve().parent
want = Path(sys.argv[1]).read_text()
name = next(word for word in want.split() if word.endswith(".txt"))
tool = subprocess.run([sys.executable, str(here.parent / "tools" / "note" / "run.py")],
                      input=json.dumps({"file": name, "text": "done"}), text=True, capture_output=True)
with open(os.environ["WORKLOOP_EVENTS"], "a") as events:
    call = {"type": "tool_call", "call_id": "1", "name": "note", "kind": "other"}
    ended = "ok" if tool.returncode == 0 else "tool_fault"
    end = {"type": "tool_result", "call_id": "1", "name": "note", "class": ended}
    events.write(json.dumps(call) + "\\n" + json.dumps(end) + "\\n")
print(tool.stderr)
who = ["-c", "user.name=worker", "-c", "user.email=worker@localhost"]
subprocess.run(["git", "add", "-A"], check=True)
if subprocess.run(["git", "diff", "--cached", "--quiet"]).returncode:
    subprocess.run(["git", *who, "commit", "-qm", "work"], check=True)
"""
TOOL = """#!{python}
import json, sys

asked = json.load(sys.stdin)
{defect}
with open(asked["file"], "w") as place:
    place.write(asked["text"] + "\\n")
"""
DEFECT = 'raise OSError("defect: the file is never opened")'
MANIFEST = {
    "name": "note",
    "description": "Write a line into a file.",
    "entry": "run.py",
    "timeout_seconds": 20,
    "capabilities": ["write-tree"],
    "parameters": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"file": {"type": "string"}, "text": {"type": "string"}},
        "required": ["file", "text"],
    },
}
HARNESS = """version = 1
instructions = ["instructions.md"]
tools = ["tools/note"]

[agent]
entry = "agent/main.py"
arguments = ["{brief}"]
"""
REPAIRER = """
brief = Path(os.environ["WORKLOOP_BRIEF"]).read_text()
Path("brief-was.txt").write_text(brief)
count = Path(sys.argv[1]) / "count"
turn = int(count.read_text()) if count.exists() else 0
count.write_text(str(turn + 1))
steps = json.loads((Path(__file__).parent / "steps.json").read_text())
for path, text in steps[min(turn, len(steps) - 1)].items():
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
Path("brief-was.txt").unlink()
who = ["-c", "user.name=worker", "-c", "user.email=worker@localhost"]
subprocess.run(["git", "add", "-A"], check=True)
if subprocess.run(["git", "diff", "--cached", "--quiet"]).returncode:
    subprocess.run(["git", *who, "commit", "-qm", "repair"], check=True)
"""
PROBE = """
import json, subprocess, sys, tempfile
from pathlib import Path

tool = str(Path("tools/note/run.py").resolve())
name = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    asked = json.dumps({"file": name, "text": "probe"})
    run = subprocess.run([sys.executable, tool], input=asked, text=True, cwd=folder)
    there = (Path(folder) / name).exists() and (Path(folder) / name).read_text() == "probe\\n"
sys.exit(0 if run.returncode == 0 and there else 1)
"""
LOADS = "import ast, pathlib; ast.parse(pathlib.Path('tools/note/run.py').read_text()); "
KEEPS = LOADS + "assert 'asked[\"text\"]' in pathlib.Path('tools/note/run.py').read_text()"
SETTINGS = """[meter.prices.scripted]
input_usd = 1.0
output_usd = 2.0

[harness.agent]
kind = "command"
command = ["{python}"]
[harness.agent.meter]
key = "@{key}"
anthropic_url = "{model}"

[harness.repairer]
kind = "command"
command = ["{python}", "{repairer}", "{memory}"]
readable = ["{repairers}"]
writable = ["{memory}"]
[harness.repairer.meter]
key = "@{key}"
anthropic_url = "{model}"
"""


def tool(defect: str = "") -> str:
    """Return the tool, with a line in its middle."""
    return TOOL.format(python=sys.executable, defect=defect)


RIGHT = {"tools/note/run.py": tool()}
WRONG = {"tools/note/run.py": "raise SystemExit(0)\n"}


@dataclass
class Campaign:
    """Everything that lies about when a campaign begins; `steps` are the files that each repair writes."""

    folder: Path
    model: str
    steps: list[dict[str, str]] = field(default_factory=lambda: [RIGHT])
    defect: str = DEFECT
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    driver: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name in ("operator", "scratch", "repairers", "memory", "home", "reproducer"):
            (self.folder / name).mkdir(mode=0o700)
        self.operator = self.folder / "operator"
        self.project = scratch_repository(self.folder / "project")
        self.project_commit = self.project.commit({"readme.md": "a project\n"}, "a project")
        self.harness = scratch_repository(self.folder / "harness")
        self.files = {
            "harness.toml": HARNESS,
            "instructions.md": "Write what is asked for, and nothing else.\n",
            "agent/main.py": ASK + AGENT,
            "tools/note/tool.json": json.dumps(MANIFEST),
            "tools/note/run.py": tool(self.defect),
        }
        for path, text in self.files.items():
            place = self.harness.path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        (self.harness.path / "tools/note/run.py").chmod(0o755)
        self.commit = self.committed()
        (self.folder / "repairers" / "repairer.py").write_text(ASK + REPAIRER)
        (self.folder / "repairers" / "steps.json").write_text(json.dumps(self.steps))
        (self.folder / "reproducer" / "probe.py").write_text(PROBE)
        self.private("provider.key", "sk-of-the-operator-0123456789abcdef")
        self.settings = self.private(
            "settings.toml",
            SETTINGS.format(
                python=sys.executable,
                key=self.operator / "provider.key",
                repairer=self.folder / "repairers" / "repairer.py",
                repairers=self.folder / "repairers",
                memory=self.folder / "memory",
                model=self.model,
            ),
        )
        self.ledger = self.operator / "run.jsonl"
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ},
            "HOME": str(self.folder / "home"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
        }

    def committed(self) -> str:
        """Commit what the harness's folder holds."""
        who = ["-c", "user.name=o", "-c", "user.email=o@localhost"]
        for words in (["add", "-A"], [*who, "commit", "-qm", "a harness"]):
            subprocess.run(["git", "-C", str(self.harness.path), *words], check=True)
        return self.head()

    def head(self) -> str:
        """Return the harness's commit."""
        words = ["git", "-C", str(self.harness.path), "rev-parse", "HEAD"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

    def private(self, name: str, text: str) -> Path:
        """Write a file of the operator's."""
        path = self.operator / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def cli(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run the program; returns its exit code and what it said."""
        ran = subprocess.run(
            [sys.executable, "-m", "workloop", "--json", *words],
            env=self.environment,
            cwd=self.operator,
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, json.loads(ran.stdout or ran.stderr)

    def values(self) -> dict[str, Any]:
        """Return the campaign's file; builds the first runtime."""
        code, built = self.cli("runtime", "build", str(self.harness.path), self.commit)
        assert code == 0, built
        python = [sys.executable]
        return {
            "tasks": [{"id": "one", "prompt": "Write done into answer.txt and commit it."}],
            "harness": {"commit": self.commit, "runtimeId": built["id"]},
            "ledgerPath": str(self.ledger),
            "maxTasks": 1,
            "maxTaskAttempts": 2,
            "maxRepairs": 1,
            "maxRepairAttempts": 2,
            "maxRuntimeMs": 400_000,
            "maxSpendUsd": 1,
            "driver": {
                "project": str(self.project.path),
                "projectCommit": self.project_commit,
                "harnessRepository": str(self.harness.path),
                "scratch": str(self.folder / "scratch"),
                "taskAgent": "agent",
                "repairAgent": "repairer",
                "acceptance": {
                    "one": [{"command": [*python, "-c", "assert open('answer.txt').read() == 'done\\n'"]}],
                },
                "regression": [{"command": [*python, "-c", KEEPS]}],
                "reproducers": [
                    {
                        "kind": "tool_error",
                        "subject": "note",
                        "probe": {"command": [*python, "probe.py", "x.txt"], "files": str(self.folder / "reproducer")},
                    }
                ],
                "reproducerRuns": 2,
                **self.driver,
            },
            **self.changes,
        }

    def run(self) -> tuple[int, dict[str, Any]]:
        """Carry the campaign out with the bundled driver."""
        config = self.private("campaign.json", json.dumps(self.values()))
        return self.cli("repair", "--config", str(config), "--settings", str(self.settings))

    def started(self) -> "subprocess.Popen[bytes]":
        """Start the campaign with the bundled driver."""
        config = self.private("campaign.json", json.dumps(self.values()))
        words = ["repair", "--config", str(config), "--settings", str(self.settings)]
        return subprocess.Popen(
            [sys.executable, "-m", "workloop", "--json", *words],
            env=self.environment,
            cwd=self.operator,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the ledger's records."""
        lines = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return [(line["type"], line["data"]) for line in lines]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of all records of a type."""
        return [data for name, data in self.records() if name == kind]
