"""The session runner and the claude adapter with the real CLI, against a scripted model on loopback."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGKILL
from typing import Any
from uuid import uuid4

import anyio
import psutil
import pytest
from recording_mcp import recording_mcp

from workloop.domain.session import (
    Denied,
    SessionClass,
    SessionEvent,
    SessionReport,
    Started,
    ToolCall,
    ToolResult,
)
from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness, ClaudeHome
from workloop.runner.harness.port import LaunchRequest, McpEndpoint
from workloop.runner.process import StopLadder
from workloop.runner.session import SessionLimits, StopRequest, run_session
from workloop.testing.clocks import FakeClock
from workloop.testing.model.moves import (
    BAD_KEY,
    NO_CREDIT,
    NO_MODEL,
    OVERLOADED,
    Call,
    Fail,
    Hang,
    Say,
    usage_limit,
)
from workloop.testing.model_server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real_agent]
LIMITS = SessionLimits(ladder=StopLadder(interrupt_seconds=10, terminate_seconds=5), look_seconds=0.3)
BOUND_SECONDS = 90
SLEEP = "python3 -c 'import time; time.sleep(271)'"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Setup:
    """A home that sessions share, a work dir, and what the last session said."""

    folder: Path
    binary: Path
    limits: SessionLimits = LIMITS
    variables: dict[str, str] = field(default_factory=dict)
    extra_args: tuple[str, ...] = ()
    events: list[SessionEvent] = field(default_factory=list)
    stop: StopRequest = field(default_factory=StopRequest)
    ids: tuple[str, str] = field(default_factory=lambda: (str(uuid4()), str(uuid4())))

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
            "session_id": self.ids[number],
            "environment": environment,
            "model": "claude-sonnet-4-5",
        }

        async def sink(event: SessionEvent) -> None:
            self.events.append(event)

        with anyio.fail_after(BOUND_SECONDS):
            return await run_session(
                self.harness(),
                LaunchRequest(**(given | fields)),
                limits=self.limits,
                clock=FakeClock(),
                sink=sink,
                stop=self.stop,
            )

    def harness(self) -> ClaudeHarness:
        return ClaudeHarness(
            ClaudeConfig(
                binary=str(self.binary),
                home=ClaudeHome.OWN,
                home_dir=self.folder / "home",
                extra_args=self.extra_args,
                environment=self.variables,
            )
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
        home = str(self.folder / "home")
        return [process for process in psutil.process_iter() if environment_of(process).get("HOME") == home]

    def kill_main(self) -> None:
        """Kill the program itself, as a crash or the kernel would."""
        main = [process for process in self.processes() if process.exe() == str(self.binary.resolve())]
        assert main
        for process in main:
            process.kill()


def environment_of(process: psutil.Process) -> Mapping[str, str]:
    """Return a process's variables; one that is gone or dead has none."""
    try:
        return process.environ() if process.status() != psutil.STATUS_ZOMBIE else {}
    except psutil.Error:
        return {}


@pytest.fixture
def setup(tmp_path: Path, claude_binary: Path) -> Iterator[Setup]:
    """Return a set-up; no process of its sessions may live when the test is over."""
    made = Setup(tmp_path, claude_binary)
    yield made
    left = made.processes()
    for process in left:
        process.kill()
    assert not left


async def test_real_session_writes_and_is_clean(setup: Setup) -> None:
    write = Call("Write", {"file_path": str(setup.folder / "work" / "a.txt"), "content": "hi"})
    with ModelServer([write, Say("all done")]) as model:
        report = await setup.run(model)
    assert (report.session_class, report.final_text, report.exit_code) == (SessionClass.CLEAN, "all done", 0)
    assert (setup.folder / "work" / "a.txt").read_text() == "hi"
    assert (report.tokens.input, report.tokens.output, report.tokens.cache_read) == (800, 120, 1600)
    assert report.cost_micros
    assert report.unrecognised == 0
    assert report.resume_id == setup.ids[0]


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
    with ModelServer([Call("Bash", {"command": f"touch {up}; {SLEEP}"}), Say("slept")]) as model:
        report = await setup.run_until(up, lambda: setup.stop.request("enough"), model)
    assert (report.session_class, report.death_proven) == (SessionClass.STOPPED, True)
    assert report.resume_id == setup.ids[0]
    assert not setup.processes()


async def test_real_session_killed_in_mid_tool_is_resumed(setup: Setup) -> None:
    up = setup.folder / "up"
    with ModelServer([Call("Bash", {"command": f"touch {up}; {SLEEP}"}), Say("slept")]) as model:
        killed = await setup.run_until(up, setup.kill_main, model)
    assert (killed.session_class, killed.signal, killed.death_proven) == (SessionClass.CRASHED, SIGKILL, True)
    assert killed.survivors_killed
    assert not setup.processes()
    with ModelServer([Say("never"), Say("went on")]) as model:
        resumed = await setup.run(model, 1, resume_id=killed.resume_id)
    assert (resumed.session_class, resumed.final_text) == (SessionClass.CLEAN, "went on")


@pytest.mark.parametrize(
    ("fail", "session_class"),
    [
        (OVERLOADED, SessionClass.TRANSIENT),
        (BAD_KEY, SessionClass.AUTH),
        (NO_CREDIT, SessionClass.BILLING),
        (NO_MODEL, SessionClass.MODEL_MISSING),
    ],
)
async def test_real_failure_gets_its_class(setup: Setup, fail: Fail, session_class: SessionClass) -> None:
    setup.variables = {"CLAUDE_CODE_MAX_RETRIES": "1"}
    with ModelServer([fail]) as model:
        report = await setup.run(model)
    assert (report.session_class, report.final_text, report.death_proven) == (session_class, "", True), report


async def test_real_session_ends_at_its_turn_limit(setup: Setup) -> None:
    with ModelServer([Call("Bash", {"command": "true"}), Call("Bash", {"command": "true"}), Say("no")]) as model:
        report = await setup.run(model, turns_max=1)
    assert (report.session_class, report.final_text) == (SessionClass.TURN_CAP, "")


async def test_real_session_whose_model_hangs_is_ended_by_the_watch(setup: Setup) -> None:
    setup.limits = replace(LIMITS, quiet_seconds=10.0, ladder=StopLadder(interrupt_seconds=3, terminate_seconds=3))
    with ModelServer([Call("Bash", {"command": "true"}), Hang()]) as model:
        report = await setup.run(model)
    assert (report.session_class, report.death_proven) == (SessionClass.HUNG, True)
    assert [event.name for event in setup.events if isinstance(event, ToolResult)] == ["Bash"]
    assert report.resume_id == setup.ids[0]


async def test_real_session_whose_mcp_call_is_denied_is_denied_and_the_server_hears_nothing(setup: Setup) -> None:
    setup.extra_args = ("--settings", json.dumps({"permissions": {"ask": ["mcp__workloop__work_loop"]}}))
    with (
        recording_mcp("the-token") as server,
        ModelServer([Call(("workloop", "work_loop"), {"action": "show"}), Say("All done, really.")]) as model,
    ):
        endpoint = McpEndpoint(url_mcp=server.url, url_api=server.url, token="the-token")
        report = await setup.run(model, endpoint=endpoint)
    assert server.calls == []
    assert [event.name for event in setup.events if isinstance(event, Denied)] == ["mcp__workloop__work_loop"]
    assert report.session_class is SessionClass.DENIED


async def test_real_session_s_own_claims_can_be_observed_through_the_operator_s_server(setup: Setup) -> None:
    own = setup.folder / "mcp.json"
    script = [Call(("backlog", "work_loop"), {"action": "claim"}), Say("claimed")]
    with recording_mcp("mine", answer='{"item": {"key": "a"}}') as server, ModelServer(script) as model:
        entry = {"type": "http", "url": server.url, "headers": {"Authorization": "Bearer mine"}}
        own.write_text(json.dumps({"mcpServers": {"backlog": entry}}))
        report = await setup.run(model, mcp_config=own)
    assert report.session_class is SessionClass.CLEAN
    [call] = [event for event in setup.events if isinstance(event, ToolCall)]
    [result] = [event for event in setup.events if isinstance(event, ToolResult)]
    assert (call.name, call.arguments) == ("mcp__backlog__work_loop", '{"action":"claim"}')
    assert "item" in result.answer
    [start] = [event for event in setup.events if isinstance(event, Started)]
    assert start.version in setup.harness().tested_versions
