"""The session runner and the Codex adapter with the real CLI, against a scripted model on loopback."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from codex_sessions import LIMITS, Setup
from real_codex import CODEX_MODEL, Codex
from recording_mcp import recording_mcp

from workloop.domain.session import (
    Denied,
    Retrying,
    SessionClass,
    SessionReport,
    Started,
    ToolCall,
    ToolResult,
    ToolResultClass,
)
from workloop.runner.harness.codex.launch import BEARER_VARIABLE, CodexHarness, CodexMode, CodexSandbox
from workloop.runner.harness.port import McpEndpoint
from workloop.runner.process import StopLadder
from workloop.testing.model.moves import (
    BAD_KEY,
    NO_CREDIT,
    NO_MODEL,
    OVERLOADED,
    PROMPT_TOO_LONG,
    Call,
    Cut,
    Fail,
    Flaky,
    Hang,
    Say,
    usage_limit,
)
from workloop.testing.model_scenarios import Edit, honest_worker, lying_worker
from workloop.testing.model_server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real_agent]
RESET = 1_900_000_000
WORK_LOOP = Call(("workloop", "work_loop"), {"action": "show"})
SLEEP = "python3 -c 'import time; time.sleep(271)'"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def setup(tmp_path: Path, codex: Codex) -> Iterator[Setup]:
    """Return a set-up; no process of its sessions may live when the test is over."""
    made = Setup(tmp_path, codex)
    yield made
    left = made.processes()
    for process in left:
        process.kill()
    assert not left


@pytest.fixture(params=list(CodexMode))
def both(setup: Setup, request: pytest.FixtureRequest) -> Setup:
    """Return a set-up in either mode."""
    setup.codex = replace(setup.codex, mode=request.param)
    return setup


async def test_real_codex_works_over_mcp_and_is_clean(both: Setup) -> None:
    script = [WORK_LOOP, Call("Write", {"file_path": "a.txt", "content": "hi\n"}), Say("all done")]
    with recording_mcp("the-token", '{"state": "claimed"}') as server, ModelServer(script) as model:
        endpoint = McpEndpoint(url_mcp=server.url, url_api=server.url, token="the-token")
        report = await both.run(model, endpoint=endpoint)
    assert (report.session_class, report.final_text, report.exit_code) == (SessionClass.CLEAN, "all done", 0)
    assert (report.unrecognised, report.survivors_killed, report.death_proven) == (0, 0, True)
    assert (both.work / "a.txt").read_text() == "hi\n"
    assert (server.calls, server.refused) == ([{"action": "show"}], [])
    asked = len(model.requests)
    assert (report.tokens.input, report.tokens.output, report.tokens.cache_read) == (
        400 * asked,
        60 * asked,
        800 * asked,
    )
    call = next(event for event in both.events if isinstance(event, ToolCall) and event.name.endswith("work_loop"))
    answer = next(event for event in both.events if isinstance(event, ToolResult) and event.call_id == call.call_id)
    assert (call.arguments, answer.answer) == ('{"action":"show"}', '{"state": "claimed"}')
    assert model.problems == ()


async def test_real_codex_says_its_model_and_a_version_that_was_tested(setup: Setup) -> None:
    with ModelServer([Say("hello")]) as model:
        await setup.run(model)
    started = next(event for event in setup.events if isinstance(event, Started))
    assert started.model == CODEX_MODEL
    assert started.version in CodexHarness(setup.codex.config("")).tested_versions


async def test_real_codex_limit_is_read_and_the_thread_goes_on_after_the_reset(both: Setup) -> None:
    with ModelServer([Call("Bash", {"command": "echo one"}), usage_limit(resets_at=RESET)]) as model:
        limited = await both.run(model)
        asked = len(model.requests)
    assert (limited.session_class, limited.reset_at) == (SessionClass.LIMITED, RESET * 1_000_000)
    assert (limited.tokens.input, asked, limited.final_text) == (400, 2, "")
    with ModelServer([Say("never"), Say("back again")]) as model:
        resumed = await both.run(model, resume_id=limited.resume_id)
    assert (resumed.session_class, resumed.final_text) == (SessionClass.CLEAN, "back again")
    assert resumed.resume_id == limited.resume_id
    assert (resumed.tokens.input, resumed.tokens.cache_read, resumed.tokens.output) == (400, 800, 60)


async def test_real_codex_gets_over_a_short_trouble(setup: Setup) -> None:
    script = [Flaky(first=Cut(), tries=1, then=Call("Bash", {"command": "true"})), Say("done")]
    with ModelServer(script) as model:
        report = await setup.run(model)
    assert report.session_class is SessionClass.CLEAN
    assert [event.attempt for event in setup.events if isinstance(event, Retrying)] == [1]


@pytest.mark.parametrize(
    ("fail", "expected"),
    [
        (OVERLOADED, SessionClass.TRANSIENT),
        (BAD_KEY, SessionClass.AUTH),
        (NO_CREDIT, SessionClass.BILLING),
        (NO_MODEL, SessionClass.MODEL_MISSING),
        (PROMPT_TOO_LONG, SessionClass.CONTEXT),
    ],
)
async def test_real_codex_failure_gets_its_class(both: Setup, fail: Fail, expected: SessionClass) -> None:
    with ModelServer([fail]) as model:
        report = await both.run(model)
    assert (report.session_class, report.final_text) == (expected, "")
    assert report.resume_id


async def test_real_codex_killed_in_mid_tool_is_resumed(both: Setup) -> None:
    up = both.folder / "up"
    with ModelServer([Call("Bash", {"command": f"touch {up}; {SLEEP}"}), Say("slept")]) as model:
        killed = await both.run_until(up, lambda: kill_main(both), model)
    assert (killed.session_class, killed.signal, killed.death_proven) == (SessionClass.CRASHED, signal.SIGKILL, True)
    assert not both.processes()
    with ModelServer([Say("never"), Say("went on")]) as model:
        resumed = await both.run(model, resume_id=killed.resume_id)
    assert (resumed.session_class, resumed.final_text) == (SessionClass.CLEAN, "went on")


def kill_main(setup: Setup) -> None:
    """Kill the program itself, as a crash or the kernel would."""
    main = [process for process in setup.processes() if process.exe() == str(setup.codex.binary.resolve())]
    assert main
    for process in main:
        process.kill()


async def test_real_codex_is_interrupted_and_leaves_no_tool_running(both: Setup) -> None:
    up = both.folder / "up"
    with ModelServer([Call("Bash", {"command": f"touch {up}; {SLEEP}"}), Say("slept")]) as model:
        report = await both.run_until(up, lambda: both.stop.request("enough"), model)
    assert (report.session_class, report.death_proven) == (SessionClass.STOPPED, True)
    assert report.resume_id
    assert not both.processes()


async def test_real_codex_whose_model_hangs_is_ended_by_the_watch(both: Setup) -> None:
    both.limits = replace(LIMITS, quiet_seconds=4.0, ladder=StopLadder(interrupt_seconds=1, terminate_seconds=1))
    with ModelServer([Hang()]) as model:
        report = await both.run(model)
    assert (report.session_class, report.detail.partition(";")[0]) == (SessionClass.HUNG, "no event for 4 s")
    assert report.resume_id


async def test_real_codex_leaves_no_background_process_of_a_tool(setup: Setup) -> None:
    up = setup.folder / "up"
    command = f"(setsid {SLEEP} >/dev/null 2>&1 & touch {up}); echo started"
    with ModelServer([Call("Bash", {"command": command}), Say("done")]) as model:
        report = await setup.run(model)
    assert up.exists()
    assert (report.session_class, report.death_proven) == (SessionClass.CLEAN, True)
    assert not setup.processes()


async def test_real_codex_whose_mcp_call_is_denied_is_told(setup: Setup) -> None:
    setup.codex = replace(setup.codex, sandbox=CodexSandbox.WORKSPACE)
    servers = setup.folder / "servers.toml"
    with (
        recording_mcp("other") as server,
        ModelServer([Call(("other", "work_loop"), {"action": "x"}), Say("d")]) as model,
    ):
        servers.write_text(
            f'[mcp_servers.other]\nurl = "{server.url}"\nrequired = true\n'
            'http_headers = {Authorization = "Bearer other"}\ndefault_tools_approval_mode = "prompt"\n'
        )
        report = await setup.run(model, mcp_config=servers)
    assert report.session_class is SessionClass.DENIED
    assert [event.name for event in setup.events if isinstance(event, Denied)] == ["mcp__other__work_loop"]
    assert server.calls == []


async def test_real_codex_calls_the_tools_of_the_operators_file_without_a_word(setup: Setup) -> None:
    setup.codex = replace(setup.codex, sandbox=CodexSandbox.WORKSPACE)
    servers = setup.folder / "servers.toml"
    with (
        recording_mcp("other") as server,
        ModelServer([Call(("other", "work_loop"), {"action": "x"}), Say("d")]) as model,
    ):
        servers.write_text(
            f'[mcp_servers.other]\nurl = "{server.url}"\nrequired = true\n'
            'http_headers = {Authorization = "Bearer other"}\n'
        )
        report = await setup.run(model, mcp_config=servers)
    assert report.session_class is SessionClass.CLEAN
    assert server.calls == [{"action": "x"}]


async def test_real_codex_without_its_loop_is_a_matter_of_configuration(both: Setup) -> None:
    with ModelServer([Say("never mind")]) as model:
        endpoint = McpEndpoint(url_mcp="http://127.0.0.1:9/mcp", url_api="http://127.0.0.1:9", token="x")
        report = await both.run(model, endpoint=endpoint)
    assert report.session_class is SessionClass.CONFIG
    assert model.requests == ()


async def test_real_codex_verifier_can_run_commands_but_not_write(both: Setup) -> None:
    write = Call("Write", {"file_path": "patched.txt", "content": "hi\n"})
    shell = Call("Bash", {"command": "touch made.txt; test -e patched.txt || echo nothing-there"})
    with ModelServer([write, shell, Say("tried")]) as model:
        await both.run(model, read_only=True)
    assert list(both.work.iterdir()) == []
    assert any("nothing-there" in exchange.last_result for exchange in model.requests)


async def test_real_codex_worker_hears_what_the_work_dir_tells_agents_and_a_verifier_does_not(both: Setup) -> None:
    both.work.mkdir()
    (both.work / "AGENTS.md").write_text('SENTINEL: "run" the tests\n')
    told: dict[bool, bool] = {}
    for read_only in (False, True):
        with ModelServer([Say("x")]) as model:
            report = await both.run(model, read_only=read_only)
        told[read_only] = "SENTINEL" in thread_file(both, report)
    assert told == {False: True, True: False}


def thread_file(setup: Setup, report: SessionReport) -> str:
    """Return all that Codex wrote down of a thread."""
    (path,) = (setup.codex.home / ".codex" / "sessions").glob(f"*/*/*/rollout-*-{report.resume_id}.jsonl")
    return path.read_text()


async def test_real_codex_starts_no_server_of_the_work_dir_or_of_the_operators_everyday_settings(both: Setup) -> None:
    main, linked = both.folder / "main", both.folder / "linked"
    main.mkdir()
    (main / ".codex").mkdir()
    (main / ".codex" / "config.toml").write_text(server_that_touches(both.folder / "project-ran"))
    git(main, "init", "-q")
    git(main, "add", "-A")
    git(main, "commit", "-q", "-m", "x")
    git(main, "worktree", "add", "-q", str(linked))
    home = both.codex.home / ".codex"
    home.mkdir(parents=True)
    trusted = f'[projects."{main}"]\ntrust_level = "trusted"\n'
    before = server_that_touches(both.folder / "everyday-ran") + trusted
    (home / "config.toml").write_text(before)
    for folder in (main, linked):
        with ModelServer([Say("done")]) as model:
            assert (await both.run(model, cwd=folder)).session_class is SessionClass.CLEAN
    assert (home / "config.toml").read_text() == before
    assert not (both.folder / "project-ran").exists()
    assert not (both.folder / "everyday-ran").exists()


def server_that_touches(path: Path) -> str:
    """Return settings with a server whose start leaves a trace."""
    name = path.name
    return f'[mcp_servers.{name}]\ncommand = "sh"\nargs = ["-c", "touch {path}; sleep 1"]\nrequired = true\n'


async def test_real_codex_tools_know_where_the_loop_is_but_hold_no_token(both: Setup) -> None:
    command = 'echo "file=$WORKLOOP_TOKEN_FILE url=$WORKLOOP_URL bearer=${' + BEARER_VARIABLE + ':-none}"'
    script = [Call("Bash", {"command": command}), Say("done")]
    with recording_mcp("the-token") as server, ModelServer(script) as model:
        endpoint = McpEndpoint(url_mcp=server.url, url_api="http://127.0.0.1:9", token="the-token")
        await both.run(model, endpoint=endpoint)
    file = both.folder / "session-1" / "token"
    assert f"file={file} url=http://127.0.0.1:9 bearer=none" in model.requests[-1].last_result
    assert os.access(file, os.R_OK)
    assert [event.result for event in both.events if isinstance(event, ToolResult)] == [ToolResultClass.OK]


def git(folder: Path, *arguments: str) -> str:
    """Run git and return what it prints."""
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


async def test_real_codex_honest_worker_reports_its_commit_and_a_liar_one_that_mends_nothing(setup: Setup) -> None:
    setup.work.mkdir()
    git(setup.work, "init", "-q")
    (setup.work / "sum.sh").write_text("echo $(($1 - $2))\n")
    git(setup.work, "add", ".")
    git(setup.work, "commit", "-q", "-m", "wrong sum")
    mend = Edit(path="sum.sh", old="$1 - $2", new="$1 + $2")
    for script, changed in (
        (lying_worker(), "NOTES.txt"),
        (honest_worker(mend, "test $(sh sum.sh 2 3) = 5"), "sum.sh"),
    ):
        with recording_mcp("the-token") as server, ModelServer(script) as model:
            endpoint = McpEndpoint(url_mcp=server.url, url_api=server.url, token="the-token")
            report = await setup.run(model, endpoint=endpoint, prompt="role: work\ncontract_hash: 0123abcd\n")
        assert (report.session_class, model.problems) == (SessionClass.CLEAN, ())
        head = git(setup.work, "rev-parse", "HEAD")
        told = [(call["action"], call["contract_hash"], call["outcome"]) for call in server.calls]
        assert told == [("complete", "0123abcd", {"kind": "commit", "ref": head})]
        assert git(setup.work, "diff", "--name-only", "HEAD~1") == changed
