"""How one session of `codex exec --json` is read: a line per event, the rest in the thread's own file."""

from collections.abc import Mapping
from pathlib import Path

from workloop.domain.session import SessionEvent, Started, head
from workloop.runner.harness.codex.reader import NAME_CHARACTERS_MAX, CodexReader, Rule
from workloop.runner.harness.codex.rollout import Rollout, read_rollout
from workloop.runner.harness.codex.usage import bill_of
from workloop.runner.harness.codex.verdict import Failure
from workloop.runner.harness.fields import Fields
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.signatures import Signatures


class ExecReader(CodexReader):
    """One thread with one turn, told in short."""

    def __init__(self, request: LaunchRequest, signatures: Signatures, home: Path, *, server: str) -> None:
        super().__init__(request, signatures, server=server)
        self.home = home
        self.started = False
        before = self.rollout() if request.resume_id else Rollout()
        if before.total is not None:
            self.usage.start_from(before.total)
        self.table: Mapping[str, Rule] = {
            "thread.started": self.on_thread,
            "item.started": lambda fields: self.items.started(fields.inner("item")),
            "item.completed": lambda fields: self.items.completed(fields.inner("item")),
            "turn.completed": self.on_completed,
            "turn.failed": self.on_failed,
            "error": self.on_error,
        }

    def rules(self) -> Mapping[str, Rule]:
        """Return the rules by type."""
        return self.table

    def kind(self, fields: Fields) -> str:
        """Return the line's type."""
        return fields.text("type")

    @property
    def reports_limits_at_once(self) -> bool:
        """Leave the limit for the end: its reset stands in the thread's file."""
        return False

    def rollout(self) -> Rollout:
        """Read the thread's own file as it stands now."""
        return read_rollout(self.home, self.resume_id or "")

    def on_thread(self, fields: Fields) -> list[SessionEvent]:
        """Read which thread it is."""
        if self.started:
            return []
        self.started = True
        self.resume_id = head(fields.text("thread_id"), NAME_CHARACTERS_MAX) or self.resume_id
        return [Started(at=self.stamper.again(), resume_id=self.resume_id)]

    def on_completed(self, fields: Fields) -> list[SessionEvent]:
        """Read the end of the turn, whose usage is the thread's running total."""
        total = bill_of(fields.inner("usage"))
        if self.usage.baseline_due:
            self.usage.start_from(total)
        return [*self.counted(self.usage.of_total(total)), *self.completed()]

    def on_failed(self, fields: Fields) -> list[SessionEvent]:
        """Read the error that ended the turn."""
        return self.failed(Failure(message=fields.inner("error").text("message")))

    def on_error(self, fields: Fields) -> list[SessionEvent]:
        """Read an error; most are tries again, and only the turn's own end says that it was the last one."""
        return self.troubled(Failure(message=fields.text("message")), retries=False)

    def read_the_rest(self) -> list[SessionEvent]:
        """Return what the thread's file knows beyond the stream: the tokens of a turn that failed, and the windows."""
        if not self.started:
            return []
        rollout = self.rollout()
        self.windows.note(rollout.limits)
        if rollout.total is None or self.usage.baseline_due:
            return []
        return self.counted(self.usage.of_total(rollout.total))
