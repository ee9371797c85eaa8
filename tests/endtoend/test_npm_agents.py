"""The session runner and the adapters of opencode, Copilot and Qwen Code with the real CLIs, on loopback alone."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from real_npm import AGENTS, BOUND_SECONDS, PROMPT, Bench
from recording_mcp import recording_mcp

from workloop.domain.session import (
    McpState,
    McpStatus,
    SessionClass,
    SessionReport,
    ToolCall,
    ToolResult,
    ToolResultClass,
)
from workloop.runner.harness.port import McpEndpoint
from workloop.testing.model.moves import BAD_KEY, OVERLOADED, PROMPT_TOO_LONG, Call, Hang, Say, usage_limit
from workloop.testing.model_server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real_npm, pytest.mark.timeout(900)]
QUEUE = ("workloop", "work_loop")
OWN_TOOL = "mcp__workloop__work_loop"
LOOK = Call("Bash", {"command": "echo one"})
RESETS_AT = 1_900_000_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=list(AGENTS))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """One CLI with a home of its own; whatever a test does, none of its processes may be left behind."""
    agent = AGENTS[request.param]
    if not agent.binary.exists():
        pytest.skip(f"{agent.kind} is not installed: `make npm-agents` brings it from npm")
    made = Bench(agent, tmp_path)
    yield made
    assert made.left_behind() == []


async def test_npm_agent_writes_calls_our_tool_and_is_clean(bench: Bench) -> None:
    write = Call("Write", {"file_path": str(bench.folder / "work" / "a.txt"), "content": "hi"})
    fails = Call("Bash", {"command": "echo out; exit 3"})
    script = [write, Call(QUEUE, {"action": "show"}), fails, Say("all done")]
    with recording_mcp("the-token", '{"item": 1}') as server, ModelServer(script) as model:
        endpoint = McpEndpoint(url_mcp=server.url, url_api=server.url, token="the-token")
        report = await bench.run(model, endpoint=endpoint)
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "all done")
    assert (bench.work / "a.txt").read_text() == "hi"
    assert (server.calls, server.refused) == ([{"action": "show"}], [])
    assert model.problems == ()
    assert model.requests[-1].prompt == PROMPT
    assert report.unrecognised == 0
    assert report.resume_id
    calls = [event.arguments for event in bench.events if isinstance(event, ToolCall) and event.name == OWN_TOOL]
    answers = [event.answer for event in bench.events if isinstance(event, ToolResult) and event.name == OWN_TOOL]
    codes = [event.exit_code for event in bench.events if isinstance(event, ToolResult) and event.exit_code is not None]
    assert calls == ['{"action":"show"}']
    assert answers == ['{"item": 1}']
    assert codes == [3]
    if report.usage_reported:
        steps = 4
        assert (report.tokens.input, report.tokens.output, report.tokens.cache_read) == (
            400 * steps,
            60 * steps,
            800 * steps,
        )


async def test_npm_agent_s_limit_is_read_and_the_session_can_be_resumed(bench: Bench) -> None:
    with ModelServer([LOOK, usage_limit(resets_at=RESETS_AT)]) as model:
        limited = await bench.run(model)
    reports = bench.agent.harness(str(bench.agent.binary), bench.folder, {}).capabilities.reports_reset
    assert limited.session_class is SessionClass.LIMITED
    assert limited.reset_at == (RESETS_AT * 1_000_000 if reports else None)
    with ModelServer([Say("never"), Say("back again")]) as model:
        resumed = await bench.run(model, 1, resume_id=limited.resume_id)
    assert (resumed.session_class, resumed.final_text) == (SessionClass.CLEAN, "back again")
    assert resumed.resume_id == limited.resume_id
    if resumed.usage_reported:
        assert resumed.tokens.input == 400


async def test_npm_agent_that_has_lost_its_session_says_that_it_cannot_be_resumed(bench: Bench) -> None:
    gone = {"opencode": "ses_dd834f82cffe3KW77PpHcTeypE"}.get(bench.agent.kind, "99999999-2222-4333-8444-555555555555")
    with ModelServer([Say("who?")]) as model:
        report = await bench.run(model, resume_id=gone)
    assert report.session_class in {SessionClass.CRASHED, SessionClass.DEAD, SessionClass.CONFIG}
    assert report.resume_id is None
    assert model.requests == ()


async def test_npm_agent_reports_an_overloaded_model_as_transient(bench: Bench) -> None:
    with ModelServer([OVERLOADED]) as model:
        report = await bench.run(model)
    assert report.session_class is SessionClass.TRANSIENT


async def test_npm_agent_reports_a_bad_key_as_auth(bench: Bench) -> None:
    with ModelServer([BAD_KEY]) as model:
        report = await bench.run(model)
    assert report.session_class is SessionClass.AUTH


async def killed_when_up(bench: Bench, up: Path, model: ModelServer) -> SessionReport:
    """Run a session whose CLI is killed once its tool is running."""
    reports: list[SessionReport] = []

    async def run() -> None:
        reports.append(await bench.run(model))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        with anyio.fail_after(BOUND_SECONDS):
            while not up.exists():
                await anyio.sleep(0.05)
        bench.main_process().kill()
    return reports[0]


async def test_npm_agent_killed_in_the_middle_of_a_tool_leaves_nothing_and_can_be_resumed(bench: Bench) -> None:
    up = bench.folder / "up"
    command = f"touch {up}; python3 -c 'import time; time.sleep(271)'"
    with ModelServer([Call("Bash", {"command": command}), Say("slept")]) as model:
        report = await killed_when_up(bench, up, model)
    assert (report.session_class, report.signal, report.death_proven) == (SessionClass.CRASHED, 9, True)
    assert report.survivors_killed
    with ModelServer([Say("never"), Say("back again")]) as model:
        resumed = await bench.run(model, 1, resume_id=report.resume_id)
    assert (resumed.session_class, resumed.final_text) == (SessionClass.CLEAN, "back again")


async def test_npm_agent_on_a_hung_model_is_ended_by_the_runner(bench: Bench) -> None:
    bench.quiet_seconds = bench.agent.quiet_seconds
    with ModelServer([LOOK, Hang()]) as model:
        report = await bench.run(model)
        assert "hang" in {request.move for request in model.requests}
    assert (report.session_class, report.death_proven) == (SessionClass.HUNG, True)
    assert report.resume_id


async def test_npm_verifier_cannot_write(bench: Bench) -> None:
    write = Call("Write", {"file_path": str(bench.folder / "work" / "a.txt"), "content": "hi"})
    with ModelServer([write, Say("tried")]) as model:
        report = await bench.run(model, read_only=True)
    assert not (bench.work / "a.txt").exists()
    assert report.session_class is not SessionClass.CRASHED


async def test_npm_agent_without_its_loop_is_noticed_where_the_cli_tells(bench: Bench) -> None:
    with ModelServer([Call(QUEUE, {"action": "show"}), Say("never mind")]) as model:
        endpoint = McpEndpoint(url_mcp="http://127.0.0.1:9/mcp", url_api="http://127.0.0.1:9", token="x")
        report = await bench.run(model, endpoint=endpoint)
    failed = [event for event in bench.events if isinstance(event, McpStatus) and event.state is McpState.FAILED]
    assert (report.session_class is SessionClass.CONFIG) == bool(failed)
    assert bool(failed) == (bench.agent.kind != "opencode")


@pytest.mark.parametrize("bench", ["opencode", "copilot"], indirect=True)
async def test_d17_npm_agent_that_is_denied_our_tool_is_denied_although_it_ends_with_exit_code_zero(
    bench: Bench,
) -> None:
    bench.options = bench.agent.denying
    script = [Call(QUEUE, {"action": "show"}), Say("all is well")]
    with recording_mcp("the-token") as server, ModelServer(script) as model:
        endpoint = McpEndpoint(url_mcp=server.url, url_api=server.url, token="the-token")
        report = await bench.run(model, endpoint=endpoint)
    assert (report.session_class, server.calls) == (SessionClass.DENIED, [])
    assert report.exit_code in {0, None}
    refused = [event.result for event in bench.events if isinstance(event, ToolResult)]
    assert refused == [ToolResultClass.REFUSED]


@pytest.mark.parametrize("bench", ["qwen"], indirect=True)
async def test_npm_agent_s_turn_limit_is_a_class_of_its_own(bench: Bench) -> None:
    with ModelServer([LOOK] * 9) as model:
        report = await bench.run(model, turns_max=2)
    assert (report.session_class, report.exit_code) == (SessionClass.TURN_CAP, 53)


@pytest.mark.parametrize("bench", ["opencode"], indirect=True)
async def test_npm_agent_that_compacts_in_vain_is_ended_as_too_long(bench: Bench) -> None:
    with ModelServer([LOOK, PROMPT_TOO_LONG]) as model:
        report = await bench.run(model)
    assert (report.session_class, report.death_proven) == (SessionClass.CONTEXT, True)


@pytest.mark.parametrize("bench", ["opencode"], indirect=True)
async def test_candidate_s_own_settings_do_not_loosen_a_verifier(bench: Bench) -> None:
    bench.work.mkdir()
    (bench.work / "opencode.json").write_text('{"permission": {"edit": "allow"}, "model": "none/such"}')
    write = Call("Write", {"file_path": str(bench.work / "a.txt"), "content": "hi"})
    with ModelServer([write, Say("tried")]) as model:
        report = await bench.run(model, read_only=True)
    assert report.session_class is SessionClass.CLEAN
    assert report.final_text == "I cannot go on: the tool Write is not offered to me."
    assert not (bench.work / "a.txt").exists()


async def test_npm_agent_s_version_is_the_one_whose_recordings_were_read(bench: Bench) -> None:
    harness = bench.agent.harness(str(bench.agent.binary), bench.folder, {})
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(bench.folder)}
    argv = harness.version_command(environment)
    done = await anyio.run_process(argv, env={**environment, "PATH": os.environ["PATH"]})
    assert harness.tested_versions[-1] in done.stdout.decode()
