"""Sessions that fall silent, build for long, repeat themselves or crash, and clocks that jump, with real children."""

import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from session_bench import BOUND_SECONDS, PATIENT, Bench

from workloop.domain.clock import SECOND_US
from workloop.domain.session import SessionClass, SessionEvent, Text
from workloop.runner.session import run_session
from workloop.testing.clocks import FakeClock

pytestmark = pytest.mark.anyio
DAY_US = 86_400 * SECOND_US
CALL = {"emit": {"type": "tool_call", "call_id": "1", "name": "shell", "kind": "shell"}}
RESULT = {"emit": {"type": "tool_result", "call_id": "1", "name": "shell", "class": "ok"}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_d13_session_that_falls_silent_in_the_middle_is_hung_and_dead_with_its_idle_tool(bench: Bench) -> None:
    program = """
        import subprocess, time
        print("I shall build it", flush=True)
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        time.sleep(600)
    """
    report = await bench.run(bench.python(program), replace(PATIENT, quiet_seconds=1.5))
    assert (report.session_class, report.survivors_killed, report.death_proven) == (SessionClass.HUNG, 1, True)
    assert "no event for 1.5 s" in report.detail


async def test_d13_agent_that_only_spins_is_hung_for_its_own_work_says_nothing(bench: Bench) -> None:
    report = await bench.run(bench.python("while True: pass"), replace(PATIENT, quiet_seconds=1.5))
    assert report.session_class is SessionClass.HUNG
    assert "no event for 1.5 s" in report.detail


async def test_d18_session_that_never_exits_after_its_tool_calls_is_hung(bench: Bench) -> None:
    report = await bench.run(bench.script(CALL, RESULT, {"hang": True}), replace(PATIENT, quiet_seconds=3))
    assert (report.session_class, report.death_proven) == (SessionClass.HUNG, True)
    assert report.event_counts["tool_result"] == 1


BUILD = """
    import subprocess, sys
    spin = "import time; end = time.monotonic() + float({seconds})\\nwhile time.monotonic() < end: pass"
    print("building", flush=True)
    subprocess.run([sys.executable, "-I", "-S", "-c", spin])
    print("built", flush=True)
"""


async def test_c13_silent_session_whose_build_is_at_work_is_not_hung(bench: Bench) -> None:
    report = await bench.run(bench.python(BUILD.format(seconds=5)), replace(PATIENT, quiet_seconds=1.5))
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "building\nbuilt")


async def test_c13_build_that_never_ends_is_ended_by_the_progress_clock(bench: Bench) -> None:
    limits = replace(PATIENT, quiet_seconds=1.5, progress_seconds=4)
    report = await bench.run(bench.python(BUILD.format(seconds=600)), limits)
    assert report.session_class is SessionClass.HUNG
    assert "no progress for 4 s" in report.detail
    assert report.death_proven


async def test_c13_session_that_asks_the_same_again_and_again_is_left_at_it(bench: Bench) -> None:
    report = await bench.run(bench.script({"say": "waiting for the build"}, *[CALL, RESULT] * 150))
    assert (report.session_class, report.event_counts["tool_call"]) == (SessionClass.CLEAN, 150)


async def test_c18_crash_of_a_child_is_the_end_of_its_session_and_of_nothing_else(bench: Bench) -> None:
    program = "import sys; print('working'); sys.exit('Error: No messages returned')"
    report = await bench.run(bench.python(program))
    assert (report.session_class, report.exit_code) == (SessionClass.CRASHED, 1)
    assert "No messages returned" in report.detail
    second = Bench(bench.folder / "work")
    assert (await second.run(second.python("print('fine')"))).session_class is SessionClass.CLEAN


COUNT = """
    import time
    for number in range(30):
        print(number, flush=True)
        time.sleep(0.1)
"""


async def test_wall_clock_that_jumps_ends_no_session(bench: Bench) -> None:
    """The clocks of a session are monotonic; the wall clock only dates its report."""
    clock = FakeClock()
    began = clock.now()

    async def sink(event: SessionEvent) -> None:
        bench.events.append(event)
        clock.advance_us(DAY_US)

    limits = replace(PATIENT, wall_seconds=30, quiet_seconds=10, progress_seconds=20)
    with anyio.fail_after(BOUND_SECONDS):
        report = await run_session(
            bench.python(COUNT), bench.request(), limits=limits, clock=clock, sink=sink, stop=bench.stop
        )
    assert (report.session_class, len(bench.events)) == (SessionClass.CLEAN, 30)
    assert (report.started_at, report.ended_at) == (began, began + 30 * DAY_US)


async def test_session_of_a_loop_that_could_not_run_for_a_while_is_not_hung(bench: Bench) -> None:
    """As when the machine or the loop was stopped: the child's silence was only that nobody listened."""
    held: list[int] = []

    async def sink(event: SessionEvent) -> None:
        bench.events.append(event)
        if isinstance(event, Text) and event.text == "3":
            until = time.monotonic() + 2.5
            while time.monotonic() < until:  # everything of the loop stands still
                held.append(1)

    limits = replace(PATIENT, wall_seconds=30, quiet_seconds=2, progress_seconds=2, late_seconds=0.4)
    program = COUNT.replace("sleep(0.1)", "sleep(3.3 if number == 3 else 0.1)")  # it slept as well
    with anyio.fail_after(BOUND_SECONDS):
        report = await run_session(
            bench.python(program), bench.request(), limits=limits, clock=FakeClock(), sink=sink, stop=bench.stop
        )
    assert held
    assert (report.session_class, len(bench.events)) == (SessionClass.CLEAN, 30)
