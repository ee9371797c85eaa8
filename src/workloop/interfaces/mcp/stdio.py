"""How the tool is served over a child's standard streams: quick to start, and gone as soon as its client is."""

import os
import select
import signal
import sys
from typing import TYPE_CHECKING

from workloop.interfaces.mcp.protocol import INVALID_REQUEST, Binding, Peer, RpcError, failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from workloop.client import Client

LINE_BYTES_MAX = 4 * 1024 * 1024
READ_BYTES = 65536
WRITE_BYTES = select.PIPE_BUF
LOOK_MILLISECONDS = 1000
HINT = "workloop mcp: no claim is bound (WORKLOOP_URL or WORKLOOP_TOKEN), so a worker has no tools\n"


class ClientGone(Exception):
    """Nobody is there to talk to any more, or somebody asked for an end."""


def serve_stdio(make_client: "Callable[[], Client]", profile: str) -> None:
    """Serve until the input ends, the parent dies or a signal asks for an end; standard output carries answers only."""
    binding = binding_of(profile)
    if not binding.bound:
        sys.stderr.write(HINT)
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    pipes = Pipes(sys.stdin.fileno(), answers)
    peer = Peer(make_client, binding)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pipes.stop)
    try:
        while True:
            line = pipes.read_line()
            answer = too_long() if line is None else peer.answer(line) if line.strip() else None
            if answer is not None:
                pipes.write(answer)
    except ClientGone:
        return


def binding_of(profile: str) -> Binding:
    """Return what the environment binds: a worker's claim, by a running loop or by its own token."""
    if profile != "worker":
        return Binding(profile)
    token = os.environ.get("WORKLOOP_TOKEN", "")
    return Binding(profile, token, bound=bool(token or os.environ.get("WORKLOOP_URL")))


def too_long() -> bytes:
    """Answer a line that was too long to keep."""
    return failure(None, RpcError(INVALID_REQUEST, f"a line is longer than {LINE_BYTES_MAX} bytes"))


class Pipes:
    """Lines in and answers out, with a look at the parent while waiting; no call is ever cut by a signal."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.parent = os.getppid()
        self.buffer = bytearray()
        self.searched = 0
        self.idle = False
        self.stopping = False

    def stop(self, number: int, frame: "FrameType | None") -> None:
        """End at once when idle, else after the call under way and its answer."""
        del number, frame
        self.stopping = True
        if self.idle:
            raise ClientGone

    def wait(self, descriptor: int, event: int) -> None:
        """Wait until a stream is ready; raises ClientGone when the parent has died or nothing moves on at an end."""
        poll = select.poll()
        poll.register(descriptor, event)
        while os.getppid() == self.parent:
            if poll.poll(LOOK_MILLISECONDS):
                return
            if self.stopping:
                break
        raise ClientGone

    def await_input(self) -> None:
        """Wait for the client to say something; a signal ends this at once."""
        self.idle = True
        try:
            self.wait(self.source, select.POLLIN)
        finally:
            self.idle = False

    def read_line(self) -> bytes | None:
        """Return the next line, or None in the place of one that was too long to keep."""
        overlong = False
        while not self.stopping:
            end = self.buffer.find(b"\n", self.searched)
            if end >= 0:
                line = bytes(self.buffer[:end])
                del self.buffer[: end + 1]
                self.searched = 0
                return None if overlong or len(line) > LINE_BYTES_MAX else line
            if len(self.buffer) > LINE_BYTES_MAX:
                overlong = True
                self.buffer.clear()
            self.searched = len(self.buffer)
            self.await_input()
            read = os.read(self.source, READ_BYTES)
            if not read:
                raise ClientGone
            self.buffer += read
        raise ClientGone

    def write(self, answer: bytes) -> None:
        """Write an answer in pieces that a ready pipe takes whole."""
        for start in range(0, len(answer), WRITE_BYTES):
            piece = answer[start : start + WRITE_BYTES]
            while piece:
                self.wait(self.sink, select.POLLOUT)
                try:
                    piece = piece[os.write(self.sink, piece) :]
                except BrokenPipeError as gone:
                    raise ClientGone from gone
