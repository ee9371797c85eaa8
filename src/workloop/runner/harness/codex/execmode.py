"""How one session of `codex exec --json` is read: a line per event, the rest in the thread's own file."""

from pathlib import Path

import msgspec

from workloop.domain.session import SessionEvent, Started, head
from workloop.runner.harness.codex.reader import NAME_CHARACTERS_MAX, CodexReader
from workloop.runner.harness.codex.rollout import Rollout, read_rollout
from workloop.runner.harness.codex.usage import bill_of
from workloop.runner.harness.codex.verdict import Failure
from workloop.runner.harness.codex.wire import NO_ITEM, ExecLine, SnakeCounts, fields_of
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.signatures import Signatures

DECODER = msgspec.json.Decoder(ExecLine)


class ExecReader(CodexReader):
    """One thread with one turn, told in short."""

    def __init__(self, request: LaunchRequest, signatures: Signatures, home: Path, *, server: str) -> None:
        super().__init__(request, signatures, server=server)
        self.home = home
        self.started = False
        before = self.rollout() if request.resume_id else Rollout()
        if before.total is not None:
            self.usage.start_from(before.total)

    def read(self, line: bytes) -> list[SessionEvent] | None:
        """Read a line by its type."""
        told = DECODER.decode(line)
        match told.type:
            case "item.completed":
                return self.items.completed(told.item or NO_ITEM)
            case "item.started":
                return self.items.started(told.item or NO_ITEM)
            case "error":
                return self.troubled(Failure(message=told.message or ""), retries=False)
            case "thread.started":
                return self.on_thread(told.thread_id or "")
            case "turn.completed":
                return self.on_completed(told.usage or SnakeCounts())
            case "turn.failed":
                return self.failed(Failure(message=fields_of(told.error).text("message")))
            case other:
                return [] if other in self.signatures.ignored else None

    @property
    def reports_limits_at_once(self) -> bool:
        """Leave the limit for the end: its reset stands in the thread's file."""
        return False

    def rollout(self) -> Rollout:
        """Read the thread's own file as it stands now."""
        return read_rollout(self.home, self.resume_id or "")

    def on_thread(self, thread_id: str) -> list[SessionEvent]:
        """Read which thread it is."""
        if self.started:
            return []
        self.started = True
        self.resume_id = head(thread_id, NAME_CHARACTERS_MAX) or self.resume_id
        return [Started(self.stamper.again(), self.resume_id)]

    def on_completed(self, usage: SnakeCounts) -> list[SessionEvent]:
        """Read the end of the turn, whose usage is the thread's running total."""
        total = bill_of(usage)
        if self.usage.baseline_due:
            self.usage.start_from(total)
        return [*self.counted(self.usage.of_total(total)), *self.completed()]

    def read_the_rest(self) -> list[SessionEvent]:
        """Return what the thread's file knows beyond the stream: the tokens of a turn that failed, and the windows."""
        if not self.started or (self.ended and self.failure is None):
            return []
        rollout = self.rollout()
        self.windows.note(rollout.limits)
        if rollout.total is None or self.usage.baseline_due:
            return []
        return self.counted(self.usage.of_total(rollout.total))
