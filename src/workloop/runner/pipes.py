"""How bytes pass through a child's pipes without the loop ever waiting for a child that does not move."""

import os
from typing import IO

import anyio
import anyio.lowlevel

CHUNK_BYTES = 65_536
REST_BYTES_MAX = 8 * 1024 * 1024
OUTGOING_BYTES_MAX = 16 * 1024 * 1024


class IncomingPipe:
    """One of a child's streams, read to its end, or to what is in it once everybody who could write is dead."""

    def __init__(self, stream: IO[bytes]) -> None:
        os.set_blocking(stream.fileno(), False)
        self.stream = stream
        self.rest: int | None = None
        self.waiting: anyio.CancelScope | None = None

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end."""
        while self.rest is None or self.rest > 0:
            await self.wait()
            try:
                data = os.read(self.stream.fileno(), CHUNK_BYTES)
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
            await anyio.wait_readable(self.stream.fileno())
        self.waiting = None

    def writers_are_dead(self) -> None:
        """Read what is there and then take it for the end, even if a stranger still holds the pipe."""
        self.rest = REST_BYTES_MAX
        if self.waiting is not None:
            self.waiting.cancel()

    def close(self) -> None:
        """Give the pipe up."""
        self.stream.close()


class OutgoingPipe:
    """A child's standard input: what it is told waits here, within bounds, until the child reads it."""

    def __init__(self, stream: IO[bytes], bytes_max: int = OUTGOING_BYTES_MAX) -> None:
        os.set_blocking(stream.fileno(), False)
        self.stream = stream
        self.bytes_max = bytes_max
        self.pending = bytearray()
        self.ending = False
        self.changed = anyio.Event()
        self.waiting = False

    def put(self, data: bytes) -> bool:
        """Take bytes for the child and never wait; says whether they had room. After the end they are dropped."""
        if self.ending or self.stream.closed:
            return True
        if len(self.pending) + len(data) > self.bytes_max:
            return False
        self.pending += data
        self.changed.set()
        return True

    def finish(self) -> None:
        """End the child's input once it has read what is still for it."""
        self.ending = True
        self.changed.set()

    def close(self) -> None:
        """End the child's input, whatever it has not read."""
        self.pending.clear()
        self.finish()
        if not self.waiting:  # else the pipe is full: the child sees no end before it reads, and then the pump closes
            self.stream.close()

    async def pump(self) -> None:
        """Write whenever the child reads, until its input has ended."""
        while not self.stream.closed:
            if self.pending:
                await self.wait()
                self.write()
            elif self.ending:
                self.stream.close()
            else:
                await self.changed.wait()
                self.changed = anyio.Event()

    async def wait(self) -> None:
        """Wait until the child can take bytes."""
        self.waiting = True
        try:
            await anyio.wait_writable(self.stream.fileno())
        finally:
            self.waiting = False

    def write(self) -> None:
        """Write what fits now; a child that has closed its input is told nothing more, and that is its own affair."""
        try:
            del self.pending[: os.write(self.stream.fileno(), self.pending[:CHUNK_BYTES])]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.close()
