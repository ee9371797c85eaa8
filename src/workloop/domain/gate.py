"""What a gate is: where an agent account stands, per harness, account and model tier, and what sessions show of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.limits import OnLimit
from workloop.domain.session import SessionClass, SessionReport

MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class GateKey:
    """Whose gate it is: the harness as configured, the account it logs in with, and the model tier."""

    harness: str
    account: str = ""
    tier: str = ""

    def __str__(self) -> str:
        return "/".join(part or "-" for part in (self.harness, self.account, self.tier))


class GateState(StrEnum):
    """Whether sessions may start behind a gate."""

    OPEN = "open"
    LIMITED = "limited"
    PROBING = "probing"
    STOPPED = "stopped"


class Source(StrEnum):
    """Who said until when a gate stays closed."""

    STATED = "stated"
    GUESSED = "guessed"


class Cause(StrEnum):
    """What closed a gate."""

    LIMIT = "limit"
    OUTAGE = "outage"
    AUTH = "auth"
    BILLING = "billing"
    CONFIG = "config"
    MODEL_MISSING = "model_missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """The figures behind the transitions; durations in microseconds.

    `probe_us` lies between probes of a closed gate, `guess_us` is how long a limit without a stated reset is expected
    to last, `wait_max_us` the longest that anything waits, `reset_past_us` and `reset_furthest_us` bound what is
    believed of a stated reset.
    """

    on_limit: OnLimit = OnLimit.WAIT
    probe_us: int = 30 * MINUTE_US
    probe_soonest_us: int = MINUTE_US
    guess_us: int = HOUR_US
    wait_max_us: int = 8 * DAY_US
    reset_past_us: int = 10 * MINUTE_US
    reset_furthest_us: int = 35 * DAY_US
    transients_max: int = 3
    guesses_max: int = 2
    outage_after: int = 3
    resumes_max: int = 5
    resume_first_us: int = HOUR_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Where one gate stands.

    `since` is when it closed, for the cap on waiting; `try_at` when it may be probed next; `probes` and `last_probe`
    book what was spent on that; `openings` counts how often a limit's end let it open without output since.
    `silent` counts sessions in a row without model output, `transients` those in a row that failed in passing without
    a usage report, `guesses` those whose passing failure no typed fact named. `question` names what a person was asked.
    """

    key: GateKey
    state: GateState = GateState.OPEN
    cause: Cause | None = None
    until: Instant | None = None
    source: Source | None = None
    since: Instant | None = None
    try_at: Instant | None = None
    probes: int = 0
    last_probe: Instant | None = None
    openings: int = 0
    silent: int = 0
    transients: int = 0
    guesses: int = 0
    remedy: str = ""
    detail: str = ""
    question: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a session showed about its account; `guessed` marks a class that no typed fact names."""

    session_class: SessionClass
    began_at: Instant
    ended_at: Instant
    produced: bool = False
    usage_reported: bool = False
    guessed: bool = False
    probe: bool = False
    reset_at: Instant | None = None
    detail: str = ""


def produced(report: SessionReport) -> bool:
    """Tell whether a session brought any model output."""
    counts = report.event_counts
    return report.tokens.output > 0 or bool(counts.get("text") or counts.get("tool_call"))


def seen(report: SessionReport, *, guessed: bool = False, probe: bool = False, watched: bool = True) -> Seen:
    """Take from a session's report what concerns its account; the silence of a program that tells nothing is none."""
    return Seen(
        session_class=report.session_class,
        began_at=report.started_at,
        ended_at=report.ended_at,
        produced=produced(report) or not watched,
        usage_reported=report.usage_reported,
        guessed=guessed,
        probe=probe,
        reset_at=report.reset_at,
        detail=report.detail,
    )


class Entry(StrEnum):
    """What may start behind a gate now."""

    GO = "go"
    PROBE = "probe"
    WAIT = "wait"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a gate lets through, from when on, and which gate decides; `at` is None when only an event can help."""

    entry: Entry
    at: Instant | None = None
    by: Gate | None = None
