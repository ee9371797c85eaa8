"""The agent CLIs that only npm has: where they are installed, and how each is pointed at a scripted model."""

import json
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import anyio
import psutil

from workloop.domain.session import SessionEvent, SessionReport
from workloop.runner.family import MARKER
from workloop.runner.harness.copilot.launch import CopilotConfig, CopilotHarness
from workloop.runner.harness.opencode.launch import OpencodeConfig, OpencodeHarness
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.harness.qwen.launch import QwenConfig, QwenHarness
from workloop.runner.process import StopLadder
from workloop.runner.session import SessionLimits, StopRequest, run_session
from workloop.testing.clocks import FakeClock

CHECKOUT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("WORKLOOP_NPM_AGENTS", CHECKOUT / ".npm-agents")) / "node_modules"
ARCHITECTURE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
BOUND_SECONDS = 330
PROMPT = '- do "it" 007  1.50 --now\n\nkey: `a b`'
LADDER = StopLadder(interrupt_seconds=10, terminate_seconds=5)

Options = Mapping[str, Any]


class Model(Protocol):
    """A scripted model that listens somewhere."""

    @property
    def url(self) -> str:
        """Return where."""
        ...


@dataclass(frozen=True, kw_only=True)
class Agent:
    """One CLI: its program, its adapter, how it is told of a provider, and how long it may keep silent at its start.

    denying holds the options by which the operator forbids our tool.
    """

    kind: str
    program: str
    harness: Callable[[str, Path, Options], Harness]
    provider: Callable[[Path, str], dict[str, str]]
    denying: Options
    quiet_seconds: float

    @property
    def binary(self) -> Path:
        """Return where its program is, if it is installed."""
        return FOLDER / self.program.format(arch=ARCHITECTURE)


def opencode_provider(home: Path, url: str) -> dict[str, str]:
    """Write the provider into the home's configuration."""
    model = {"name": "Scripted", "limit": {"context": 128_000, "output": 8_000}, "cost": {"input": 1, "output": 2}}
    options = {"baseURL": f"{url}/v1", "apiKey": "dummy-key-for-tests"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "S", "options": options, "models": {"scripted": model}}
    names = {"model": "s/scripted", "small_model": "s/scripted", "enabled_providers": ["s"]}
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "opencode.json").write_text(json.dumps({**names, "provider": {"s": provider}}))
    return {}


def copilot_provider(home: Path, url: str) -> dict[str, str]:
    """Return the variables of a provider of one's own."""
    del home
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_MODEL": "scripted",
        "COPILOT_PROVIDER_API_KEY": "dummy-key-for-tests",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
    }


def qwen_provider(home: Path, url: str) -> dict[str, str]:
    """Return the variables of a provider of OpenAI's kind."""
    del home
    return {"OPENAI_API_KEY": "dummy-key-for-tests", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"}


AGENTS = {
    agent.kind: agent
    for agent in (
        Agent(
            kind="opencode",
            program="opencode-linux-{arch}/bin/opencode",
            harness=lambda binary, home, more: OpencodeHarness(OpencodeConfig(binary=binary, home_dir=home, **more)),
            provider=opencode_provider,
            denying={"permissions": {"workloop_*": "ask"}},
            quiet_seconds=75,
        ),
        Agent(
            kind="copilot",
            program="@github/copilot-linux-{arch}/copilot",
            harness=lambda binary, home, more: CopilotHarness(CopilotConfig(binary=binary, home_dir=home, **more)),
            provider=copilot_provider,
            denying={"denied_tools": ("workloop",)},
            quiet_seconds=25,
        ),
        Agent(
            kind="qwen",
            program=".bin/qwen",
            harness=lambda binary, home, more: QwenHarness(
                QwenConfig(binary=binary, home_dir=home, auth_type="openai", retries=1, **more)
            ),
            provider=qwen_provider,
            denying={"environment": {}},
            quiet_seconds=45,
        ),
    )
}


@dataclass
class Bench:
    """A home that sessions of one CLI share, a work dir, and what the last session said."""

    agent: Agent
    folder: Path
    events: list[SessionEvent] = field(default_factory=list[SessionEvent])
    stop: StopRequest = field(default_factory=StopRequest)
    options: Options = field(default_factory=dict[str, Any])
    quiet_seconds: float = 300.0
    ids: tuple[str, str] = field(default_factory=lambda: (str(uuid4()), str(uuid4())))

    @property
    def work(self) -> Path:
        """Return the work dir."""
        return self.folder / "work"

    async def run(self, model: Model, number: int = 0, **fields: Any) -> SessionReport:
        """Run one session to its end."""
        for name in ("work", "home", f"session-{number}"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        home = self.folder / "home"
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **self.agent.provider(home, model.url)}
        given: dict[str, Any] = {
            "prompt": PROMPT,
            "cwd": self.work,
            "session_dir": self.folder / f"session-{number}",
            "session_id": self.ids[number],
            "environment": environment,
        }

        async def sink(event: SessionEvent) -> None:
            self.events.append(event)

        with anyio.fail_after(BOUND_SECONDS):
            return await run_session(
                self.agent.harness(str(self.agent.binary), home, self.options),
                LaunchRequest(**(given | fields)),
                limits=SessionLimits(ladder=LADDER, look_seconds=0.3, quiet_seconds=self.quiet_seconds),
                clock=FakeClock(),
                sink=sink,
                stop=self.stop,
            )

    def left_behind(self) -> list[psutil.Process]:
        """Return every process that still belongs to a session of this bench."""
        return [process for process in psutil.process_iter() if session_of(process) in self.ids]

    def main_process(self) -> psutil.Process:
        """Return the CLI itself, which is a child of this process."""
        (main,) = [child for child in psutil.Process().children() if session_of(child) in self.ids]
        return main


def session_of(process: psutil.Process) -> str:
    """Return the session that a process was started for."""
    try:
        return process.environ().get(MARKER, "")
    except psutil.Error:
        return ""
