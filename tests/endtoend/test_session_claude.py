"""The session runner and the claude adapter with the real CLI, against a scripted model on loopback."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from recording_mcp import recording_mcp

from workloop.domain.session import SessionClass, SessionEvent, SessionReport
from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness, ClaudeHome
from workloop.runner.harness.port import LaunchRequest, McpEndpoint
from workloop.runner.process import StopLadder
from workloop.runner.session import SessionLimits, StopRequest, run_session
from workloop.testing.clocks import FakeClock
from workloop.testing.model.moves import Call, Say, usage_limit
from workloop.testing.model_server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real_agent]
LIMITS = SessionLimits(ladder=StopLadder(interrupt_seconds=10, terminate_seconds=5), look_seconds=0.3)
BOUND_SECONDS = 90
IDS = ("11111111-2222-4333-8444-555555555551", "11111111-2222-4333-8444-555555555552")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Setup:
    """A home that sessions share, a work dir, and what the last session said."""

    folder: Path
    binary: Path
    events: list[SessionEvent] = field(default_factory=list)
    stop: StopRequest = field(default_factory=StopRequest)

    async def run(self, model: ModelServer, number: int = 0, **fields: Any) -> SessionReport:
        for name in ("work", f"session-{number}"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": model.url,
            "CLAUDE_CODE_OAUTH_TOKEN": "dummy",
        }
        given: dict[str, Any] = {
            "prompt": "- do it",
            "cwd": self.folder / "work",
            "session_dir": self.folder / f"session-{number}",
            "session_id": IDS[number],
            "environment": environment,
            "model": "claude-sonnet-4-5",
        }
        config = ClaudeConfig(binary=str(self.binary), home=ClaudeHome.OWN, home_dir=self.folder / "home")

        async def sink(event: SessionEvent) -> None:
            self.events.append(event)

        with anyio.fail_after(BOUND_SECONDS):
            return await run_session(
                ClaudeHarness(config),
                LaunchRequest(**(given | fields)),
                limits=LIMITS,
                clock=FakeClock(),
                sink=sink,
                stop=self.stop,
            )


@pytest.fixture
def setup(tmp_path: Path, claude_binary: Path) -> Setup:
    return Setup(tmp_path, claude_binary)


async def test_real_session_writes_and_is_clean(setup: Setup) -> None:
    write = Call("Write", {"file_path": str(setup.folder / "work" / "a.txt"), "content": "hi"})
    with ModelServer([write, Say("all done")]) as model:
        report = await setup.run(model)
    assert (report.session_class, report.final_text, report.exit_code) == (SessionClass.CLEAN, "all done", 0)
    assert (setup.folder / "work" / "a.txt").read_text() == "hi"
    assert (report.tokens.input, report.tokens.output, report.tokens.cache_read) == (800, 120, 1600)
    assert report.cost_micros
    assert report.unrecognised == 0
    assert report.resume_id == IDS[0]


async def test_real_session_reaches_the_loop_over_mcp(setup: Setup) -> None:
    with (
        recording_mcp("the-token") as server,
        ModelServer([Call(("workloop", "work_loop"), {"action": "show"}), Say("seen")]) as model,
    ):
        endpoint = McpEndpoint(url_mcp=server.url, url_api=server.url, token="the-token")
        report = await setup.run(model, endpoint=endpoint)
    assert report.session_class is SessionClass.CLEAN
    assert server.calls == [{"action": "show"}]


async def test_real_session_without_its_loop_is_stopped_at_once(setup: Setup) -> None:
    with ModelServer([Say("never mind")]) as model:
        endpoint = McpEndpoint(url_mcp="http://127.0.0.1:9/mcp", url_api="http://127.0.0.1:9", token="x")
        report = await setup.run(model, endpoint=endpoint)
    assert report.session_class is SessionClass.CONFIG


async def test_real_limit_is_read_and_the_session_can_be_resumed(setup: Setup) -> None:
    with ModelServer([Call("Bash", {"command": "echo one"}), usage_limit(resets_at=1_900_000_000)]) as model:
        limited = await setup.run(model)
    assert (limited.session_class, limited.reset_at) == (SessionClass.LIMITED, 1_900_000_000_000_000)
    with ModelServer([Say("never"), Say("back again")]) as model:
        resumed = await setup.run(model, 1, resume_id=limited.resume_id)
    assert resumed.session_class is SessionClass.CLEAN
    assert resumed.resume_id == limited.resume_id
    assert resumed.tokens.input == 400


async def test_real_verifier_cannot_write(setup: Setup) -> None:
    write = Call("Write", {"file_path": str(setup.folder / "work" / "a.txt"), "content": "hi"})
    with ModelServer([write, Say("tried")]) as model:
        await setup.run(model, read_only=True)
    assert not (setup.folder / "work" / "a.txt").exists()


async def test_real_session_that_is_stopped_leaves_no_tool_running(setup: Setup) -> None:
    up = setup.folder / "up"
    command = f"touch {up}; python3 -c 'import time; time.sleep(271)'"
    with ModelServer([Call("Bash", {"command": command}), Say("slept")]) as model:
        async with anyio.create_task_group() as group:

            async def stop_when_up() -> None:
                with anyio.fail_after(BOUND_SECONDS):
                    while not up.exists():
                        await anyio.sleep(0.05)
                setup.stop.request("enough")

            group.start_soon(stop_when_up)
            report = await setup.run(model)
            assert (report.session_class, report.death_proven) == (SessionClass.STOPPED, True)
            assert report.resume_id == IDS[0]
