"""A session behind walls: asked to end, ended, proven dead, and able to speak through its doors."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import uuid
from pathlib import Path
from typing import Any

import anyio
import pytest
from session_bench import PATIENT, Bench, wait_for
from walls import NEEDS_WALLS

from workloop.domain.errors import Fault
from workloop.domain.session import SessionClass, SessionReport
from workloop.runner.harness.command import CommandConfig, CommandHarness
from workloop.runner.pidfile import NAME, end_leftovers
from workloop.runner.processtable import snapshot, variable_of
from workloop.runner.sandbox.enclosure import Network, Rooms, find_enclosure

pytestmark = [pytest.mark.anyio, NEEDS_WALLS]
SECONDS = f"7770.{os.getpid()}"  # no other test of this machine sleeps as long
SLEEP = f"sleep {SECONDS}"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def rooms_of(bench: Bench) -> Rooms:
    return Rooms(writable=(bench.cwd,), readable=(Path(sys.base_prefix), bench.session_dir))


def walled(bench: Bench, network: Network = Network.OPEN, **rooms: Any) -> dict[str, Any]:
    return {"enclosure": find_enclosure("bwrap", network), "rooms": rooms_of(bench) | Rooms(**rooms)}


def family(bench: Bench) -> list[int]:
    return [pid for pid in snapshot() if variable_of(pid, "WORKLOOP_SESSION") == bench.session_id]


def command_lines() -> list[str]:
    found = [subprocess.run(("ps", "-eo", "args"), capture_output=True, text=True, check=True).stdout]
    return found[0].splitlines()


async def stopped(bench: Bench, program: str, sign: str, **settings: Any) -> SessionReport:
    """Run a program, ask it to end once its sign is there, and return the report."""
    reports: list[SessionReport] = []
    async with anyio.create_task_group() as group:

        async def run() -> None:
            reports.append(await bench.run(bench.python(program), **(walled(bench) | settings)))

        group.start_soon(run)
        await wait_for(bench.cwd / sign)
        bench.stop.request("test")
    return reports[0]


async def test_an_agent_that_ends_well_reads_as_without_walls(bench: Bench) -> None:
    report = await bench.run(bench.python("print('hello'); print('the end')"), **walled(bench))

    assert (report.session_class, report.exit_code, report.signal) == (SessionClass.CLEAN, 0, None)
    assert (report.final_text, report.survivors_killed, report.death_proven) == ("hello\nthe end", 0, True)
    assert not (bench.session_dir / NAME).exists()


async def test_an_agent_that_is_killed_reads_as_killed(bench: Bench) -> None:
    report = await bench.run(bench.python("import os; os.kill(os.getpid(), 9)"), **walled(bench))

    assert (report.session_class, report.exit_code, report.signal) == (SessionClass.CRASHED, None, signal.SIGKILL)
    assert report.death_proven


async def test_the_agent_itself_is_asked_to_end_and_has_time_to_commit(bench: Bench) -> None:
    """A signal to what builds the walls would end the agent at once."""
    program = """
        import signal, sys, time
        def commit(*_):
            open("committed", "w").write("the work")
            print("saved", flush=True)
            sys.exit(0)
        signal.signal(signal.SIGINT, commit)
        open("up", "w").close()
        while True: time.sleep(60)
    """

    report = await stopped(bench, program, "up")

    assert (report.session_class, report.exit_code) == (SessionClass.STOPPED, 0)
    assert report.final_text == "saved"
    assert (bench.cwd / "committed").read_text() == "the work"


async def test_a_deaf_agent_dies_with_everything_it_hid(bench: Bench) -> None:
    program = f"""
        import os, signal, subprocess, time
        for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)
        subprocess.Popen(["setsid", "-f", "env", "-i", "sleep", "{SECONDS}"])
        open("up", "w").close()
        while True: time.sleep(60)
    """

    report = await stopped(bench, program, "up")

    assert (report.session_class, report.signal, report.death_proven) == (SessionClass.STOPPED, signal.SIGKILL, True)
    assert family(bench) == []
    assert SLEEP not in command_lines()


async def test_what_an_agent_leaves_behind_ends_with_it_and_holds_no_pipe(bench: Bench) -> None:
    program = f"""
        import subprocess
        subprocess.Popen(["setsid", "-f", "env", "-i", "sleep", "{SECONDS}"])
        print("done")
    """

    report = await bench.run(bench.python(program), **walled(bench))

    assert (report.session_class, report.survivors_killed, report.output_lost) == (SessionClass.CLEAN, 0, False)
    assert SLEEP not in command_lines()


async def test_a_session_speaks_through_its_door_and_through_no_other(bench: Bench) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(bench.folder / "door"))
    listener.listen()
    outside = socket.create_server(("127.0.0.1", 0))
    program = f"""
        import os, socket
        with socket.create_connection(("127.0.0.1", 8123)) as door:
            door.sendall(b"x" * 3_000_000)
            door.shutdown(socket.SHUT_WR)
            print(door.makefile().read())
        for place in (("127.0.0.1", {outside.getsockname()[1]}), ("192.0.2.1", 80)):
            try:
                socket.create_connection(place, 5)
            except OSError as refused:
                print(refused)
        try:
            os.wait()
        except ChildProcessError:
            print("no stranger among my children")
    """

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            size = 0
            while piece := connection.recv(65_536):
                size += len(piece)
            connection.sendall(f"heard {size}".encode())

    server = threading.Thread(target=serve)
    server.start()
    with outside, listener:
        doors = walled(bench, Network.LOOPBACK, ports={8123: bench.folder / "door"})
        report = await bench.run(bench.python(program), **doors)
        server.join(20)

    assert report.final_text.splitlines() == [
        "heard 3000000",
        "[Errno 111] Connection refused",
        "[Errno 101] Network is unreachable",
        "no stranger among my children",
    ]
    assert (report.session_class, report.survivors_killed) == (SessionClass.CLEAN, 0)


async def test_the_agent_behind_doors_is_the_one_that_is_asked_to_end(bench: Bench) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(bench.folder / "door"))
        program = """
            import signal, sys, time
            signal.signal(signal.SIGINT, lambda *_: (print("asked", flush=True), sys.exit(0)))
            open("up", "w").close()
            while True: time.sleep(60)
        """
        report = await stopped(
            bench, program, "up", **walled(bench, Network.LOOPBACK, ports={8123: bench.folder / "door"})
        )

    assert (report.final_text, report.exit_code) == ("asked", 0)


async def test_without_a_network_nothing_listens_at_all(bench: Bench) -> None:
    program = "import socket\ntry: socket.create_connection(('127.0.0.1', 8123), 5)\nexcept OSError as no: print(no)"

    report = await bench.run(bench.python(program), **walled(bench, Network.NONE, ports={8123: bench.folder}))

    assert report.final_text == "[Errno 111] Connection refused"


async def test_an_agent_that_is_not_installed_is_told_as_without_walls(bench: Bench) -> None:
    missing = CommandHarness(CommandConfig(argv=(str(bench.folder / "no-agent"),)))

    with pytest.raises(Fault, match="HARNESS_MISSING"):
        await bench.run(missing, **walled(bench))


async def test_many_lines_pass_and_none_is_lost(bench: Bench) -> None:
    report = await bench.run(bench.python("for n in range(20000): print(n)"), **walled(bench), limits=PATIENT)

    assert report.event_counts["text"] == 20_000
    assert not report.output_lost


DEAD_LOOP = """
import os, select
from pathlib import Path
from workloop.runner.harness.port import Launch
from workloop.runner.process import spawn
from workloop.runner.sandbox.enclosure import Network, Rooms, find_enclosure
folder = Path({folder!r})
walls = find_enclosure("bwrap", Network.OPEN)
argv = ("sh", "-c", "setsid -f {sleep}; echo up; exec {sleep}")
inside = walls.enclose(argv, dict(os.environ), folder, Rooms())
launch = Launch(argv=inside.argv, env=inside.env, cwd=folder, walled=True)
child = spawn(launch, session_dir=folder, session_id={session!r})
select.select([child.popen.stdout], [], [])
print("up", flush=True)
input()
"""


def test_a_session_dies_with_a_loop_that_was_killed_and_the_next_one_proves_it(tmp_path: Path) -> None:
    program = textwrap.dedent(DEAD_LOOP.format(folder=str(tmp_path), sleep=SLEEP, session=str(uuid.uuid4())))
    argv = (sys.executable, "-c", program)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)) as loop:
        assert loop.stdout is not None
        assert loop.stdout.readline() == b"up\n"
        assert any(SLEEP in line for line in command_lines())
        loop.kill()

    left = end_leftovers(tmp_path)

    assert all(one.dead for one in left)
    assert not [line for line in command_lines() if line == SLEEP]
    assert not (tmp_path / NAME).exists()
