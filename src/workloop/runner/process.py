"""How a long-running child is started, drained, and ended with everything it started itself."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import anyio
import anyio.lowlevel

from workloop.domain.errors import Fault
from workloop.runner import exec_shim
from workloop.runner.family import MARKER, Family
from workloop.runner.pidfile import PidFile
from workloop.runner.processtable import Identity, row_of, send

CHUNK_BYTES = 65_536
POLL_SECONDS = 0.05
REST_BYTES_MAX = 8 * 1024 * 1024
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
    """A running child in a Unix session of its own, with both output streams to be drained."""

    def __init__(self, popen: subprocess.Popen[bytes], family: Family, pid_file: PidFile) -> None:
        self.popen = popen
        self.family = family
        self.pid_file = pid_file
        self.proven_dead = False
        self.stdout, self.stderr = (pipe_of(stream) for stream in (popen.stdout, popen.stderr))

    @property
    def status(self) -> ExitStatus | None:
        """Return how the child itself ended, or None while it lives."""
        code = self.popen.poll()
        if code is None:
            return None
        return ExitStatus(exit_code=None, signal=-code) if code < 0 else ExitStatus(exit_code=code, signal=None)

    async def wait(self) -> ExitStatus:
        """Wait for the child itself, whoever still holds its pipes."""
        while (status := self.status) is None:
            if hasattr(os, "pidfd_open"):
                await wait_for_exit(self.popen.pid)
            else:
                await anyio.sleep(POLL_SECONDS)
        return status

    async def look(self) -> None:
        """Remember the descendants that are there now, also on disk for the next loop."""
        await anyio.to_thread.run_sync(self.family.tidy)
        if not self.proven_dead:  # a look that began before the end must not bring the file back
            self.pid_file.write(self.family.known.values())

    async def end(self, ladder: StopLadder) -> Death:
        """End the child and all it started, and prove it; not to be interrupted by anybody."""
        killed: set[Identity] | None = None
        with anyio.CancelScope(shield=True):
            await self.look()
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
        for number, seconds in (
            (signal.SIGINT, ladder.interrupt_seconds),
            (signal.SIGTERM, ladder.terminate_seconds),
        ):
            send(leader, number)
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
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()


def pipe_of(stream: IO[bytes] | None) -> "Pipe":
    """Return a stream of a child, made fit for waiting."""
    if stream is None:
        raise AssertionError("the child was started without its pipes")
    os.set_blocking(stream.fileno(), False)
    return Pipe(stream.fileno())


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


class Pipe:
    """One of a child's streams, read to its end, or to what is in it once everybody who could write is dead."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.rest: int | None = None
        self.waiting: anyio.CancelScope | None = None

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end."""
        while self.rest is None or self.rest > 0:
            await self.wait()
            try:
                data = os.read(self.descriptor, CHUNK_BYTES)
            except BlockingIOError:
                if self.rest is None:
                    continue
                break
            self.rest = None if self.rest is None else self.rest - len(data)
            return data
        return b""

    async def wait(self) -> None:
        """Wait for bytes, unless nobody is left to write any."""
        if self.rest is not None:
            await anyio.lowlevel.checkpoint()
            return
        with anyio.CancelScope() as self.waiting:
            await anyio.wait_readable(self.descriptor)
        self.waiting = None

    def writers_are_dead(self) -> None:
        """Read what is there and then take it for the end, even if a stranger still holds the pipe."""
        self.rest = REST_BYTES_MAX
        if self.waiting is not None:
            self.waiting.cancel()


def spawn(argv: tuple[str, ...], *, env: Mapping[str, str], cwd: Path, session_dir: Path, session_id: str) -> Child:
    """Start a child of the calling thread, which must be the main one: the child dies with it."""
    become_subreaper()
    executable = shutil.which(argv[0], path=env.get("PATH"))
    if executable is None:
        raise Fault("HARNESS_MISSING", f"no executable: {argv[0]}", hint="install it or correct its path")
    pid_file = PidFile(session_dir, session_id)
    pid_file.write(())
    shim = (sys.executable, "-I", "-S", str(Path(exec_shim.__file__)), str(os.getpid()))
    try:
        popen = subprocess.Popen(
            (*shim, executable, *argv[1:]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env={**env, MARKER: session_id},
            start_new_session=True,
        )
    except OSError as error:
        pid_file.remove()
        raise Fault("SPAWN_FAILED", f"could not start {argv[0]}: {error}", hint="see the system's limits") from error
    row = row_of(popen.pid)
    family = Family(session_id, [row.identity] if row else (), leader=popen.pid)
    pid_file.write(family.known.values())
    return Child(popen, family, pid_file)


@cache
def become_subreaper() -> bool:
    """Have orphaned descendants handed to this process instead of to init; says whether the kernel agreed."""
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
