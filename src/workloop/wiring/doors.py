"""How a session without a network still reaches a few ports of this machine: each by a Unix socket of the loop's."""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteReceiveStream, ByteStream, SocketStream, TaskGroup

from workloop.config.sandbox import PORT_MAX
from workloop.domain.errors import Fault

HOST = "127.0.0.1"
PATH_BYTES_MAX = 100  # the kernel takes no longer path for a socket
CHUNK_BYTES = 65_536
PRIVATE = 0o600


class Doors:
    """The sockets of one loop, in a private folder that is gone when the loop ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def socket(self, port: int) -> Path:
        """Return the path of a port's socket, open or not."""
        return self.folder / f"{port}.sock"

    async def open(self, port: int, tasks: TaskGroup) -> None:
        """Carry what comes in by a port's socket to that port, until the tasks are cancelled."""
        listener = await anyio.create_unix_listener(self.socket(port), mode=PRIVATE)

        async def carry(inner: SocketStream) -> None:
            """Carry one connection both ways; when nobody listens out there it is closed, as it would be anyway."""
            async with inner:
                try:
                    outer = await anyio.connect_tcp(HOST, port)
                except OSError:
                    return
                async with outer, anyio.create_task_group() as ways:
                    ways.start_soon(pour, inner, outer)
                    ways.start_soon(pour, outer, inner)

        tasks.start_soon(listener.serve, carry)


def port_of(url: str) -> int:
    """Return the port of an address of this machine."""
    port = urlsplit(url).port
    assert port is not None
    return port


async def pour(source: ByteReceiveStream, sink: ByteStream) -> None:
    """Carry all bytes one way, then say that there are no more; a side that broke ends its way."""
    try:
        while True:
            try:
                data = await source.receive(CHUNK_BYTES)
            except anyio.EndOfStream:
                await sink.send_eof()
                return
            await sink.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await sink.aclose()


@contextmanager
def private_doors() -> Generator[Doors]:
    """Make the folder of a loop's sockets, and take it away at the end."""
    folder = Path(tempfile.mkdtemp(prefix="workloop-"))
    try:
        doors = Doors(folder)
        if len(os.fsencode(doors.socket(PORT_MAX))) > PATH_BYTES_MAX:
            raise Fault("PATH_TOO_LONG", f"no socket can be made in {folder}", hint="set TMPDIR to a shorter path")
        yield doors
    finally:
        shutil.rmtree(folder, ignore_errors=True)
