"""What the lanes' tests share: a lane whose tabs are files in a folder, and a preview that serves its checkout."""

import json
import shutil
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loop_bench import Facts, LoopBench, LoopProcess, call

CLOSER = """
import json, os, pathlib
paper = json.load(open(os.environ["WORKLOOP_LANE_FILE"]))
with open({log!r}, "a") as log:
    log.write(json.dumps(paper) + "\\n")
for name in paper["resources"]:
    (pathlib.Path({tabs!r}) / name).unlink()
"""
FETCH = "import os, urllib.request as r; print(r.urlopen(os.environ['PREVIEW']).read().decode(), end='')"
LANE = """
[lane.desk]
{commands}
environment = {{ PREVIEW = "http://127.0.0.1:${{WORKLOOP_PORT_PREVIEW}}/thing.txt", TABS = "{tabs}" }}
health_seconds = 20.0
writable = ["{tabs}", "{marks}"]
{more}
[lane.desk.ports]
preview = {port}
"""


@dataclass
class Desk:
    """A bench whose campaign has one lane; every command can be replaced before it is opened."""

    folder: Path
    commands: dict[str, list[str]] = field(default_factory=dict)
    more: str = ""
    loop: str = ""
    sandbox: str = 'kind = "none"'
    port: int = field(default_factory=lambda: free_port())
    lanes: str = '["desk"]'

    def open(self) -> LoopBench:
        """Make the lane's parts and the bench."""
        self.tabs.mkdir()
        closer = self.folder / "closer.py"
        closer.write_text(CLOSER.format(log=str(self.log), tabs=str(self.tabs)))
        served = ["-m", "http.server", "--bind", "127.0.0.1", "${WORKLOOP_PORT_PREVIEW}"]
        usual = {
            "list": ["ls", str(self.tabs)],
            "clean": [sys.executable, str(closer)],
            "start": [sys.executable, *served],
            "health": [sys.executable, "-c", FETCH],
        }
        chosen = {name: argv for name, argv in {**usual, **self.commands}.items() if argv}
        told = "\n".join(f"{name} = {json.dumps(argv)}" for name, argv in chosen.items())
        text = LANE.format(commands=told, tabs=self.tabs, marks=self.folder / "marks", more=self.more, port=self.port)
        campaign = f"lanes = {self.lanes}"
        made = LoopBench(self.folder, harnesses=text, campaign=campaign, loop=self.loop, sandbox=self.sandbox)
        return made.open()

    @property
    def tabs(self) -> Path:
        """Return the folder whose files are the lane's tabs."""
        return self.folder / "tabs"

    @property
    def log(self) -> Path:
        """Return where the clean command writes down what it was asked to close."""
        return self.folder / "closed.jsonl"

    def put(self, *names: str) -> None:
        """Open tabs that belong to somebody else."""
        for name in names:
            (self.tabs / name).touch()

    def there(self) -> list[str]:
        """Return the tabs that are open now."""
        return sorted(path.name for path in self.tabs.iterdir())

    def closed(self) -> list[list[str]]:
        """Return what each run of the clean command was asked to close."""
        if not self.log.exists():
            return []
        return [json.loads(line)["resources"] for line in self.log.read_text().splitlines()]

    def forget(self) -> None:
        """Close everything by hand."""
        shutil.rmtree(self.tabs)
        self.tabs.mkdir()


def free_port() -> int:
    """Return a port of this machine that nobody has now: benches of other processes keep books of their own."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


def opens(*names: str) -> tuple[Facts, ...]:
    """Return the steps by which a session opens tabs and records them."""
    return tuple({"run": f'touch "$TABS/{name}"', "expect": 0} for name in names) + records(*names)


def records(*names: str) -> tuple[Facts, ...]:
    """Return the step by which a session records tabs."""
    return (call("lane_record", resources=list(names)),)


def only_these(*names: str) -> Facts:
    """Return the step that insists on which tabs are open."""
    listed = "\\n".join(sorted(names))
    return {"run": f'test "$(ls "$TABS")" = "$(printf "{listed}")"', "expect": 0}


def lane_of(bench: LoopBench) -> Facts:
    """Return how the lane stands in the store."""
    return next(row for row in bench.client.call("status", {})["lanes"] if row["lane"] == "desk")


def said(loop: LoopProcess, **facts: Any) -> list[Facts]:
    """Return what a loop told of its lane."""
    return [told for told in loop.named("lane") if facts.items() <= told.items()]
