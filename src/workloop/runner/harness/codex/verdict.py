"""What a codex session's last words mean, and when a limit that stopped it ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from workloop.domain.clock import Instant
from workloop.domain.session import DETAIL_CHARACTERS_MAX, SessionClass, head
from workloop.runner.harness.codex.clocktext import written_reset
from workloop.runner.harness.codex.items import CodexItems
from workloop.runner.harness.codex.wire import Limits, Window
from workloop.runner.harness.exits import describe_exit
from workloop.runner.harness.fields import Fields, instant_of_seconds
from workloop.runner.signatures import Signatures

GONE = "no rollout found for thread"
SPENT_PERCENT = 100


@dataclass(slots=True, kw_only=True)
class Failure:
    """The error that ended a turn, or kept one from beginning."""

    message: str = ""
    info: str = ""
    status: str = ""

    @property
    def gone(self) -> bool:
        """Say whether the thread that was to go on does not exist."""
        return GONE in self.message

    def facts(self, stderr: str) -> dict[str, str]:
        """Return what the signature rules look at."""
        return {"info": self.info, "status": self.status, "text": self.message, "stderr": stderr}


@dataclass(slots=True)
class Windows:
    """The account's usage windows as last reported."""

    ends: dict[str, Instant] = field(default_factory=dict[str, Instant])

    def note(self, limits: Limits | None) -> None:
        """Keep the ends of the windows that are used up; a report without windows says nothing."""
        if limits is not None:
            self.note_window("primary", limits.primary)
            self.note_window("secondary", limits.secondary)

    def note_window(self, name: str, window: Window | None) -> None:
        """Keep one window's end while it is used up."""
        if window is None:
            return
        used = window.used_percent if window.used_percent_camel is None else window.used_percent_camel
        end = instant_of_seconds(window.resets_at_camel or window.resets_at)
        if used is None:
            return
        self.ends.pop(name, None)
        if used >= SPENT_PERCENT and end is not None:
            self.ends[name] = end

    @property
    def reset_at(self) -> Instant | None:
        """Return when the last of the spent windows opens again."""
        return max(self.ends.values(), default=None)


def failure_of(error: Fields) -> Failure:
    """Read an error of the app-server, whose kind is a word or an object with an HTTP status."""
    info, status = error.text("codexErrorInfo"), None
    if not info:
        kinds = error.inner("codexErrorInfo")
        info = next(iter(kinds.values), "")
        status = kinds.inner(info).integer("httpStatusCode")
    message = "\n".join(part for part in (error.text("message"), error.text("additionalDetails")) if part)
    return Failure(message=message, info=info, status="" if status is None else str(status))


def judge(
    items: CodexItems, failure: Failure | None, signatures: Signatures, *, ended: bool, death: tuple[int | None, str]
) -> SessionClass:
    """Name the class: by the error that ended the turn, else by how the process died before its turn ended."""
    signal, stderr_tail = death
    if failure is not None:
        return signatures.session_class(failure.facts("")) or SessionClass.CRASHED
    if not ended:
        fallback = SessionClass.CRASHED if items.spoke or signal else SessionClass.DEAD
        return signatures.session_class(Failure().facts(stderr_tail)) or fallback
    if items.calls.refused:
        return SessionClass.DENIED
    return SessionClass.CLEAN if items.spoke else SessionClass.DEAD


def reset_of(failure: Failure | None, windows: Windows, now: Instant | None, zone: tzinfo | None) -> Instant | None:
    """Return when the limit ends: by the window that is spent, else by what the message says in words."""
    return windows.reset_at or written_reset(failure.message if failure else "", now, zone)


def detail_of(failure: Failure | None, *, ended: bool, exit_code: int | None, signal: int | None, stderr: str) -> str:
    """Say in one line why the session ended as it did."""
    if failure is not None:
        return head(failure.message or failure.info, DETAIL_CHARACTERS_MAX)
    if ended:
        return ""
    how = describe_exit(exit_code, signal, stderr) or f"exit code {exit_code} {stderr.strip()[-400:]}".strip()
    return head(f"ended without an end of its turn: {how}", DETAIL_CHARACTERS_MAX)


def zone_of(environment: Mapping[str, str]) -> tzinfo | None:
    """Return the zone that the session's variables name, or none for this machine's."""
    try:
        return ZoneInfo(environment["TZ"]) if environment.get("TZ") else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
