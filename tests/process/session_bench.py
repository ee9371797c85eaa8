"""What the session tests share: a harness over a Python one-liner or a script, run with short bounds."""

import json
import os
import sys
import textwrap
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from workloop.domain.session import SessionEvent, SessionReport, kind_of
from workloop.runner.harness.command import CommandConfig, CommandHarness
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness
from workloop.runner.process import StopLadder
from workloop.runner.processtable import Identity, row_of
from workloop.runner.session import SessionLimits, StopRequest, run_session
from workloop.testing.clocks import FakeClock

BOUND_SECONDS = 120
QUICK_LADDER = StopLadder(interrupt_seconds=0.5, terminate_seconds=0.5, kill_seconds=10)
PATIENT = SessionLimits(ladder=QUICK_LADDER, finish_grace_seconds=0.3, look_seconds=0.1)


@dataclass
class Bench:
    """One folder with a work dir and a private session dir, and what the session said."""

    folder: Path
    events: list[SessionEvent] = field(default_factory=list)
    stop: StopRequest = field(default_factory=StopRequest)
    session_id: str = field(default_factory=lambda: str(uuid.uuid4()))  # tests at the same time share no marker

    def __post_init__(self) -> None:
        for path in (self.cwd, self.session_dir):
            path.mkdir(mode=0o700)

    @property
    def cwd(self) -> Path:
        return self.folder / "work"

    @property
    def session_dir(self) -> Path:
        return self.folder / "session"

    def request(self, **fields: Any) -> LaunchRequest:
        given: dict[str, Any] = {
            "prompt": "do it",
            "cwd": self.cwd,
            "session_dir": self.session_dir,
            "session_id": self.session_id,
            "environment": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder)},
        }
        return LaunchRequest(**(given | fields))

    def python(self, program: str) -> CommandHarness:
        return CommandHarness(CommandConfig(argv=(sys.executable, "-I", "-S", "-c", textwrap.dedent(program))))

    def script(self, *steps: dict[str, Any], rules: list[dict[str, Any]] | None = None) -> ScriptedHarness:
        path = self.folder / "script.json"
        path.write_text(json.dumps(rules or [{"match": {}, "do": list(steps)}]))
        return ScriptedHarness(ScriptedConfig(script=path))

    async def run(self, harness: Harness, limits: SessionLimits = PATIENT, **fields: Any) -> SessionReport:
        async def sink(event: SessionEvent) -> None:
            self.events.append(event)

        with anyio.fail_after(BOUND_SECONDS):
            return await run_session(
                harness, self.request(**fields), limits=limits, clock=FakeClock(), sink=sink, stop=self.stop
            )

    def kinds(self) -> list[str]:
        return [kind_of(event) for event in self.events]


def identity(pid: int) -> Identity | None:
    row = row_of(pid)
    return None if row is None or row.zombie else row.identity


async def wait_for(path: Path) -> None:
    with anyio.fail_after(BOUND_SECONDS):
        while not path.exists():
            await anyio.sleep(0.01)
