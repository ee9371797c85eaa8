"""How a long-running child is started, drained, and ended with everything it started itself."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import anyio

from workloop.domain.errors import Fault
from workloop.runner import exec_shim
from workloop.runner.family import MARKER, Family
from workloop.runner.harness.port import Launch
from workloop.runner.pidfile import PidFile
from workloop.runner.pipes import IncomingPipe, OutgoingPipe
from workloop.runner.processtable import Identity, row_of, send
from workloop.runner.sandbox.inside import leader_inside, plain_code

POLL_SECONDS = 0.05
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLadder:
    """How long each rung may take before the next; the first gives an agent time to commit."""

    interrupt_seconds: float = 15.0
    terminate_seconds: float = 5.0
    kill_seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """How a child ended: an exit code or a signal, never both."""

    exit_code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """What ending a child took, and whether the death of all is proven."""

    status: ExitStatus | None
    survivors_killed: int
    proven: bool


class Child:
    """A running child in a Unix session of its own, with both output streams to be drained, and input if it listens.

    When walled, the child itself is what builds the walls, and the one to be asked to end is the leader inside.
    """

    def __init__(
        self, popen: subprocess.Popen[bytes], family: Family, pid_file: PidFile, *, walled: bool = False
    ) -> None:
        self.popen = popen
        self.walled = walled
        self.family = family
        self.pid_file = pid_file
        self.proven_dead = False
        self.stdout = IncomingPipe(present(popen.stdout))
        self.stderr = IncomingPipe(present(popen.stderr))
        self.stdin = None if popen.stdin is None else OutgoingPipe(popen.stdin)

    @property
    def status(self) -> ExitStatus | None:
        """Return how the child itself ended, or None while it lives."""
        code = self.popen.poll()
        if code is None:
            return None
        if self.walled:
            code = plain_code(code)
        return ExitStatus(exit_code=None, signal=-code) if code < 0 else ExitStatus(exit_code=code, signal=None)

    async def wait(self) -> ExitStatus:
        """Wait for the child itself, whoever still holds its pipes."""
        while (status := self.status) is None:
            if hasattr(os, "pidfd_open"):
                await wait_for_exit(self.popen.pid)
            else:
                await anyio.sleep(POLL_SECONDS)
        return status

    async def look(self, since: float | None = None) -> float:
        """Remember the descendants that are there now, also on disk for the next loop; returns what they worked.

        That is the processor seconds of all that the child started, not its own. With `since`, what anybody saw at that
        monotonic moment or later will do.
        """

        def looked() -> int:
            ticks = self.family.tidy(since)
            self.pid_file.write(self.family.living)
            return ticks

        return await anyio.to_thread.run_sync(looked) / TICKS_A_SECOND

    async def end(self, ladder: StopLadder) -> Death:
        """End the child and all it started, and prove it; not to be interrupted by anybody."""
        killed: set[Identity] | None = None
        with anyio.CancelScope(shield=True):
            await self.look()
            if self.stdin is not None:
                self.stdin.close()
            if self.status is None:
                await self.climb(ladder)
            killed = await self.sweep(ladder.kill_seconds)
        self.proven_dead = killed is not None and self.status is not None
        if self.proven_dead:
            self.pid_file.remove()
        for pipe in (self.stdout, self.stderr):
            pipe.writers_are_dead()
        return Death(status=self.status, survivors_killed=len(killed or ()), proven=self.proven_dead)

    async def climb(self, ladder: StopLadder) -> None:
        """Ask the child to end, first kindly, until it has or the rungs are used up."""
        leader = self.family.known.get(self.popen.pid)
        if leader is None:
            return
        asked = leader_inside(self.popen.pid) or leader if self.walled else leader
        for number, seconds in (
            (signal.SIGINT, ladder.interrupt_seconds),
            (signal.SIGTERM, ladder.terminate_seconds),
        ):
            send(asked, number)
            with anyio.move_on_after(seconds):
                await self.wait()
                return
        send(leader, signal.SIGKILL)
        with anyio.move_on_after(ladder.kill_seconds):
            await self.wait()

    async def sweep(self, seconds: float) -> set[Identity] | None:
        """Kill what is left until nothing is; None when something would not die in time."""
        killed: set[Identity] = set()
        with anyio.move_on_after(seconds):
            while True:
                now, left = await anyio.to_thread.run_sync(self.family.kill_all)
                killed |= {identity for identity in now if identity.pid != self.popen.pid}
                if not left:
                    return killed
                await anyio.sleep(POLL_SECONDS)
        return None

    def close(self) -> None:
        """Give up the child's pipes."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()


def present(stream: IO[bytes] | None) -> IO[bytes]:
    """Return a stream of a child that was started with it."""
    if stream is None:
        raise AssertionError("the child was started without its pipes")
    return stream


async def wait_for_exit(pid: int) -> None:
    """Wait until a process has ended, without taking its status."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


def no_program(name: str) -> Fault:
    """Return the fault that an agent is not installed."""
    return Fault("HARNESS_MISSING", f"no executable: {name}", hint="install it or correct its path")


def spawn(launch: Launch, *, session_dir: Path, session_id: str) -> Child:
    """Start a child of the calling thread, which must be the main one: the child dies with it."""
    become_subreaper()
    argv = launch.argv
    executable = shutil.which(argv[0], path=launch.env.get("PATH"))
    if executable is None:
        raise no_program(argv[0])
    pid_file = PidFile(session_dir, session_id)
    pid_file.write(())
    shim = (sys.executable, "-I", "-S", str(Path(exec_shim.__file__)), str(os.getpid()))
    try:
        popen = subprocess.Popen(
            (*shim, executable, *argv[1:]),
            stdin=subprocess.PIPE if launch.interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=launch.cwd,
            env={**launch.env, MARKER: session_id},
            start_new_session=True,
        )
    except OSError as error:
        pid_file.remove()
        raise Fault("SPAWN_FAILED", f"could not start {argv[0]}: {error}", hint="see the system's limits") from error
    row = row_of(popen.pid)
    family = Family(session_id, [row.identity] if row else (), leader=popen.pid)
    pid_file.write(family.living)
    return Child(popen, family, pid_file, walled=launch.walled)


@cache
def become_subreaper() -> bool:
    """Have orphaned descendants handed to this process instead of to init; says whether the kernel agreed."""
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
