"""What a session prints costs the process that runs it little memory, however much it is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MEBIBYTES_MAX = 80
HOST = """
import json, resource, sys
from pathlib import Path
sys.path[:0] = {path!r}
import anyio
from session_bench import PATIENT, Bench
from workloop.runner.session import run_session
from workloop.testing.clocks import FakeClock

FLOOD = '''
import os
def put(channel, data):
    data = memoryview(data)
    while data:
        data = data[os.write(channel, data):]
for _ in range(64):
    put({channel}, {block})
put({channel}, bytes([10]))
put(1, b"the end")
'''

async def sink(event):
    return

async def run(name, program):
    folder = Path({folder!r}) / name
    folder.mkdir()
    bench = Bench(folder)
    harness, request = bench.python(program), bench.request()
    return await run_session(harness, request, limits=PATIENT, clock=FakeClock(), sink=sink, stop=bench.stop)

async def main():
    await run("small", "print('hello')")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = await run("flood", FLOOD)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    said = report.final_text[-7:]
    print(json.dumps([grown, report.session_class, said, report.unrecognised, len(report.stderr_tail) >> 20]))

anyio.run(main)
"""
LINES = "(b'w' * 65_535 + bytes([10])) * 16"
NO_LINES = "b'w' * 2**20"


@pytest.mark.parametrize(
    ("channel", "block", "unrecognised", "tail_mebibytes"),
    [(1, LINES, 0, 0), (1, NO_LINES, 1, 0), (2, LINES, 0, 2), (2, NO_LINES, 0, 2)],
    ids=["stream", "endless line", "standard error", "endless complaint"],
)
def test_flood_of_64_mebibytes_adds_little_memory(
    tmp_path: Path, channel: int, block: str, unrecognised: int, tail_mebibytes: int
) -> None:
    """The process is a fresh one, so that its peak is the flood's and nobody else's."""
    path = [*sys.path, str(Path(__file__).parent)]
    text = HOST.format(path=path, folder=str(tmp_path), channel=channel, block=block)
    done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, check=True)
    grown, *told = json.loads(done.stdout)
    assert told == ["clean", "the end", unrecognised, tail_mebibytes]
    assert grown < MEBIBYTES_MAX
