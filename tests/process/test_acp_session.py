"""Sessions with a real agent of the Agent Client Protocol: a child on the protocol package's own agent side."""

import json
import signal
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from session_bench import PATIENT, Bench, identity, wait_for

from surface_bench import Project, open_project, serving
from workloop.domain.grants import Actor, Grant
from workloop.domain.session import (
    Denied,
    SessionClass,
    SessionReport,
    Started,
    Text,
    ToolCall,
    ToolKind,
    ToolResult,
    ToolResultClass,
)
from workloop.runner.harness.acp.launch import AcpConfig, AcpHarness
from workloop.runner.harness.port import McpEndpoint
from workloop.runner.session import SessionLimits

pytestmark = pytest.mark.anyio
AGENT = str(Path(__file__).with_name("acp_agent.py"))
LIMITS = replace(PATIENT, quiet_seconds=30.0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "bench"
    folder.mkdir()
    return Bench(folder)


@pytest.fixture
def project(tmp_path: Path) -> Generator[Project]:
    with open_project(tmp_path / "project") as made:
        made.act("add_items", {"items": [{"key": "greet", "title": "Greet", "verification": "none"}]})
        yield made


async def run(bench: Bench, script: dict[str, Any], *, limits: SessionLimits = LIMITS, **fields: Any) -> SessionReport:
    """Run one session of the agent with a script."""
    path = bench.folder / "script.json"
    path.write_text(json.dumps(script))
    harness = AcpHarness(AcpConfig(command=(sys.executable, AGENT), extra_args=(str(path),)))
    return await bench.run(harness, limits, **fields)


async def test_agent_is_given_its_brief_and_no_file_of_ours_and_ends_clean(bench: Bench) -> None:
    (bench.folder / "secret").write_text("secret")
    secret = str(bench.folder / "secret")
    script = {"steps": [{"say": "Part "}, {"say": "one: "}, {"read": secret}, {"write": "a.txt"}, {"say": "All done."}]}
    report = await run(bench, script)
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "All done."), report
    assert (bench.cwd / "prompt.txt").read_text() == "do it"
    assert (bench.cwd / "a.txt").read_text() == "written\n"
    assert [event.text for event in bench.events if isinstance(event, Text)] == [
        "Part one: refused with -32601",
        "All done.",
    ]
    [start] = [event for event in bench.events if isinstance(event, Started)]
    assert (start.version, start.resume_id) == ("scripted-acp 1.2.3", "agent-session-1")
    assert (report.tokens.input, report.tokens.output, report.tokens.cache_read) == (20, 10, 20)
    assert (report.survivors_killed, report.death_proven, report.unrecognised) == (0, True, 0)


@pytest.mark.parametrize("http", [True, False])
async def test_agent_reaches_the_loop_s_endpoint_in_the_way_it_can(bench: Bench, project: Project, http: bool) -> None:
    claimed = project.act("claim", {"holder": "one"})
    script = {"http": http, "steps": [{"call": {"action": "show"}}, {"say": "Seen."}]}
    with serving(project.queue) as (_, endpoint):
        admitted = endpoint.admit(Actor(principal="session:1", grant=Grant.SESSION, token=claimed["token"]))
        given = McpEndpoint(url_mcp=admitted.url_mcp, url_api=admitted.url_api, token=admitted.token)
        report = await run(bench, script, endpoint=given)
    assert report.session_class is SessionClass.CLEAN, report
    [call] = [event for event in bench.events if isinstance(event, ToolCall)]
    [result] = [event for event in bench.events if isinstance(event, ToolResult)]
    assert (call.name, call.kind, call.arguments) == ("mcp__workloop__work_loop", ToolKind.MCP, '{"action":"show"}')
    assert json.loads(result.answer)["key"] == "greet", result.answer


async def test_reader_is_refused_a_write_and_the_agent_is_told(bench: Bench) -> None:
    report = await run(bench, {"steps": [{"write": "a.txt"}, {"say": "I could not."}]}, read_only=True)
    assert not (bench.cwd / "a.txt").exists()
    assert [event.name for event in bench.events if isinstance(event, Denied)] == ["write", "write"]
    [result] = [event for event in bench.events if isinstance(event, ToolResult)]
    assert result.result is ToolResultClass.REFUSED
    assert report.session_class is SessionClass.DENIED


async def test_agent_that_reports_a_limit_is_limited_with_its_reset(bench: Bench) -> None:
    error = {"code": 429, "message": "Rate limit exceeded.", "data": {"resets_at": 1_900_000_000}}
    report = await run(bench, {"steps": [{"say": "on it"}, {"fail": error}]})
    assert (report.session_class, report.reset_at) == (SessionClass.LIMITED, 1_900_000_000_000_000)
    assert report.resume_id == "agent-session-1"


async def test_session_is_gone_on_with_and_its_past_is_no_news(bench: Bench) -> None:
    report = await run(bench, {"steps": [{"say": "Going on."}]}, resume_id="agent-session-1")
    assert report.session_class is SessionClass.CLEAN
    assert [event.text for event in bench.events if isinstance(event, Text)] == ["Going on."]


async def test_agent_that_never_answers_is_hung(bench: Bench) -> None:
    report = await run(bench, {"deaf": True}, limits=replace(LIMITS, quiet_seconds=0.5))
    assert (report.session_class, report.death_proven) == (SessionClass.HUNG, True)


async def test_agent_that_is_killed_is_crashed(bench: Bench) -> None:
    report = await run(bench, {"steps": [{"say": "on it"}, {"die": int(signal.SIGKILL)}]})
    assert (report.session_class, report.signal) == (SessionClass.CRASHED, signal.SIGKILL)
    assert (report.final_text, report.resume_id) == ("", "agent-session-1")


async def test_agent_that_is_stopped_leaves_nothing_running_not_even_a_child_in_a_session_of_its_own(
    bench: Bench,
) -> None:
    path = bench.folder / "pid"
    async with anyio.create_task_group() as group:

        async def stop_when_up() -> None:
            await wait_for(path)
            bench.stop.request("enough")

        group.start_soon(stop_when_up)
        report = await run(bench, {"steps": [{"say": "on it"}, {"hold": str(path)}]})
        assert (report.session_class, report.resume_id) == (SessionClass.STOPPED, "agent-session-1")
        assert (report.survivors_killed, report.death_proven) == (1, True)
        assert identity(int(path.read_text())) is None


async def test_program_that_is_no_agent_is_dead(bench: Bench) -> None:
    harness = AcpHarness(AcpConfig(command=(sys.executable, "-c", "print('hello')")))
    report = await bench.run(harness, LIMITS)
    assert report.session_class is SessionClass.DEAD
    assert report.unrecognised == 1
