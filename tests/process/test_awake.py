"""A machine is kept awake while a loop runs, no longer, and it is said when that cannot be."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workloop.runner.awake import awake_command, keep_awake, read_clocks
from workloop.testing.clocks import FakeClock

WAIT_SECONDS = 90.0


def helper_at(folder: Path, body: str) -> dict[str, str]:
    """Write a program in the place of the one that holds a machine awake; returns an environment that finds it."""
    program = folder / "systemd-inhibit"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def gone(pid: int) -> bool:
    """Wait until a process has ended."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_the_machine_is_held_inside_the_block_and_let_go_after_it(tmp_path: Path) -> None:
    """What was asked for ends with who asked."""
    environment = helper_at(tmp_path, f'echo $$ > {tmp_path}/pid; shift 3; exec "$@"')
    with keep_awake(environment, "linux") as awake:
        assert awake.held
        assert "systemd-inhibit" in awake.detail
        pid = int((tmp_path / "pid").read_text())
        assert Path(f"/proc/{pid}").exists()
    assert gone(pid)


def test_a_loop_that_is_killed_lets_the_machine_go(tmp_path: Path) -> None:
    """Nobody is left to clean up."""
    environment = helper_at(tmp_path, f'echo $$ > {tmp_path}/pid; shift 3; exec "$@"')
    program = (
        "import os, sys, time; from workloop.runner.awake import keep_awake\n"
        "with keep_awake(dict(os.environ), 'linux') as awake:\n"
        "    print(awake.held, flush=True)\n"
        "    sys.stdin.read()"
    )
    loop = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert loop.stdout is not None
    assert loop.stdin is not None
    assert loop.stdout.readline() == b"True\n"
    pid = int((tmp_path / "pid").read_text())
    loop.send_signal(signal.SIGKILL)
    loop.wait()
    loop.stdin.close()
    loop.stdout.close()
    assert gone(pid)


@pytest.mark.parametrize("body", ["exit 1", "echo no", "echo 'Access denied' >&2; exit 4"])
def test_a_machine_that_refuses_to_be_held_is_said(tmp_path: Path, body: str) -> None:
    """A claim to be awake must be true."""
    with keep_awake(helper_at(tmp_path, body), "linux") as awake:
        assert not awake.held
        assert "refused" in awake.detail


def test_a_machine_without_any_such_program_is_said(tmp_path: Path) -> None:
    """The loop runs all the same."""
    with keep_awake({"PATH": str(tmp_path)}, "linux") as awake:
        assert not awake.held
    assert awake_command({"PATH": str(tmp_path)}, "sunos") == ()
    (tmp_path / "caffeinate").write_text("#!/bin/sh\n")
    (tmp_path / "caffeinate").chmod(0o755)
    assert awake_command({"PATH": str(tmp_path)}, "darwin")[:2] == (str(tmp_path / "caffeinate"), "-i")


def test_the_machine_s_clocks_are_read_together() -> None:
    """The wall clock is the one that was passed in."""
    clock = FakeClock()
    first, second = read_clocks(clock), read_clocks(clock)
    assert first.wall == second.wall == clock.now()
    assert second.monotonic_us >= first.monotonic_us
