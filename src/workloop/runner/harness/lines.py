"""What all readers of a stream of lines have in common, and how those work that have one rule for each kind of line."""

from abc import ABC, abstractmethod

from workloop.domain.session import SessionEvent
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.stamper import Stamper
from workloop.runner.signatures import Signatures


class LineReader:
    """Numbers one session's events; a subclass says what a line means, and answers where its agent listens."""

    def __init__(self, session_id: str) -> None:
        self.stamper = Stamper(session_id)

    def overlong(self, size: int, arrival_us: int) -> list[SessionEvent]:
        """Take note of a line that was too long to keep."""
        return [self.stamper.overlong(size, arrival_us)]

    def replies(self) -> bytes:
        """Return nothing: the session does not listen."""
        return b""


class RuleReader(LineReader, ABC):
    """Reads one JSON object a line, by the rule for its kind."""

    def __init__(self, session_id: str, signatures: Signatures) -> None:
        super().__init__(session_id)
        self.signatures = signatures

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one line; an empty one is nothing, an unknown one is kept as unrecognised."""
        if not line.strip():
            return []
        fields = parse(line)
        kind = self.kind_of(fields) if fields else ""
        if kind in self.signatures.ignored:
            return []
        self.stamper.last_arrival_us = arrival_us
        events = self.read(kind, fields) if fields is not None else None
        return [self.stamper.unrecognised(line, self.stamper.again())] if events is None else events

    def kind_of(self, fields: Fields) -> str:
        """Return what kind of line it is."""
        return fields.text("type")

    @abstractmethod
    def read(self, kind: str, fields: Fields) -> list[SessionEvent] | None:
        """Return the events of a line, or None for a kind that no rule knows."""
