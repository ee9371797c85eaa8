"""What the end of a Claude Code session means, by the CLI's own words and never by the agent's."""

from dataclasses import dataclass

from workloop.domain.clock import Instant, from_text
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Conclusion,
    SessionClass,
    head,
    tail,
)
from workloop.runner.harness.claude.resets import reset_in
from workloop.runner.harness.claude.wire import NO_MESSAGE, NO_RESULT, Assistant, Limits, Result
from workloop.runner.harness.fields import instant_of_seconds
from workloop.runner.signatures import Signatures

GONE = "no conversation found"
PLAIN_LINES_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How the process ended, and its last words."""

    exit_code: int | None
    signal: int | None
    stderr_tail: str


class ClaudeOutcome:
    """What the CLI itself has said about the session so far."""

    def __init__(self, signatures: Signatures, resume_id: str | None, started_at: Instant | None) -> None:
        self.signatures = signatures
        self.resume_id = resume_id
        self.started_at = started_at
        self.timestamp = ""
        self.spoke = False
        self.result = NO_RESULT
        self.overruled = False
        self.error = ""
        self.said = ""
        self.plain: list[str] = []
        self.rejected = False
        self.reset_at: Instant | None = None

    @property
    def own_words(self) -> bool:
        """Say whether the result is a message of the CLI and not the agent's answer."""
        return bool(self.said) and self.result.result == self.said

    @property
    def failed(self) -> bool:
        """Say whether the result, whatever it calls itself, reports a failure."""
        return bool(self.result.is_error) or self.own_words

    def line(self, line: bytes) -> None:
        """Keep a line that is no event; a piece of one is left out, it may hold the agent's words."""
        if len(self.plain) < PLAIN_LINES_MAX and not set(b'{}"') & set(line):
            self.plain.append(line[:DETAIL_CHARACTERS_MAX].decode("utf-8", errors="replace"))

    def went_on(self) -> None:
        """Forget the error of a call that the agent has overcome."""
        self.error = ""
        self.rejected = False
        self.reset_at = None

    def erred(self, told: Assistant) -> str:
        """Take a message of the CLI that is dressed as one of the agent; returns its text."""
        self.error = told.error or ""
        self.limited(told.api_error_params.rate_limit_info if told.api_error_params else None)
        self.said = "\n".join([block.text for block in (told.message or NO_MESSAGE).content])
        return self.said

    def limited(self, limits: Limits | None) -> bool:
        """Take a report of a limit; says whether it refuses the call."""
        if limits is None:
            return False
        self.rejected = limits.status == "rejected" and not limits.is_using_overage
        if self.rejected:
            windows = [window for window in limits.unified_windows.values() if window.status == "rejected"]
            ends = [end for part in (limits, *windows) if (end := instant_of_seconds(part.resets_at)) is not None]
            self.reset_at = ends[0] if ends else self.reset_at
        return self.rejected

    def ended(self, told: Result) -> None:
        """Take a result; the first good answer stands, and a failure after it counts only if it took turns."""
        self.resume_id = told.session_id or self.resume_id
        failure = bool(told.is_error)
        answered = not self.failed and self.result.result
        if answered and (not failure or not told.num_turns):
            self.overruled = self.overruled or failure
            return
        self.result = told
        self.read_reset(self.error_text())

    def read_reset(self, text: str) -> None:
        """Look for the end of the limit in the CLI's words, unless it is known from an event."""
        if self.reset_at is not None or not text:
            return
        pattern = self.signatures.reset_pattern
        written = pattern.search(text) if pattern else None
        self.reset_at = instant_of_seconds(int(written[1])) if written else None
        if self.reset_at is None and "reset" in text.casefold() and (now := self.present()) is not None:
            self.reset_at = reset_in(text, now)

    def present(self) -> Instant | None:
        """Return the newest time of the stream, or when the session was started."""
        try:
            return from_text(self.timestamp) if self.timestamp else self.started_at
        except (ValueError, OverflowError):
            return self.started_at

    def conclude(self, end: End, *, refused: bool) -> Conclusion:
        """Judge the session by its result first, by how the process ended only without one."""
        if self.result is NO_RESULT:
            self.read_reset(self.spare_words(end))
        session_class = self.judge(end, refused=refused)
        gone = GONE in (self.error_text() + end.stderr_tail).casefold()
        return Conclusion(
            session_class=session_class,
            final_text=tail("" if self.failed else self.result.result or "", TEXT_CHARACTERS_MAX),
            reset_at=self.reset_at if session_class is SessionClass.LIMITED else None,
            resume_id=None if gone else self.resume_id,
            detail=head(self.detail(end), DETAIL_CHARACTERS_MAX),
        )

    def judge(self, end: End, *, refused: bool) -> SessionClass:
        """Name the class of the session."""
        if self.result is NO_RESULT:
            fallback = SessionClass.CRASHED if self.spoke or end.signal else SessionClass.DEAD
            return self.signatures.session_class(self.facts(self.spare_words(end))) or fallback
        if self.result.is_error or (end.exit_code not in {0, None} and not self.overruled):
            return self.signatures.session_class(self.facts("")) or SessionClass.CRASHED
        if self.own_words:
            return self.signatures.session_class(self.facts("")) or SessionClass.DEAD
        if refused:
            return SessionClass.DENIED
        return SessionClass.CLEAN if self.spoke else SessionClass.DEAD

    def facts(self, spare_words: str) -> dict[str, str]:
        """Gather what the signature rules look at; the agent's own words are not among it."""
        result = self.result
        return {
            "subtype": result.subtype,
            "api_error": result.api_error or "",
            "api_error_type": result.api_error_type or "",
            "terminal_reason": result.terminal_reason or "",
            "stop_reason": result.stop_reason or "",
            "status": "" if result.api_error_status is None else str(result.api_error_status),
            "error": self.error,
            "rate_limit": "rejected" if self.rejected else "",
            "text": plain_quotes(self.error_text()),
            "stderr": plain_quotes(spare_words),
        }

    def spare_words(self, end: End) -> str:
        """Return what there is to go by without a result."""
        return "\n".join([*self.plain, end.stderr_tail])

    def error_text(self) -> str:
        """Return the words of a failed result."""
        if not self.failed:
            return ""
        return "\n".join([self.result.result or "", *(self.result.errors or ())]).strip()

    def detail(self, end: End) -> str:
        """Say in one line why the session ended as it did."""
        if self.error_text():
            return self.error_text()
        if self.result is not NO_RESULT:
            return self.result.terminal_reason or ""
        how = f"signal {end.signal}" if end.signal else f"exit code {end.exit_code}"
        return f"ended without a result ({how}) {self.spare_words(end).strip()[-400:]}".strip()


def plain_quotes(text: str) -> str:
    """Write every apostrophe the same way, as the rules do."""
    return text.replace("\u2019", "'")
