"""What sessions cost the process that runs them: memory under floods, processor and memory with eight at work."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from bench.result import Result
from workloop.domain.session import SessionClass, SessionEvent, SessionReport
from workloop.runner.harness.port import Launch, LaunchRequest
from workloop.runner.harness.scripted import ScriptedConfig, ScriptedHarness
from workloop.runner.session import SessionLimits, StopRequest, run_session
from workloop.testing.clocks import FakeClock

MEBIBYTE = 1024 * 1024
GROWTH_MAX = 80
SETTLE_SECONDS = 3.0
FLOOD = """
    import os, sys
    def put(channel, data):
        data = memoryview(data)
        while data:
            data = data[os.write(channel, data):]
    kind, size = sys.argv[1], int(sys.argv[2])
    text = b'{"type": "text", "text": "' + b"word and " * 200 + b'"}'
    block = (text + bytes([10])) * (2**20 // len(text))
    if kind == "stream":
        for _ in range(size // len(block)):
            put(1, block)
    if kind == "line":
        for _ in range(size >> 20):
            put(1, b"z" * 2**20)
        put(1, bytes([10]))
    if kind == "stderr":
        for _ in range(size >> 20):
            put(2, b"e" * (2**20 - 1) + bytes([10]))
    put(1, text + bytes([10]) + b'{"type": "finished"}' + bytes([10]))
"""
TALK = """
    import sys, time
    due = time.monotonic()
    for number in range(int(sys.argv[2])):
        print('{"type": "text", "text": "' + "word and " * 20 + '"}', flush=True)
        due += 0.1
        time.sleep(max(0, due - time.monotonic()))
    print('{"type": "finished"}', flush=True)
"""


class Program(ScriptedHarness):
    """A Python program that prints our own events."""

    def __init__(self, program: str, *arguments: str) -> None:
        super().__init__(ScriptedConfig(script=Path("unused")))
        self.argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(program), *arguments)

    def launch(self, request: LaunchRequest) -> Launch:
        """Start the program."""
        return replace(super().launch(request), argv=self.argv)


async def session(harness: Program, folder: Path, name: str) -> SessionReport:
    """Run one session that ends well, as the loop runs it."""
    place = folder / name
    place.mkdir(mode=0o700)
    environment = {"PATH": os.environ["PATH"]}
    request = LaunchRequest(prompt="", cwd=place, session_dir=place, session_id=name, environment=environment)

    async def sink(_event: SessionEvent) -> None:
        return

    report = await run_session(
        harness, request, limits=SessionLimits(), clock=FakeClock(), sink=sink, stop=StopRequest()
    )
    assert report.session_class is SessionClass.CLEAN, report
    return report


def peak_mebibytes() -> float:
    """Return the most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def flooded(folder: Path, kind: str, size: int) -> dict[str, Any]:
    """Run a small session and then a flood; returns what the flood added to the peak."""
    await session(Program(FLOOD, "none", "0"), folder, "small")
    before, begun = peak_mebibytes(), time.process_time()
    await session(Program(FLOOD, kind, str(size)), folder, "flood")
    return {"grown": peak_mebibytes() - before, "seconds": time.process_time() - begun}


async def talking(folder: Path, sessions: int, events: int) -> dict[str, Any]:
    """Run so many sessions that print ten events a second each.

    Returns the share of a core while all are at work, not while they are started and ended, and the peak memory.
    """
    shares: list[float] = []

    async def watch() -> None:
        await anyio.sleep(SETTLE_SECONDS)
        began, begun = time.perf_counter(), time.process_time()
        await anyio.sleep(events / 10 - 2 * SETTLE_SECONDS)
        shares.append(100 * (time.process_time() - begun) / (time.perf_counter() - began))

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        for number in range(sessions):
            group.start_soon(session, Program(TALK, "talk", str(events)), folder, f"session-{number}")
    return {"share": shares[0], "peak": peak_mebibytes()}


def child(kind: str, number: int, events: int) -> dict[str, Any]:
    """Measure in a process of its own, whose peak nothing else has raised."""
    argv = [sys.executable, "-m", "bench.sessions", kind, str(number), str(events)]
    root = Path(__file__).parents[1]
    done = subprocess.run(argv, cwd=root, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def measure(quick: bool) -> list[Result]:
    """Measure floods of full size, and eight sessions at once."""
    rounds = 1 if quick else 3
    sizes = {"stream": 1024 * MEBIBYTE, "line": 100 * MEBIBYTE, "stderr": 1024 * MEBIBYTE}
    results: list[Result] = []
    for kind, size in sizes.items():
        found = [child(kind, size, 0) for _ in range(rounds)]
        name = f"{kind} of {size // MEBIBYTE} MiB: memory added"
        rate = f"{size / MEBIBYTE / found[0]['seconds']:.0f} MiB a processor second"
        grown = tuple(one["grown"] for one in found)
        results.append(Result(name=name, values=grown, unit="MiB", limit=GROWTH_MAX, note=rate))
    talked = [child("talk", 8, 150 if quick else 300) for _ in range(rounds)]
    shares, peaks = tuple(one["share"] for one in talked), tuple(one["peak"] for one in talked)
    load = f"the runner alone, load {os.getloadavg()[0]:.1f}"
    return [
        *results,
        Result(name="8 sessions at 10 events/s: of a core", values=shares, unit="%", limit=5, note=load),
        Result(name="8 sessions at 10 events/s: memory", values=peaks, unit="MiB", limit=200, note="the runner alone"),
    ]


def main(kind: str, number: int, events: int) -> None:
    """Measure one thing in this process and print it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = anyio.run(talking, place, number, events) if kind == "talk" else anyio.run(flooded, place, kind, number)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
