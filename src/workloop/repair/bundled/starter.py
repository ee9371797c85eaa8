"""What a first campaign of the bundled driver consists of: a small harness with a flaw, a project, and their judges.

The harness's one tool cannot read a file that is not UTF-8, and the project's one task is about such a file.
So there is something to observe, a reproducer that fails, and a repair that can be found.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workloop.domain.reader import JsonObject
from workloop.repair.bundled.files import FileKind, HarnessFile, HarnessFiles

PYTHON: Final = "python3"
LATIN: Final = "Café au lait\nCrème brûlée\nThé\n".encode("latin-1")
MANIFEST: Final = """\
version = 1
instructions = ["instructions/general.md"]
skills = ["skills/small-steps"]
tools = ["tools/count-lines"]
"""
INSTRUCTIONS: Final = """\
Work in small steps, and commit when the task is done.
Lines of a file are counted with the tool `count_lines`.
"""
SKILL: Final = """\
---
name: small-steps
description: Read it when a task needs more than one change.
---
Write down what is to be changed, change one thing, look at what came of it, and only then change the next.
"""
TOOL: Final = """\
{
  "name": "count_lines",
  "description": "Count the lines of a file of the work tree.",
  "entry": "bin/count.py",
  "timeout_seconds": 10,
  "parameters": {
    "type": "object",
    "additionalProperties": false,
    "properties": {"path": {"type": "string", "maxLength": 400}},
    "required": ["path"]
  }
}
"""
PROGRAM: Final = """\
#!/usr/bin/env python3
\"\"\"Count the lines of a file; arguments come as JSON on standard input, what is printed is the answer.\"\"\"

import json
import sys
from pathlib import Path

path = Path(json.load(sys.stdin)["path"])
print(len(path.read_text("utf-8").splitlines()))
"""
PROBE: Final = """\
\"\"\"{purpose}

It runs at the top of a harness, with the files beside it laid there: 0 passes, 1 fails, any other exit code is neither.
\"\"\"

import json
import subprocess
import sys

TOOL = "tools/count-lines/bin/count.py"

asked = json.dumps({{"path": "{file}"}})
done = subprocess.run([sys.executable, TOOL], input=asked, capture_output=True, text=True, check=False, timeout=20)
print(done.stdout + done.stderr)
sys.exit(0 if done.stdout.strip() == "{lines}" else 1)
"""
ACCEPTED: Final = """\
\"\"\"Whether the task is done; it runs at the top of the project: 0 passes, 1 fails.\"\"\"

import sys
from pathlib import Path

answer = Path("lines.txt")
sys.exit(0 if answer.is_file() and answer.read_text("utf-8").strip() == "3" else 1)
"""
UNWRITTEN: Final = """\
\"\"\"Whether the task is done; it runs at the top of the project: 0 passes, 1 fails.\"\"\"

import sys

print("write here how one sees that the task is done")
sys.exit(1)
"""
SETTINGS: Final = """\
# Agents, walls and the meter of this campaign; all keys are those of a loop's settings.

[harness.{agent}]

[harness.{agent}.meter]
key = "@{key}"        # a file of mode 600 with the provider's key; no session ever sees it
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """Where things are, which agent works, what the campaign begins with; `example` says that the project is ours."""

    folder: Path
    agent: str
    project: Path
    project_commit: str
    harness_commit: str
    runtime_id: str
    example: bool

    @property
    def campaign(self) -> Path:
        """Return where the campaign's file is."""
        return self.folder / "campaign.json"

    @property
    def settings(self) -> Path:
        """Return where the settings are."""
        return self.folder / "settings.toml"


def harness_files() -> HarnessFiles:
    """Return a harness that has one of everything but a bundle."""
    return {
        "harness.toml": plain(MANIFEST),
        "instructions/general.md": plain(INSTRUCTIONS),
        "skills/small-steps/SKILL.md": plain(SKILL),
        "tools/count-lines/tool.json": plain(TOOL),
        "tools/count-lines/bin/count.py": HarnessFile(data=PROGRAM.encode(), kind=FileKind.EXECUTABLE),
    }


def project_files() -> HarnessFiles:
    """Return a project in which the harness's tool fails."""
    return {"README.md": plain("# A menu\n"), "menu.txt": HarnessFile(data=LATIN)}


def operator_files(folder: Path, agent: str, *, example: bool) -> HarnessFiles:
    """Return what only the operator has: the probes, each in a folder of its own, and the settings."""
    usual = "What the harness could always do."
    reproduced = "Whether the harness shows the flaw: it cannot read a file that is not UTF-8."
    return {
        "probes/regression/probe.py": plain(PROBE.format(purpose=usual, file="plain.txt", lines=5)),
        "probes/regression/plain.txt": plain("one\ntwo\nthree\nfour\nfive\n"),
        "probes/reproducer/probe.py": plain(PROBE.format(purpose=reproduced, file="latin.txt", lines=4)),
        "probes/reproducer/latin.txt": HarnessFile(data=LATIN + b"Eau\n"),
        "probes/acceptance/probe.py": plain(ACCEPTED if example else UNWRITTEN),
        "settings.toml": plain(SETTINGS.format(agent=agent, key=key_of(folder, agent))),
    }


def key_of(folder: Path, agent: str) -> Path:
    """Return where the settings look for the key of an agent's provider."""
    return folder / f"{agent}.key"


def plain(text: str) -> HarnessFile:
    """Return a plain file."""
    return HarnessFile(data=text.encode())


def campaign_of(starter: Starter) -> JsonObject:
    """Return the campaign: one task, limits that a first try needs, and the driver's object."""
    count = "Count the lines of menu.txt with the tool count_lines, and write the number alone into lines.txt."
    own = "Say here what is to be done, and in probes/acceptance how one sees that it is."
    task: JsonObject = {"id": "first", "prompt": count if starter.example else own}
    return {
        "tasks": [task],
        "harness": {"commit": starter.harness_commit, "runtimeId": starter.runtime_id},
        "ledgerPath": str(starter.folder / "run.jsonl"),
        "maxTasks": 1,
        "maxTaskAttempts": 2,
        "maxRepairs": 1,
        "maxRepairAttempts": 2,
        "maxRuntimeMs": 3_600_000,
        "maxSpendUsd": 5,
        "driver": driver_of(starter),
    }


def driver_of(starter: Starter) -> JsonObject:
    """Return what the campaign says to the bundled driver."""
    folder = starter.folder
    return {
        "project": str(starter.project),
        "projectCommit": starter.project_commit,
        "harnessRepository": str(folder / "harness"),
        "scratch": str(folder / "scratch"),
        "taskAgent": starter.agent,
        "repairAgent": starter.agent,
        "acceptance": {"first": [probe(folder / "probes" / "acceptance")]},
        "regression": [probe(folder / "probes" / "regression")],
        "reproducers": [
            {
                "kind": "tool_error",
                "subject": "count_lines",
                "probe": probe(folder / "probes" / "reproducer"),
            }
        ],
        "reproducerRuns": 2,
        "protected": ["tests/**"],
        "regressionsMax": 1,
        "withoutWalls": False,
    }


def probe(files: Path) -> JsonObject:
    """Return a probe of the campaign."""
    return {"command": [PYTHON, "probe.py"], "files": str(files), "timeoutSeconds": 60}
