"""How a session's output is kept, decoded and added up, in bounded memory."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from workloop.domain.session import SessionEvent, Tokens, Usage, kind_of
from workloop.runner.archive import Archive
from workloop.runner.framing import Line, LineSplitter, OverlongLine, TailBuffer
from workloop.runner.harness.port import StreamReader

EventSink = Callable[[SessionEvent], Awaitable[None]]


class Totals:
    """What a session's events add up to."""

    def __init__(self) -> None:
        self.tokens = Tokens()
        self.cost_micros: int | None = None
        self.counts: Counter[str] = Counter()

    def add(self, event: SessionEvent) -> None:
        """Count one event."""
        self.counts[kind_of(event)] += 1
        if isinstance(event, Usage):
            self.tokens += event.tokens
            if event.cost_micros is not None:
                self.cost_micros = (self.cost_micros or 0) + event.cost_micros


class Taken(NamedTuple):
    """What some bytes amounted to: whole lines, their events, and what the session wants to be told now."""

    lines: int
    events: list[SessionEvent]
    replies: bytes


class Intake:
    """One session's output on its way to the archives and to events, and what it is told in return."""

    def __init__(self, reader: StreamReader, archive: Archive, errors: Archive, *, interactive: bool = False) -> None:
        self.reader = reader
        self.archive = archive
        self.errors = errors
        self.interactive = interactive
        self.splitter = LineSplitter()
        self.stderr = TailBuffer()
        self.lost = False

    def replies(self) -> bytes:
        """Return what to tell the session now; nothing when it does not listen."""
        return self.reader.replies() if self.interactive else b""

    def feed(self, data: bytes, arrival_us: int) -> Taken:
        """Take the next bytes."""
        self.archive.write(data)
        return self.decode(self.splitter.feed(data), arrival_us)

    def finish(self, arrival_us: int) -> Taken:
        """Decode what stood after the last newline."""
        return self.decode(self.splitter.finish(), arrival_us)

    def complain(self, data: bytes) -> None:
        """Take the next bytes of standard error, of which the end is kept at hand."""
        self.errors.write(data)
        self.stderr.feed(data)

    def decode(self, lines: list[Line], arrival_us: int) -> Taken:
        """Decode whole lines."""
        events, replies = list[SessionEvent](), bytearray()
        for line in lines:
            if isinstance(line, OverlongLine):
                self.lost = True
                events += self.reader.overlong(line.size, arrival_us)
            else:
                events += self.reader.feed(line, arrival_us)
            replies += self.replies()
        return Taken(len(lines), events, bytes(replies))
