"""What a session printed is on disk as it printed it, whatever becomes of the loop."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from session_bench import BOUND_SECONDS, Bench

from workloop.runner.archive import STDERR_NAME, STREAM_NAME, replay
from workloop.runner.framing import Line
from workloop.runner.pidfile import end_leftovers

LOOP = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
import anyio
from session_bench import Bench
program = '''
import sys, time
for number in range(3):
    print("line", number, flush=True)
print("half a li", end="", flush=True)
print("a complaint", file=sys.stderr, flush=True)
while True: time.sleep(60)
'''
bench = Bench(Path({folder!r}))
anyio.run(bench.run, bench.python(program))
"""


def kept(path: Path) -> list[Line]:
    return list(replay(path)) if path.exists() else []


def test_output_printed_before_the_loop_was_killed_can_still_be_read(tmp_path: Path) -> None:
    session_dir = tmp_path / "session"
    text = LOOP.format(path=[*sys.path, str(Path(__file__).parent)], folder=str(tmp_path))
    printed = {STREAM_NAME: [b"line 0", b"line 1", b"line 2", b"half a li"], STDERR_NAME: [b"a complaint"]}
    with subprocess.Popen([sys.executable, "-c", text]) as loop:
        deadline = time.monotonic() + BOUND_SECONDS
        while any(kept(session_dir / name) != lines for name, lines in printed.items()):
            assert time.monotonic() < deadline, "the output does not reach the disk"
            time.sleep(0.01)
        loop.kill()
    end_leftovers(session_dir)
    assert {name: kept(session_dir / name) for name in printed} == printed


@pytest.mark.anyio
async def test_standard_error_is_kept_beside_the_stream(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.run(bench.python("import sys; print('said'); print('complained', file=sys.stderr)"))
    assert kept(bench.session_dir / STREAM_NAME) == [b"said"]
    assert kept(bench.session_dir / STDERR_NAME) == [b"complained"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
