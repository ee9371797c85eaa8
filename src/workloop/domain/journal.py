"""What a loop writes down of its own doing: decisions with their reasons, sessions, targets and runs."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from workloop.domain.clock import Instant
from workloop.domain.gate import produced
from workloop.domain.progress import Pace
from workloop.domain.rates import Ended, Population
from workloop.domain.session import SessionClass, SessionReport, Tokens, head, tail

FINAL_TEXT_CHARACTERS_MAX: Final = 16_384
DETAIL_CHARACTERS_MAX: Final = 2_000
MESSAGE_CHARACTERS_MAX: Final = 1_000
NAME_CHARACTERS_MAX: Final = 500
DECISIONS_KEPT: Final = 5_000
SESSIONS_KEPT: Final = 20_000
RUNS_KEPT: Final = 500
"""How much is kept, newest first; a session that has not ended is always kept."""


class SubjectKind(StrEnum):
    """What a decision is about."""

    LOOP = "loop"
    TARGET = "target"
    ITEM = "item"
    GATE = "gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The loop itself, or a target, item or gate by name; an item's name is its key, its target stands beside it."""

    kind: SubjectKind
    name: str = ""
    target: str = ""


LOOP: Final = Subject(kind=SubjectKind.LOOP)


class Verb(StrEnum):
    """What was decided."""

    START = "start"
    PROBE = "probe"
    WAIT = "wait"
    SKIP = "skip"
    STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision: what, why in a code and in words, until when it holds, and what one change would alter it.

    `item` and `session` name what was started, where something was. `wakes_at` is the next look in any case.
    """

    subject: Subject
    verb: Verb
    code: str
    message: str = ""
    unblock: str = ""
    wakes_at: Instant | None = None
    item: str = ""
    session: str = ""


def same(one: Decision, other: Decision) -> bool:
    """Tell whether two decisions about one subject say the same; wording and instants may move on."""
    return gist(one) == gist(other)


def gist(decision: Decision) -> tuple[str, ...]:
    """Return what makes a decision differ from another about the same subject."""
    return (decision.verb.value, decision.code, decision.unblock, decision.item, decision.session)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """A decision as it is kept: how often it was taken in a row, when first and when last."""

    number: int
    decision: Decision
    first_at: Instant
    last_at: Instant
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session, from its start on; what it is run with, where it works, and how it ended.

    `resume_id` is what its program wants to hear to go on, `resumes` our id of the session it went on with; `log_path`
    is the kept stream. `settled` is how its claim ended by the queue's record. `acted` tells whether it called a tool,
    `produced` whether there was any model output, `guessed` whether no typed fact names its class.
    """

    session_id: str
    target: str
    harness: str
    began_at: Instant
    run: int = 0
    item_key: str = ""
    item_id: str = ""
    fence: int | None = None
    role: str = ""
    phase: str = ""
    probe: bool = False
    account: str = ""
    tier: str = ""
    model: str = ""
    version: str = ""
    resume_id: str = ""
    resumes: str = ""
    cwd: str = ""
    base_sha: str = ""
    log_path: str = ""
    ended_at: Instant | None = None
    session_class: SessionClass | None = None
    settled: str = ""
    acted: bool = False
    produced: bool = False
    guessed: bool = False
    exit_code: int | None = None
    signal: int | None = None
    tokens: Tokens = field(default_factory=Tokens)
    usage_reported: bool = False
    cost_micros: int | None = None
    reset_at: Instant | None = None
    final_text: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRow:
    """Where a target stands with the loop: its pace, its pause with reason and end, and when it was last served."""

    name: str
    pace: Pace = field(default_factory=Pace)
    paused: bool = False
    pause_reason: str = ""
    paused_until: Instant | None = None
    served_at: Instant | None = None
    question: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of the loop, and why it ended; no end means that it still runs or was killed."""

    number: int
    pid: int
    host: str
    version: str
    began_at: Instant
    ended_at: Instant | None = None
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotHolder:
    """Who has one of a host's places for sessions."""

    number: int
    pid: int
    what: str


def ended_row(row: SessionRow, report: SessionReport, *, settled: str = "", guessed: bool = False) -> SessionRow:
    """Return a session's row with what its report says; its last message is kept even when it settled nothing."""
    return replace(
        row,
        ended_at=report.ended_at,
        session_class=report.session_class,
        settled=settled,
        acted=bool(report.event_counts.get("tool_call")),
        produced=produced(report),
        guessed=guessed,
        exit_code=report.exit_code,
        signal=report.signal,
        tokens=report.tokens,
        usage_reported=report.usage_reported,
        cost_micros=report.cost_micros,
        reset_at=report.reset_at,
        resume_id=report.resume_id or row.resume_id,
        final_text=report.final_text,
        detail=report.detail,
    )


def rated(row: SessionRow) -> Ended | None:
    """Return a session as the rates see it; None while it runs, and for a probe, which has no work to do."""
    if row.session_class is None or row.probe:
        return None
    return Ended(
        population=Population(harness=row.harness, version=row.version, phase=row.phase or row.role),
        session_class=row.session_class,
        held=bool(row.item_key),
        acted=row.acted,
        settled=bool(row.settled),
        exit_code=row.exit_code,
        item=row.item_key,
    )


def bounded_session(row: SessionRow) -> SessionRow:
    """Return a row whose agent text is printable and bounded: of a message its end, of a detail its beginning."""
    return replace(
        row,
        model=head(row.model, NAME_CHARACTERS_MAX),
        version=head(row.version, NAME_CHARACTERS_MAX),
        resume_id=head(row.resume_id, NAME_CHARACTERS_MAX),
        final_text=tail(row.final_text, FINAL_TEXT_CHARACTERS_MAX),
        detail=head(row.detail, DETAIL_CHARACTERS_MAX),
    )


def bounded_decision(decision: Decision) -> Decision:
    """Return a decision whose words are printable and bounded."""
    return replace(
        decision,
        message=head(decision.message, MESSAGE_CHARACTERS_MAX),
        unblock=head(decision.unblock, MESSAGE_CHARACTERS_MAX),
    )
