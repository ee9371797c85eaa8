"""Sessions of the real Codex that share a home and a work dir, and the processes that they leave, if any."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import psutil
from real_codex import CODEX_MODEL, Codex

from workloop.domain.session import SessionEvent, SessionReport
from workloop.runner.harness.codex.launch import CodexHarness
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.process import StopLadder
from workloop.runner.session import SessionLimits, StopRequest, run_session
from workloop.testing.clocks import FakeClock
from workloop.testing.model_server import ModelServer

LIMITS = SessionLimits(ladder=StopLadder(interrupt_seconds=5, terminate_seconds=5), look_seconds=0.2)
BOUND_SECONDS = 60


@dataclass
class Setup:
    """A home that sessions share, a work dir, and what the last session said."""

    folder: Path
    codex: Codex
    limits: SessionLimits = LIMITS
    events: list[SessionEvent] = field(default_factory=list)
    stop: StopRequest = field(default_factory=StopRequest)
    sessions: int = 0

    @property
    def work(self) -> Path:
        return self.folder / "work"

    async def run(self, model: ModelServer, **fields: Any) -> SessionReport:
        self.sessions += 1
        self.events.clear()
        session_dir = self.folder / f"session-{self.sessions}"
        session_dir.mkdir(mode=0o700)
        self.work.mkdir(exist_ok=True)
        given: dict[str, Any] = {
            "prompt": "- do it",
            "cwd": self.work,
            "session_dir": session_dir,
            "session_id": str(uuid4()),
            "environment": self.codex.environment(),
            "model": CODEX_MODEL,
        }

        async def sink(event: SessionEvent) -> None:
            self.events.append(event)

        with anyio.fail_after(BOUND_SECONDS):
            return await run_session(
                CodexHarness(self.codex.config(model.url)),
                LaunchRequest(**(given | fields)),
                limits=self.limits,
                clock=FakeClock(),
                sink=sink,
                stop=self.stop,
            )

    async def run_until(self, there: Path, then: Callable[[], None], model: ModelServer) -> SessionReport:
        """Run a session, and do something to it once a file is there."""
        reports: list[SessionReport] = []

        async def act() -> None:
            with anyio.fail_after(BOUND_SECONDS):
                while not there.exists():
                    await anyio.sleep(0.05)
            then()

        async with anyio.create_task_group() as group:
            group.start_soon(act)
            reports.append(await self.run(model))
        return reports[0]

    def processes(self) -> list[psutil.Process]:
        """Return every living process that carries this test's home, whoever its parent is."""
        return [
            process for process in psutil.process_iter() if self.home in environment_of(process).get("CODEX_HOME", "")
        ]

    @property
    def home(self) -> str:
        return str(self.codex.home)


def environment_of(process: psutil.Process) -> Mapping[str, str]:
    """Return a process's variables; one that is gone or dead has none."""
    try:
        return process.environ() if process.status() != psutil.STATUS_ZOMBIE else {}
    except psutil.Error:
        return {}
