"""A child and everything it started is dead when we say so, and dies with us when we cannot."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from pathlib import Path

import anyio
import pytest

from workloop.domain.errors import Fault
from workloop.runner.harness.port import Launch
from workloop.runner.pidfile import NAME, end_leftovers
from workloop.runner.process import Child, ExitStatus, StopLadder, spawn
from workloop.runner.processtable import Identity, row_of, send

pytestmark = pytest.mark.anyio
QUICK = StopLadder(interrupt_seconds=0.3, terminate_seconds=0.3, kill_seconds=10)
BOUND_SECONDS = 50


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def start(folder: Path, program: str, *, clean: bool = False) -> Child:
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(program))
    launch = Launch(argv=("env", "-i", *argv) if clean else argv, env=env, cwd=folder)
    return spawn(launch, session_dir=folder, session_id=str(uuid.uuid4()))


async def line_of(child: Child) -> str:
    with anyio.fail_after(BOUND_SECONDS):
        text = b""
        while not text.endswith(b"\n"):
            text += await child.stdout.receive()
    return text.decode().strip()


def identity(pid: int) -> Identity:
    row = row_of(pid)
    assert row is not None
    return row.identity


def is_alive(one: Identity) -> bool:
    row = row_of(one.pid)
    return row is not None and row.identity == one and not row.zombie


def wait_dead(one: Identity) -> None:
    deadline = time.monotonic() + BOUND_SECONDS
    while is_alive(one):
        assert time.monotonic() < deadline, "still alive"
        time.sleep(0.01)


GRANDCHILD = """
    import os, signal, sys, time
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        print(os.getpid(), flush=True)
        while True: time.sleep(60)
    while True: time.sleep(60)
"""

ORPHAN = """
    import os, sys, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            print(os.getpid(), flush=True)
            while True: time.sleep(60)
        os._exit(0)
    os.wait()
    time.sleep(0 if "quit" in sys.argv else 60)
"""


async def test_deaf_child_and_its_grandchild_in_another_session_both_die(tmp_path: Path) -> None:
    child = start(tmp_path, GRANDCHILD)
    grandchild = identity(int(await line_of(child)))
    death = await child.end(QUICK)
    child.close()
    assert death.status == ExitStatus(exit_code=None, signal=signal.SIGKILL)
    assert (death.survivors_killed, death.proven) == (1, True)
    assert not is_alive(grandchild)


async def test_orphan_in_a_session_of_its_own_dies(tmp_path: Path) -> None:
    child = start(tmp_path, ORPHAN)
    orphan = identity(int(await line_of(child)))
    death = await child.end(QUICK)
    child.close()
    assert (death.survivors_killed, death.proven) == (1, True)
    assert not is_alive(orphan)


async def test_orphan_without_the_marker_dies_when_it_stayed_in_the_session_of_its_agent(tmp_path: Path) -> None:
    child = start(tmp_path, ORPHAN.replace("os.setsid()", "pass"), clean=True)
    orphan = identity(int(await line_of(child)))
    death = await child.end(QUICK)
    child.close()
    assert (death.survivors_killed, death.proven) == (1, True)
    assert not is_alive(orphan)


async def test_orphan_without_the_marker_dies_when_it_was_seen_in_time(tmp_path: Path) -> None:
    program = """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.setsid()
                print(os.getpid(), os.getppid(), flush=True)
            while True: time.sleep(60)
        while True: time.sleep(60)
    """
    child = start(tmp_path, program, clean=True)
    orphan, parent = (identity(int(word)) for word in (await line_of(child)).split())
    await child.look()
    assert send(parent, signal.SIGKILL)
    wait_dead(parent)
    death = await child.end(QUICK)
    child.close()
    assert (death.survivors_killed, death.proven) == (1, True)
    assert not is_alive(orphan)


async def test_orphan_of_a_child_that_has_already_ended_dies(tmp_path: Path) -> None:
    child = start(tmp_path, ORPHAN.replace('if "quit" in sys.argv else 60', ""))
    orphan = identity(int(await line_of(child)))
    with anyio.fail_after(BOUND_SECONDS):
        assert await child.wait() == ExitStatus(exit_code=0, signal=None)
    assert is_alive(orphan)
    death = await child.end(QUICK)
    child.close()
    assert (death.survivors_killed, death.proven) == (1, True)
    assert not is_alive(orphan)


async def test_swept_orphan_leaves_no_zombie_with_us(tmp_path: Path) -> None:
    child = start(tmp_path, ORPHAN)
    orphan = int(await line_of(child))
    await child.end(QUICK)
    child.close()
    row = row_of(orphan)
    assert row is None or row.parent != os.getpid()


async def test_process_of_another_session_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = start(tmp_path / "a", ORPHAN)
    other = start(tmp_path / "b", ORPHAN)
    await line_of(one)
    orphan = identity(int(await line_of(other)))
    death = await one.end(QUICK)
    assert death.survivors_killed == 1
    assert is_alive(orphan)
    assert other.status is None
    await other.end(QUICK)
    for child in (one, other):
        child.close()
    assert not is_alive(orphan)


async def test_child_that_hears_the_interrupt_may_end_by_itself(tmp_path: Path) -> None:
    program = """
        import signal, sys, time
        def bye(*_):
            print("saved", flush=True)
            sys.exit(7)
        signal.signal(signal.SIGINT, bye)
        print("ready", flush=True)
        while True: time.sleep(60)
    """
    child = start(tmp_path, program)
    await line_of(child)
    death = await child.end(StopLadder(interrupt_seconds=BOUND_SECONDS))
    assert await line_of(child) == "saved"
    child.close()
    assert (death.status, death.survivors_killed) == (ExitStatus(exit_code=7, signal=None), 0)


async def test_cancelled_caller_still_leaves_nobody_alive(tmp_path: Path) -> None:
    child = start(tmp_path, GRANDCHILD)
    grandchild = identity(int(await line_of(child)))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await child.end(QUICK)
    child.close()
    assert not is_alive(grandchild)


async def test_written_processes_are_gone_once_death_is_proven(tmp_path: Path) -> None:
    child = start(tmp_path, GRANDCHILD)
    grandchild = int(await line_of(child))
    await child.look()
    written = json.loads((tmp_path / NAME).read_text())
    assert {process["pid"] for process in written["processes"]} == {child.popen.pid, grandchild}
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    await child.end(QUICK)
    child.close()
    assert not (tmp_path / NAME).exists()


async def test_look_that_comes_after_the_end_does_not_bring_the_file_back(tmp_path: Path) -> None:
    child = start(tmp_path, GRANDCHILD)
    await line_of(child)
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(child.look)
        await child.end(QUICK)
        for _ in range(20):
            group.start_soon(child.look)
    child.close()
    assert not (tmp_path / NAME).exists()


async def test_what_was_written_before_the_end_is_read_though_a_stranger_holds_the_pipe(tmp_path: Path) -> None:
    program = """
        import time
        print("last words", flush=True)
        while True: time.sleep(60)
    """
    child = start(tmp_path, program)
    stranger = os.open(f"/proc/{child.popen.pid}/fd/1", os.O_WRONLY)
    with anyio.fail_after(BOUND_SECONDS):
        await anyio.wait_readable(child.stdout.stream.fileno())
    await child.end(QUICK)
    assert await line_of(child) == "last words"
    assert await child.stdout.receive() == b""
    child.close()
    os.close(stranger)


async def test_child_sees_default_signals_empty_stdin_and_only_the_given_environment(tmp_path: Path) -> None:
    program = """
        import os, signal, sys
        ignored = signal.getsignal(signal.SIGPIPE)
        status = open("/proc/self/status").read()
        mask = int([line for line in status.splitlines() if line.startswith("SigIgn")][0].split()[1], 16)
        names = sorted(set(os.environ) - {"LC_CTYPE"})
        print(sys.stdin.read() == "", names, os.getsid(0) == os.getpid(), flush=True)
    """
    child = start(tmp_path, program)
    assert await line_of(child) == "True ['LANG', 'PATH', 'WORKLOOP_SESSION'] True"
    await child.end(QUICK)
    child.close()


async def test_program_is_run_with_broken_pipes_deadly(tmp_path: Path) -> None:
    argv = ("grep", "SigIgn", "/proc/self/status")
    launch = Launch(argv=argv, env={"PATH": os.environ["PATH"]}, cwd=tmp_path)
    child = spawn(launch, session_dir=tmp_path, session_id=str(uuid.uuid4()))
    ignored = int((await line_of(child)).split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))
    await child.end(QUICK)
    child.close()


async def test_missing_program_is_a_typed_fault(tmp_path: Path) -> None:
    with pytest.raises(Fault) as caught:
        spawn(Launch(argv=("no-such-program",), env={}, cwd=tmp_path), session_dir=tmp_path, session_id="never-started")
    assert caught.value.code == "HARNESS_MISSING"
    assert not (tmp_path / NAME).exists()


PARENT = """
import os, sys, time, uuid
from pathlib import Path
sys.path[:0] = {path!r}
from workloop.runner.harness.port import Launch
from workloop.runner.process import spawn
import anyio
folder = Path({folder!r})
async def main():
    argv = (sys.executable, "-I", "-S", "-c", {program!r})
    launch = Launch(argv=argv, env={{"PATH": os.environ["PATH"]}}, cwd=folder)
    child = spawn(launch, session_dir=folder, session_id=str(uuid.uuid4()))
    told = await child.stdout.receive()
    if {looks!r}:
        await child.look()
    print(child.popen.pid, told.decode().strip(), flush=True)
    await anyio.sleep_forever()
anyio.run(main)
"""


def dead_loop(folder: Path, program: str, *, looks: bool) -> tuple[Identity, Identity]:
    """Kill a process that had started a child and return the child and grandchild as they were."""
    text = PARENT.format(path=sys.path, folder=str(folder), program=textwrap.dedent(program), looks=looks)
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child, grandchild = (identity(int(word)) for word in parent.stdout.readline().split())
        assert is_alive(child)
        parent.kill()
    return child, grandchild


def test_child_dies_with_a_loop_that_was_killed(tmp_path: Path) -> None:
    child, grandchild = dead_loop(tmp_path, GRANDCHILD, looks=False)
    wait_dead(child)
    end_leftovers(tmp_path)
    assert not is_alive(grandchild)


@pytest.mark.parametrize("looks", [False, True], ids=["found by marker", "found by number"])
def test_next_loop_ends_what_a_killed_loop_left(tmp_path: Path, looks: bool) -> None:
    child, grandchild = dead_loop(tmp_path, GRANDCHILD, looks=looks)
    wait_dead(child)
    assert is_alive(grandchild)
    left = end_leftovers(tmp_path)
    assert [(one.pid, one.dead) for one in left] == [(grandchild.pid, True)]
    assert not is_alive(grandchild)
    assert end_leftovers(tmp_path) == []


def test_number_that_now_belongs_to_another_process_is_not_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        real = identity(other.pid)
        child, grandchild = dead_loop(tmp_path, GRANDCHILD, looks=True)
        record = json.loads((tmp_path / NAME).read_text())
        record["processes"].append({"pid": real.pid, "started": real.started - 1})
        (tmp_path / NAME).write_text(json.dumps(record))
        end_leftovers(tmp_path)
        assert is_alive(real)
        assert not is_alive(grandchild)
        wait_dead(child)


def test_file_of_an_earlier_boot_kills_nobody(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        real = identity(other.pid)
        process = {"pid": real.pid, "started": real.started}
        record = {"boot": "another", "marker": "m", "processes": [process]}
        (tmp_path / NAME).write_text(json.dumps(record))
        assert end_leftovers(tmp_path) == []
        assert is_alive(real)


def test_signal_is_not_sent_to_a_process_that_took_the_number() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        real = identity(other.pid)
        assert not send(Identity(pid=real.pid, started=real.started - 1), signal.SIGKILL)
        assert is_alive(real)
