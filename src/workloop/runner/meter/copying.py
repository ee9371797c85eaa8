"""How an answer is counted on a copy of the bytes that pass, so that what passes is never touched or held."""

import zlib
from typing import Protocol

from workloop.runner.meter.events import EventFeed
from workloop.runner.meter.messages import MessagesCounter
from workloop.runner.meter.openai import ChatCounter, ResponsesCounter
from workloop.runner.meter.port import Dialect
from workloop.runner.meter.usage import Counted, UsageCounter

STREAM_TYPE = "text/event-stream"
WHOLE_BYTES_MAX = 64 * 1024 * 1024
GZIP = 16 + zlib.MAX_WBITS


class Unpacker(Protocol):
    """Undoes an encoding piece by piece."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return what the next bytes hold; raises zlib.error for what is broken."""
        ...


def counter_of(dialect: Dialect) -> UsageCounter:
    """Return what reads a dialect's answers."""
    match dialect:
        case Dialect.ANTHROPIC:
            return MessagesCounter()
        case Dialect.RESPONSES:
            return ResponsesCounter()
        case Dialect.CHAT:
            return ChatCounter()


class AnswerCopy:
    """Counts one answer while it passes; an encoding that cannot be undone leaves it uncounted."""

    def __init__(self, dialect: Dialect, content_type: str, encoding: str) -> None:
        self.counter = counter_of(dialect)
        self.feed = EventFeed() if content_type.partition(";")[0].strip().lower() == STREAM_TYPE else None
        self.unpacker = unpacker_of(encoding)
        self.readable = self.unpacker is not None or encoding.strip().lower() in {"", "identity"}
        self.whole = bytearray()

    def pass_by(self, chunk: bytes) -> None:
        """Look at the next bytes of the answer."""
        plain = self.plain(chunk)
        if not plain:
            return
        if self.feed is None:
            self.whole += plain
            self.readable = self.readable and len(self.whole) <= WHOLE_BYTES_MAX
            return
        for data in self.feed.feed(plain):
            self.counter.event(data)

    def plain(self, chunk: bytes) -> bytes:
        """Undo the encoding of the next bytes; what is broken is not looked at any further."""
        if not self.readable:
            return b""
        if self.unpacker is None:
            return chunk
        try:
            return self.unpacker.decompress(chunk)
        except zlib.error:
            self.readable = False
            return b""

    def counted(self) -> Counted:
        """Return what the answer came to."""
        if self.feed is not None:
            for data in self.feed.finish():
                self.counter.event(data)
        elif self.readable:
            self.counter.whole(bytes(self.whole))
        return self.counter.counted()


def unpacker_of(encoding: str) -> Unpacker | None:
    """Return what undoes an encoding, if it needs undoing and this Python can."""
    match encoding.strip().lower():
        case "gzip" | "x-gzip":
            return zlib.decompressobj(GZIP)
        case "deflate":
            return zlib.decompressobj()
        case _:
            return None
