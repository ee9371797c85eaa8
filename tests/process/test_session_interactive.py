"""Sessions that listen: what the reader replies reaches a real child, and one that does not read holds up nothing."""

import signal
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from session_bench import PATIENT, QUICK_LADDER, Bench, wait_for

from workloop.domain.session import SessionClass, SessionEvent, Text
from workloop.runner.harness.port import Launch, LaunchRequest
from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness, ScriptedReader
from workloop.runner.pipes import OUTGOING_BYTES_MAX
from workloop.runner.process import StopLadder

pytestmark = pytest.mark.anyio
MEBIBYTE = 1024 * 1024
PATIENT_LADDER = replace(PATIENT, finish_grace_seconds=30, ladder=StopLadder(interrupt_seconds=30))
FINISHED = """print('{"type": "finished", "reason": "over"}', flush=True)"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


Answer = Callable[[list[SessionEvent]], bytes]


class Replying(ScriptedReader):
    """A reader that opens with a prompt and answers each line."""

    def __init__(self, request: LaunchRequest, opening: bytes, answer: Answer) -> None:
        super().__init__(request)
        self.outbox = opening
        self.answer = answer

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        events = super().feed(line, arrival_us)
        self.outbox += self.answer(events)
        return events

    def replies(self) -> bytes:
        outbox, self.outbox = self.outbox, b""
        return outbox


class Listening(ScriptedHarness):
    """Any Python program that prints our own events and is told things by its standard input."""

    def __init__(
        self, program: str, opening: bytes = b"", answer: Answer = lambda _events: b"", *, interactive: bool = True
    ) -> None:
        super().__init__(ScriptedConfig(script=Path("unused")))
        self.program, self.opening, self.answer, self.interactive = program, opening, answer, interactive

    def launch(self, request: LaunchRequest) -> Launch:
        argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(self.program))
        return replace(super().launch(request), argv=argv, interactive=self.interactive)

    def reader(self, request: LaunchRequest) -> Replying:
        return Replying(request, self.opening, self.answer)


def texts(bench: Bench) -> list[str]:
    return [event.text for event in bench.events if isinstance(event, Text)]


def shout(events: list[SessionEvent]) -> bytes:
    return b"".join(event.text.upper().encode() + b"\n" for event in events if isinstance(event, Text))


async def test_child_is_told_at_the_start_and_after_each_line_and_sees_the_end_of_its_input(bench: Bench) -> None:
    program = f"""
        import json, sys
        def say(text):
            print(json.dumps({{"type": "text", "text": text}}), flush=True)
        say("got " + sys.stdin.readline().strip())
        say("got " + sys.stdin.readline().strip())
        {FINISHED}
        sys.stdin.readline()
        print('{{"type": "usage", "input": ' + str(len(sys.stdin.read()) + 7) + '}}', flush=True)
        raise SystemExit(0)
    """
    report = await bench.run(Listening(program, b"hello\n", shout), PATIENT_LADDER)
    assert texts(bench) == ["got hello", "got GOT HELLO"]
    assert (report.session_class, report.exit_code, report.tokens.input) == (SessionClass.CLEAN, 0, 7)


async def test_child_that_ignores_the_end_of_its_input_is_ended_and_its_result_stands(bench: Bench) -> None:
    program = f"""
        import signal, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print('{{"type": "text", "text": "done"}}', flush=True)
        {FINISHED}
        while True: time.sleep(60)
    """
    report = await bench.run(Listening(program, b"prompt\n"))
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "done")
    assert (report.signal, report.death_proven) == (signal.SIGTERM, True)


async def test_child_that_talks_between_its_reads_and_a_long_prompt_do_not_wait_for_each_other(bench: Bench) -> None:
    """Both pipes are full at once, again and again: whoever waited for the other would wait for ever."""
    program = f"""
        import json, os
        def say(text):
            print(json.dumps({{"type": "text", "text": text}}), flush=True)
        read = 0
        while read < {2 * MEBIBYTE}:
            say("x" * 100_000)
            read += len(os.read(0, 50_000))
        say(str(read))
        {FINISHED}
    """
    report = await bench.run(Listening(program, b"y" * 2 * MEBIBYTE), PATIENT_LADDER)
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, str(2 * MEBIBYTE))


async def test_child_that_never_reads_keeps_its_result_and_holds_up_nothing(bench: Bench) -> None:
    program = f"""
        import json, time
        for number in range(100):
            print(json.dumps({{"type": "text", "text": str(number)}}), flush=True)
        {FINISHED}
        while True: time.sleep(60)
    """
    report = await bench.run(Listening(program, b"p" * MEBIBYTE, lambda _events: b"r" * 10_000))
    assert (report.session_class, report.final_text, len(texts(bench))) == (SessionClass.CLEAN, "99", 100)


async def test_child_that_lets_too_much_lie_unread_is_hung(bench: Bench) -> None:
    program = """
        import time
        while True:
            print('{"type": "text", "text": "again"}', flush=True)
            time.sleep(0.001)
    """
    harness = Listening(program, b"p" * (OUTGOING_BYTES_MAX - MEBIBYTE), lambda _events: b"r" * 65_536)
    report = await bench.run(harness)
    assert report.session_class is SessionClass.HUNG
    assert "did not read what it was told" in report.detail


async def test_child_that_closes_its_input_may_go_on_talking(bench: Bench) -> None:
    program = f"""
        import json, os
        os.close(0)
        for number in range(50):
            print(json.dumps({{"type": "text", "text": str(number)}}), flush=True)
        {FINISHED}
    """
    report = await bench.run(Listening(program, b"p" * MEBIBYTE, lambda _events: b"answer\n"))
    assert (report.session_class, report.exit_code, report.final_text) == (SessionClass.CLEAN, 0, "49")


async def test_child_that_ends_before_it_has_read_its_prompt_is_judged_by_its_end(bench: Bench) -> None:
    report = await bench.run(Listening("raise SystemExit(3)", b"p" * MEBIBYTE))
    assert (report.session_class, report.exit_code) == (SessionClass.CRASHED, 3)


@pytest.mark.parametrize("prompt", [b"short\n", b"p" * MEBIBYTE], ids=["empty pipe", "full pipe"])
async def test_stopped_session_sees_the_end_of_its_input_first(bench: Bench, prompt: bytes) -> None:
    program = f"""
        import pathlib, signal, sys
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        pathlib.Path({str(bench.folder / "up")!r}).touch()
        while not pathlib.Path({str(bench.folder / "go")!r}).exists(): pass
        read = len(sys.stdin.buffer.read())
        print('{{"type": "usage", "input": ' + str(read) + '}}', flush=True)
    """
    async with anyio.create_task_group() as group:

        async def stop_when_up() -> None:
            await wait_for(bench.folder / "up")
            bench.stop.request("the operator said so")
            (bench.folder / "go").touch()

        group.start_soon(stop_when_up)
        limits = replace(PATIENT, ladder=replace(QUICK_LADDER, interrupt_seconds=30))
        report = await bench.run(Listening(program, prompt), limits)
        assert (report.session_class, report.exit_code) == (SessionClass.STOPPED, 0)
        assert 0 < report.tokens.input <= len(prompt)


async def test_session_that_does_not_listen_is_told_nothing(bench: Bench) -> None:
    program = f"""
        import os, sys
        empty = sys.stdin.read() == "" and os.path.samestat(os.fstat(0), os.stat(os.devnull))
        print('{{"type": "text", "text": "' + str(empty) + '"}}')
        {FINISHED}
    """
    report = await bench.run(Listening(program, b"hello\n", shout, interactive=False))
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "True")


async def test_cancelled_driver_leaves_no_listening_child(bench: Bench) -> None:
    program = f"""
        import pathlib, signal, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        pathlib.Path({str(bench.folder / "up")!r}).touch()
        while True: time.sleep(60)
    """
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel_when_up() -> None:
                await wait_for(bench.folder / "up")
                scope.cancel()

            group.start_soon(cancel_when_up)
            await bench.run(Listening(program, b"p" * MEBIBYTE))
    assert scope.cancelled_caught
    assert not (bench.session_dir / "process.json").exists()
