"""What both ways of running Codex share: the state that a session's lines add up to, and the judgement at its end."""

import re

import msgspec

from workloop.domain.clock import Instant
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Conclusion,
    Finished,
    Limit,
    LimitKind,
    Retrying,
    SessionClass,
    SessionError,
    SessionEvent,
    Tokens,
    Usage,
    head,
    tail,
)
from workloop.runner.harness.codex.items import CodexItems
from workloop.runner.harness.codex.usage import CodexUsage
from workloop.runner.harness.codex.verdict import Failure, Windows, detail_of, judge, reset_of, zone_of
from workloop.runner.harness.lines import LineReader
from workloop.runner.harness.port import Ending, LaunchRequest
from workloop.runner.signatures import Signatures

NAME_CHARACTERS_MAX = 200
TRY = re.compile(r"\AReconnecting\.\.\. (?:(\d{1,4})/\d+)?")


class CodexReader(LineReader):
    """One session's stream; a subclass says which line is read by which rule."""

    def __init__(self, request: LaunchRequest, signatures: Signatures, *, server: str) -> None:
        super().__init__(request.session_id)
        self.signatures = signatures
        self.items = CodexItems(self.stamper, signatures, server)
        self.usage = CodexUsage(resumed=request.resume_id is not None)
        self.windows = Windows()
        self.started_at = request.started_at
        self.first_arrival_us: int | None = None
        self.zone = zone_of(request.environment)
        self.resume_id = request.resume_id
        self.failure: Failure | None = None
        self.last_error: Failure | None = None
        self.ended = False
        self.limit_told = False
        self.tries = 0

    def read(self, line: bytes) -> list[SessionEvent] | None:
        """Return the events of a line, or None for one that no rule knows; raises DecodeError for no JSON."""
        raise NotImplementedError

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one line; an empty one is nothing, an unknown one is kept as unrecognised."""
        if self.first_arrival_us is None:
            self.first_arrival_us = arrival_us
        self.stamper.last_arrival_us = arrival_us
        try:
            events = self.read(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            events = None
        if events is not None or not line.strip():
            return events or []
        return [self.stamper.unrecognised(line, self.stamper.again())]

    @property
    def now(self) -> Instant | None:
        """Return what the wall clock showed when the last line arrived; the first arrived at the start."""
        if self.started_at is None or self.first_arrival_us is None:
            return self.started_at
        return Instant(self.started_at + max(0, self.stamper.last_arrival_us - self.first_arrival_us))

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge by the error that ended the turn, by how the process died only before its turn ended."""
        events = self.read_the_rest()
        failure = self.failure or (None if self.ended else self.last_error)
        session_class = judge(self.items, failure, self.signatures, ended=self.ended, death=(signal, stderr_tail))
        limited = session_class is SessionClass.LIMITED
        if limited and not self.limit_told:
            events.append(self.limit(failure))
        clean = session_class in {SessionClass.CLEAN, SessionClass.DENIED}
        gone = (failure or Failure(message=stderr_tail)).gone
        conclusion = Conclusion(
            session_class=session_class,
            final_text=tail(self.items.final_text, TEXT_CHARACTERS_MAX) if clean else "",
            reset_at=reset_of(failure, self.windows, self.now, self.zone) if limited else None,
            resume_id=None if gone else self.resume_id,
            detail=detail_of(failure, ended=self.ended, exit_code=exit_code, signal=signal, stderr=stderr_tail),
        )
        return Ending(conclusion=conclusion, events=tuple(events))

    def read_the_rest(self) -> list[SessionEvent]:
        """Return the events that only show after the end."""
        return []

    def counted(self, more: Tokens) -> list[SessionEvent]:
        """Report tokens, unless there are none."""
        return [Usage(self.stamper.again(), more)] if more.total else []

    def troubled(self, failure: Failure, *, retries: bool) -> list[SessionEvent]:
        """Report an error: one that is tried again is no more than a delay."""
        written = TRY.match(failure.message)
        if retries or written:
            self.tries = int(written[1]) if written and written[1] else self.tries + 1
            reason = head(failure.message, DETAIL_CHARACTERS_MAX)
            return [Retrying(self.stamper.again(), self.tries, reason)]
        self.last_error = failure
        return [self.error(failure)]

    def error(self, failure: Failure) -> SessionError:
        """Report an error that is not tried again."""
        code = head(failure.info or failure.status, NAME_CHARACTERS_MAX)
        return SessionError(self.stamper.again(), code, head(failure.message, DETAIL_CHARACTERS_MAX))

    def failed(self, failure: Failure) -> list[SessionEvent]:
        """Report a turn that an error ended, with the limit if it was one."""
        self.ended, self.failure = True, failure
        limited = self.signatures.session_class(failure.facts("")) is SessionClass.LIMITED
        limits = [self.limit(failure)] if limited and self.reports_limits_at_once else []
        reason = head(failure.info or "failed", NAME_CHARACTERS_MAX)
        return [*limits, Finished(at=self.stamper.again(), failed=True, reason=reason)]

    @property
    def reports_limits_at_once(self) -> bool:
        """Say whether the reset is known when the turn ends."""
        return True

    def completed(self) -> list[SessionEvent]:
        """Report a turn that came to its end."""
        self.ended, self.failure = True, None
        return [Finished(at=self.stamper.again(), failed=False, reason="completed")]

    def limit(self, failure: Failure | None) -> Limit:
        """Report a limit with what is known about its end."""
        self.limit_told = True
        return Limit(
            at=self.stamper.again(),
            kind=LimitKind.WINDOW if self.windows.reset_at else LimitKind.UNKNOWN,
            reset_at=reset_of(failure, self.windows, self.now, self.zone),
            detail=head(failure.message if failure else "", DETAIL_CHARACTERS_MAX),
        )
