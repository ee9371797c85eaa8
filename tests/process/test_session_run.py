"""One session from spawn to proven death, with real children that behave badly."""

import json
import resource
import signal
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from session_bench import BOUND_SECONDS, PATIENT, Bench, identity, wait_for

from workloop.domain.errors import Fault
from workloop.domain.session import SessionClass, SessionEvent, Text, Tokens, kind_of
from workloop.runner.archive import END_BYTES_MAX, STREAM_NAME, replay
from workloop.runner.framing import TAIL_BYTES_MAX
from workloop.runner.harness.port import Launch, LaunchRequest, McpEndpoint
from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness
from workloop.runner.pidfile import NAME
from workloop.runner.session import run_session
from workloop.testing.clocks import FakeClock

pytestmark = pytest.mark.anyio
MEBIBYTE = 1024 * 1024


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class ProgramHarness(ScriptedHarness):
    """Any Python program that prints our own events."""

    def __init__(self, program: str) -> None:
        super().__init__(ScriptedConfig(script=Path("unused")))
        self.program = program

    def launch(self, request: LaunchRequest) -> Launch:
        argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(self.program))
        return replace(super().launch(request), argv=argv)


async def test_program_that_ends_well_is_clean_and_leaves_nothing_behind(bench: Bench) -> None:
    report = await bench.run(bench.python("print('hello'); print('the end')"))
    assert (report.session_class, report.exit_code, report.signal) == (SessionClass.CLEAN, 0, None)
    assert (report.final_text, report.survivors_killed, report.death_proven) == ("hello\nthe end", 0, True)
    assert not (bench.session_dir / NAME).exists()
    assert list(replay(bench.session_dir / STREAM_NAME)) == [b"hello", b"the end"]


async def test_killed_agent_is_crashed_by_that_signal(bench: Bench) -> None:
    report = await bench.run(bench.script({"say": "working"}, {"die": "kill"}))
    assert (report.session_class, report.signal) == (SessionClass.CRASHED, signal.SIGKILL)
    assert bench.kinds() == ["started", "text"]


async def test_agent_deaf_to_polite_signals_dies_with_its_grandchild_in_another_session(bench: Bench) -> None:
    program = f"""
        import os, signal, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child == 0:
            os.setsid()
            while True: time.sleep(60)
        open({str(bench.folder / "pid")!r} + ".new", "w").write(str(child))
        os.rename({str(bench.folder / "pid")!r} + ".new", {str(bench.folder / "pid")!r})
        while True: time.sleep(60)
    """
    async with anyio.create_task_group() as group:

        async def stop_when_up() -> None:
            await wait_for(bench.folder / "pid")
            bench.stop.request("the operator said so")

        group.start_soon(stop_when_up)
        report = await bench.run(bench.python(program))
        assert (report.session_class, report.signal) == (SessionClass.STOPPED, signal.SIGKILL)
        assert report.survivors_killed == 1
        assert "the operator said so" in report.detail
        assert identity(int((bench.folder / "pid").read_text())) is None


async def test_output_without_a_newline_is_not_lost(bench: Bench) -> None:
    report = await bench.run(bench.python("import sys; sys.stdout.write('no newline at the end')"))
    assert report.final_text == "no newline at the end"
    assert [event.text for event in bench.events if isinstance(event, Text)] == ["no newline at the end"]


async def test_child_that_closes_its_output_but_lives_is_hung(bench: Bench) -> None:
    program = "import os, time; os.close(1); os.close(2); time.sleep(600)"
    report = await bench.run(bench.python(program), replace(PATIENT, quiet_seconds=0.5))
    assert (report.session_class, report.death_proven) == (SessionClass.HUNG, True)
    assert "no event for 0.5 s" in report.detail


async def test_child_that_ends_before_anything_is_read_is_reported_whole(bench: Bench) -> None:
    program = "import os; os.write(1, b'x' * 50_000 + b'\\nlast'); os._exit(3)"
    report = await bench.run(bench.python(program))
    assert (report.session_class, report.exit_code) == (SessionClass.CRASHED, 3)
    assert [len(event.text) for event in bench.events if isinstance(event, Text)] == [50_000, 4]


async def test_d15_pipe_that_a_grandchild_holds_after_the_result_does_not_hold_the_session(bench: Bench) -> None:
    program = """
        import os, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        print('{"type": "text", "text": "done"}')
        print('{"type": "finished", "reason": "over"}', flush=True)
    """
    report = await bench.run(ProgramHarness(program))
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "done")
    assert (report.survivors_killed, report.death_proven) == (1, True)


async def test_d15_pipe_that_a_grandchild_holds_after_its_parent_ended_does_not_hold_the_session(bench: Bench) -> None:
    program = """
        import os, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        print("done", flush=True)
    """
    report = await bench.run(bench.python(program))
    assert (report.session_class, report.final_text, report.exit_code) == (SessionClass.CLEAN, "done", 0)
    assert (report.survivors_killed, report.death_proven) == (1, True)


async def test_harness_that_lives_on_after_its_result_is_ended_and_clean(bench: Bench) -> None:
    steps = ({"deaf": True}, {"say": "done"}, {"emit": {"type": "finished", "reason": "over"}}, {"hang": True})
    report = await bench.run(bench.script(*steps))
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "done")
    assert report.signal == signal.SIGKILL


RETRIES = """
    import time
    print('{"type": "text", "text": "hello"}', flush=True)
    while True:
        print('{"type": "retrying", "attempt": 1, "reason": "overloaded"}', flush=True)
        time.sleep(0.05)
"""


async def test_harness_that_only_retries_makes_no_progress(bench: Bench) -> None:
    report = await bench.run(ProgramHarness(RETRIES), replace(PATIENT, progress_seconds=0.6, quiet_seconds=30))
    assert report.session_class is SessionClass.HUNG
    assert "no progress for 0.6 s" in report.detail


async def test_session_that_never_stops_talking_ends_at_the_wall(bench: Bench) -> None:
    limits = replace(PATIENT, wall_seconds=0.6)
    report = await bench.run(ProgramHarness(RETRIES.replace("retrying", "text")), limits)
    assert report.session_class is SessionClass.HUNG
    assert "still running after 0.6 s" in report.detail


async def test_session_that_waits_out_a_limit_is_limited_not_hung(bench: Bench) -> None:
    limit = {"emit": {"type": "limit", "kind": "window", "reset_at": "2030-01-01T00:00:00Z"}}
    report = await bench.run(bench.script({"say": "hm"}, limit, {"hang": True}), replace(PATIENT, quiet_seconds=3))
    assert report.session_class is SessionClass.LIMITED
    assert report.reset_at == 1_893_456_000_000_000


async def test_session_without_its_mcp_server_is_stopped_as_misconfigured(bench: Bench) -> None:
    failed = {"emit": {"type": "mcp_status", "server": "workloop", "state": "failed", "required": True}}
    report = await bench.run(bench.script(failed, {"hang": True}))
    assert report.session_class is SessionClass.CONFIG
    assert "workloop could not be reached" in report.detail


async def test_somebody_elses_mcp_server_may_fail(bench: Bench) -> None:
    failed = {"emit": {"type": "mcp_status", "server": "other", "state": "failed"}}
    report = await bench.run(bench.script(failed, {"say": "done"}))
    assert report.session_class is SessionClass.CLEAN


async def test_limited_script_reports_when_it_may_go_on(bench: Bench) -> None:
    report = await bench.run(bench.script({"limit": 3600}))
    assert (report.session_class, report.exit_code) == (SessionClass.LIMITED, 75)
    assert report.reset_at is not None


async def test_d17_session_that_ends_well_without_a_word_is_dead(bench: Bench) -> None:
    report = await bench.run(bench.script({"exit": 0}))
    assert report.session_class is SessionClass.DEAD


async def test_usage_is_added_up(bench: Bench) -> None:
    usage = {"emit": {"type": "usage", "input": 5, "output": 2, "cache_read": 1, "cost_micros": 40}}
    report = await bench.run(bench.script({"say": "a"}, usage, usage))
    assert (report.tokens, report.cost_micros) == (Tokens(input=10, output=4, cache_read=2), 80)
    assert report.event_counts == {"started": 1, "text": 1, "usage": 2, "finished": 1}


async def test_session_without_a_price_has_no_cost_rather_than_none_spent(bench: Bench) -> None:
    report = await bench.run(bench.script({"say": "a"}))
    assert (report.cost_micros, report.usage_reported) == (None, False)


async def test_error_of_the_sink_ends_the_session_before_it_is_raised(bench: Bench) -> None:
    async def sink(event: SessionEvent) -> None:
        if kind_of(event) == "text":
            raise Fault("STORE_GONE", "no")

    harness = bench.script({"say": "a"}, {"deaf": True}, {"hang": True})
    with pytest.raises(Fault) as caught, anyio.fail_after(BOUND_SECONDS):
        await run_session(harness, bench.request(), limits=PATIENT, clock=FakeClock(), sink=sink, stop=bench.stop)
    assert caught.value.code == "STORE_GONE"
    assert not (bench.session_dir / NAME).exists()


async def test_cancelled_driver_leaves_no_process(bench: Bench) -> None:
    up = bench.folder / "up"
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel_when_up() -> None:
                await wait_for(up)
                written = json.loads((bench.session_dir / NAME).read_text())
                assert written["processes"]
                scope.cancel()

            group.start_soon(cancel_when_up)
            await bench.run(bench.script({"deaf": True}, {"touch": str(up)}, {"hang": True}))
    assert scope.cancelled_caught
    assert not (bench.session_dir / NAME).exists()


async def test_harness_that_cannot_start_is_a_fault(bench: Bench) -> None:
    harness = bench.script({"say": "a"})
    request = bench.request(cwd=bench.folder / "missing")
    with pytest.raises(Fault):
        await bench.run(harness, cwd=request.cwd)
    assert not (bench.session_dir / NAME).exists()


async def test_flood_on_standard_error_is_drained_and_bounded(bench: Bench) -> None:
    program = "import sys; [sys.stderr.write('e' * 99 + chr(10)) for _ in range(60_000)]; sys.stderr.write('last')"
    report = await bench.run(bench.python(program))
    assert report.session_class is SessionClass.CLEAN
    assert len(report.stderr_tail) == TAIL_BYTES_MAX
    assert report.stderr_tail.endswith("last")


FLOOD = """
    import os, sys
    def put(data):
        while data:
            data = data[os.write(1, data):]
    line = b'{"type": "text", "text": "' + b'y' * 60_000 + b'"}'
    for _ in range(1_600):
        put(line + bytes([10]))
    for _ in range(120):
        put(b'z' * 1024 * 1024)
    put(bytes([10]))
    put(line + bytes([10]) + b'{"type": "finished"}' + bytes([10]))
"""


async def test_two_hundred_megabytes_and_an_endless_line_stay_within_bounded_memory(bench: Bench) -> None:
    seen: dict[str, int] = {}

    async def sink(event: SessionEvent) -> None:
        seen[kind_of(event)] = seen.get(kind_of(event), 0) + 1

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limits = replace(PATIENT, stream_bytes_max=MEBIBYTE)
    with anyio.fail_after(BOUND_SECONDS):
        report = await run_session(
            ProgramHarness(FLOOD), bench.request(), limits=limits, clock=FakeClock(), sink=sink, stop=bench.stop
        )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (report.session_class, report.unrecognised) == (SessionClass.CLEAN, 1)
    assert seen == {"text": 1_601, "unrecognised": 1, "finished": 1}
    assert grown * 1024 < 96 * MEBIBYTE
    kept = [line for line in replay(bench.session_dir / STREAM_NAME) if isinstance(line, bytes)]
    assert sum(map(len, kept)) < MEBIBYTE + END_BYTES_MAX + 200
    assert sum(b"workloop_cut" in line for line in kept) == 1


async def test_session_learns_where_the_loop_is_by_private_files(bench: Bench) -> None:
    endpoint = McpEndpoint(url_mcp="http://127.0.0.1:1/mcp", url_api="http://127.0.0.1:1", token="secret-token")
    program = """
        import os, stat
        path = os.environ["WORKLOOP_TOKEN_FILE"]
        print(os.environ["WORKLOOP_URL"], open(path).read(), oct(os.stat(path).st_mode & 0o777))
        print(open(os.environ["WORKLOOP_BRIEF"]).read())
    """
    report = await bench.run(bench.python(program), endpoint=endpoint)
    assert report.final_text == "http://127.0.0.1:1 secret-token 0o600\ndo it"
    assert "secret-token" not in repr(endpoint)


async def test_events_and_result_files_of_a_program_are_read_at_its_end(bench: Bench) -> None:
    program = """
        import json, os
        with open(os.environ["WORKLOOP_EVENTS"], "w") as stream:
            stream.write(json.dumps({"type": "usage", "input": 7, "cost_micros": 3}) + chr(10) + "nonsense")
        with open(os.environ["WORKLOOP_RESULT"], "w") as stream:
            json.dump({"final_text": "from the file"}, stream)
    """
    report = await bench.run(bench.python(program))
    assert (report.final_text, report.tokens.input, report.cost_micros) == ("from the file", 7, 3)
    assert report.unrecognised == 1


async def test_result_file_that_is_a_link_is_not_followed(bench: Bench) -> None:
    (bench.folder / "other.json").write_text('{"final_text": "stolen"}')
    program = f"import os; os.symlink({str(bench.folder / 'other.json')!r}, os.environ['WORKLOOP_RESULT'])"
    report = await bench.run(bench.python(program))
    assert report.final_text == ""


@pytest.mark.parametrize(
    ("code", "expected"),
    [(75, SessionClass.LIMITED), (77, SessionClass.AUTH), (1, SessionClass.CRASHED), (0, SessionClass.CLEAN)],
)
async def test_exit_code_of_a_program_names_its_class(bench: Bench, code: int, expected: SessionClass) -> None:
    report = await bench.run(bench.python(f"raise SystemExit({code})"))
    assert report.session_class is expected
