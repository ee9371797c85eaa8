"""A harness with one bundle whose server is a given program, committed, and its servers asked behind real walls."""

import hashlib
import io
import json
import os
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.repair.bundled.announcing import require_servers, with_servers
from workloop.repair.bundled.files import files_of_commit
from workloop.repair.bundled.listening import ServerLimits
from workloop.repair.bundled.manifest import HarnessSpec, read_harness
from workloop.repair.port import Verdict
from workloop.repair.verification.ground import Bounds, Ground
from workloop.runner.repository import open_repository
from workloop.runner.sandbox.enclosure import Enclosure, Network, find_enclosure
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

TALK = """import json, os, subprocess, sys, time
def say(values):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **values}) + "\\n")
    sys.stdout.flush()
def asked():
    return json.loads(sys.stdin.readline())
def begin():
    say({"id": asked()["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}})
    assert asked()["method"] == "notifications/initialized"
def announce(*names, **more):
    request = asked()
    assert request["method"] == "tools/list"
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    say({"id": request["id"], "result": {"tools": tools, **more}})
"""
ECHO = {
    "name": "echo_it",
    "description": "Say it again.",
    "entry": "run",
    "timeout_seconds": 5,
    "parameters": {"type": "object", "additionalProperties": False, "properties": {}},
}
READY = "open('ready', 'w').close()\n"
WAIT_SECONDS = 60.0
SIGHTINGS = 8  # the time is asked for up to three times before the server is listened to again


def milliseconds() -> int:
    """Return the real monotonic time."""
    return time.monotonic_ns() // 1_000_000


def bundle(program: str, tools: tuple[str, ...]) -> bytes:
    """Return a zip whose server is the program and which declares the tools."""
    manifest = {
        "manifest_version": "0.3",
        "name": "notes",
        "version": "1.0.0",
        "description": "Keeps notes.",
        "author": {"name": "A. Writer"},
        "server": {
            "type": "python",
            "entry_point": "main.py",
            "mcp_config": {"command": "python3", "args": ["${__dirname}/main.py"], "env": {"NOTES": "7"}},
        },
        "tools": [{"name": tool} for tool in tools],
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("main.py", program)
    return out.getvalue()


class ReadyClock:
    """Real time until a server has left `ready` in its scratch folder and was listened to since; then time is up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sightings = 0

    def __call__(self) -> int:
        """Return the time in milliseconds."""
        self.sightings += any(True for _ in self.folder.rglob("scratch-*/ready"))
        return milliseconds() + (round(WAIT_SECONDS * 1000) + 1 if self.sightings > SIGHTINGS else 0)


@dataclass(slots=True)
class ServerStage:
    """A folder with a harness, the operator's state beside it, and what the last question left as evidence."""

    folder: Path
    harness: ScratchRepository = field(init=False)
    limits: ServerLimits = field(default_factory=lambda: ServerLimits(seconds=WAIT_SECONDS))
    stop: threading.Event = field(default_factory=threading.Event)
    monotonic: Callable[[], int] = milliseconds
    path: str = field(default_factory=lambda: f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    readable: tuple[Path, ...] = ()
    count: int = 0

    def __post_init__(self) -> None:
        self.harness = scratch_repository(self.folder / "harness", {"harness.toml": "version = 1\n"})
        (self.folder / "state").mkdir()

    def commit(self, program: str, tools: tuple[str, ...] = ("note_add",), *, own_tool: bool = False) -> str:
        """Commit a harness whose bundle runs this program and declares these tools."""
        packed = bundle(program, tools)
        lines = ["version = 1"]
        if own_tool:
            lines.append('tools = ["t/echo"]')
            self.write("t/echo/tool.json", json.dumps(ECHO).encode())
            self.write("t/echo/run", b"#!/bin/sh\ncat\n").chmod(0o755)
        self.write("notes.mcpb", packed)
        lines += ["[[bundles]]", 'path = "notes.mcpb"', f'sha256 = "{hashlib.sha256(packed).hexdigest()}"', ""]
        self.write("harness.toml", "\n".join(lines).encode())
        return self.harness.commit({})

    def write(self, path: str, data: bytes) -> Path:
        """Write one file of the harness."""
        place = self.harness.path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        return place

    def ask(self, commit: str, enclosure: Enclosure | None = None, *, unwalled: bool = False) -> None:
        """Ask the servers of a commit for their tools."""
        ground = self.ground(enclosure, unwalled=unwalled)
        require_servers(ground, self.bounds(), self.spec(commit), commit, self.limits)

    def judged(self, verdict: Verdict) -> Verdict:
        """Hold a verdict to the servers of its commit."""
        return with_servers(verdict, self.ground(), self.bounds(), self.spec(verdict.commit), self.limits)

    def spec(self, commit: str) -> HarnessSpec:
        """Read the harness of a commit."""
        return read_harness(files_of_commit(self.harness.path, commit))

    def bounds(self) -> Bounds:
        """Return the bounds of a phase that begins now."""
        return Bounds(deadline_ms=self.monotonic() + 120_000, monotonic=self.monotonic, stop=self.stop)

    def ground(self, enclosure: Enclosure | None = None, *, unwalled: bool = False) -> Ground:
        """Return a new phase's ground."""
        self.count += 1
        self.evidence.mkdir(exist_ok=True)
        return Ground(
            repository=open_repository(self.harness.path, self.folder / "state", "main"),
            run=f"phase-{self.count}",
            now=Instant(1_000_000),
            evidence=self.evidence,
            enclosure=enclosure or find_enclosure("bwrap", Network.NONE),
            readable=tuple(dict.fromkeys((Path(sys.prefix), Path(sys.base_prefix), *self.readable))),
            environment={"PATH": self.path, "SOME_TOKEN": "secret"},
            unwalled=unwalled,
        )

    @property
    def evidence(self) -> Path:
        """Return the evidence folder of the last question."""
        return self.folder / f"evidence-{self.count}"

    def told(self) -> dict[str, list[str]]:
        """Return by server what the evidence says that it announced."""
        rows = json.loads((self.evidence / "servers.json").read_text("utf-8"))
        return {row["server"]: row["tools"] for row in rows}

    def left(self) -> list[str]:
        """Return what a question left in the state folder, but for locks and the folders that hold others."""
        return [str(path) for path in (self.folder / "state").rglob("*") if path.is_file() and path.suffix != ".lock"]
