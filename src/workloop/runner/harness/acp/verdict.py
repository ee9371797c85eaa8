"""What the end of an agent's session means: by its reason to stop, else by its error, else by how the process ended."""

from workloop.domain.clock import Instant
from workloop.domain.session import DETAIL_CHARACTERS_MAX, SessionClass, head
from workloop.runner.harness.fields import Fields
from workloop.runner.harness.resets import reset_of
from workloop.runner.signatures import Signatures

STOPPED_WELL = "end_turn"


class Verdict:
    """What an agent has said about its end; its own model's words are never among it."""

    def __init__(self, signatures: Signatures) -> None:
        self.signatures = signatures
        self.reason = ""
        self.facts: dict[str, str] = {}
        self.message = ""
        self.reset_at: Instant | None = None
        self.spoke = False

    @property
    def over(self) -> bool:
        """Say whether the agent has ended its turn, or cannot begin it."""
        return bool(self.reason or self.facts)

    @property
    def failed(self) -> bool:
        """Say whether it ended otherwise than well."""
        return self.reason != STOPPED_WELL

    @property
    def gone(self) -> bool:
        """Say whether an earlier session cannot be gone on with."""
        return "gone" in {self.facts.get("fact"), self.facts.get("session")}

    def broke(self, step: str, error: Fields, now: Instant | None, *, resuming: bool) -> None:
        """Take an error in the place of an answer."""
        data = error.inner("data")
        detail = error.text("data") or data.text("details") or data.text("message") or data.text("error")
        self.message = "; ".join(part for part in (error.text("message"), detail) if part)
        code = error.integer("code")
        status = data.integer("status") or data.integer("statusCode")
        self.facts = {
            "step": step,
            "session": "gone" if resuming and step == "session" else "",
            "code": "" if code is None else str(code),
            "status": "" if status is None else str(status),
            "text": self.message.replace("\u2019", "'"),
        }
        self.reset_at = reset_of(data, data.inner("headers"), now)

    def useless(self, fact: str, message: str) -> None:
        """Take an agent that cannot do what the session needs."""
        self.facts, self.message = {"fact": fact}, message

    def judge(self, exit_code: int | None, signal: int | None, stderr_tail: str, *, refused: bool) -> SessionClass:
        """Name the class of the session."""
        if self.facts:
            return self.signatures.session_class(self.facts) or SessionClass.CRASHED
        if not self.reason:
            fallback = SessionClass.CRASHED if self.spoke or signal else SessionClass.DEAD
            return self.signatures.session_class({"stderr": stderr_tail}) or fallback
        if self.failed:
            return self.signatures.session_class({"reason": self.reason}) or SessionClass.CRASHED
        if refused:
            return SessionClass.DENIED
        return SessionClass.CLEAN if self.spoke else SessionClass.DEAD

    def detail(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> str:
        """Say in one line why the session ended as it did."""
        if self.over:
            return head(self.message or self.reason, DETAIL_CHARACTERS_MAX)
        how = f"signal {signal}" if signal else f"exit code {exit_code}"
        return head(f"ended without an answer ({how}) {stderr_tail.strip()[-400:]}".strip(), DETAIL_CHARACTERS_MAX)
