"""What a session's end means for its item, for its account and for the loop: one row per way to end, as data."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workloop.domain.session import SessionClass, SessionReport

UNRECOGNISED_FEW: Final = 5
"""So many lines that no rule knows prove nothing yet, however short the session was."""


class EndClass(StrEnum):
    """How a session ended for its claim: what the queue's record and the stream's worth say, else the session class."""

    SETTLED = "settled"
    LOST = "lost"
    UNTRUSTED = "untrusted"
    NO_OP = "no_op"
    CLEAN = "clean"
    LIMITED = "limited"
    TRANSIENT = "transient"
    AUTH = "auth"
    BILLING = "billing"
    CONFIG = "config"
    MODEL_MISSING = "model_missing"
    CONTEXT = "context"
    TURN_CAP = "turn_cap"
    COST_CAP = "cost_cap"
    REFUSAL = "refusal"
    DENIED = "denied"
    DEAD = "dead"
    HUNG = "hung"
    CRASHED = "crashed"
    STOPPED = "stopped"


class Counter(StrEnum):
    """Which counter of the item grows; the ones for infrastructure have no ceiling."""

    NONE = "none"
    ATTEMPTS = "attempts"
    EXPIRIES = "expiries"
    INFRA = "infra"


class ItemEnd(StrEnum):
    """What becomes of the claim and its item."""

    AS_SETTLED = "as_settled"
    SALVAGED = "salvaged"
    UNJUDGED = "unjudged"
    NUDGED = "nudged_then_retry"
    RETRY = "retry"
    CHANGED = "retry_if_changed_else_park"
    AT_RESET = "released_until_reset"
    BACK_OFF = "kept_and_tried_again"
    RELEASE = "released"
    FORFEIT = "forfeited"


class GateEffect(StrEnum):
    """What the account learns from it: nothing, a pause until its reset, a stop until a person acts, or a count."""

    NONE = "none"
    PAUSE = "pause_until_reset"
    STOP = "stop_with_question"
    COUNT = "count"


class LoopEffect(StrEnum):
    """What the loop does next; only the store's own refusal ends it, and that is no session's end."""

    NEXT = "next"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the table; the advice goes into the next attempt's brief, or names the remedy."""

    counter: Counter
    item: ItemEnd
    gate: GateEffect
    loop: LoopEffect
    next_action: str


def row(counter: Counter, item: ItemEnd, gate: GateEffect, next_action: str, loop: LoopEffect = LoopEffect.NEXT) -> Row:
    """Write one row."""
    return Row(counter=counter, item=item, gate=gate, loop=loop, next_action=next_action)


C, E, G = Counter, ItemEnd, GateEffect

OUTCOMES: Final[dict[EndClass, Row]] = {
    EndClass.SETTLED: row(C.NONE, E.AS_SETTLED, G.NONE, "nothing: the claim is settled"),
    EndClass.LOST: row(C.NONE, E.SALVAGED, G.NONE, "nothing: the item is somebody else's now"),
    EndClass.UNTRUSTED: row(C.NONE, E.UNJUDGED, G.NONE, "look again: what the last session said could not be read"),
    EndClass.CLEAN: row(C.ATTEMPTS, E.NUDGED, G.NONE, "end with work_loop: the last session stopped without settling"),
    EndClass.NO_OP: row(C.ATTEMPTS, E.RETRY, G.NONE, "do the work: the last session ended well and did nothing"),
    EndClass.LIMITED: row(C.INFRA, E.AT_RESET, G.PAUSE, "wait for the limit's reset"),
    EndClass.TRANSIENT: row(C.INFRA, E.BACK_OFF, G.COUNT, "try again a little later"),
    EndClass.AUTH: row(C.INFRA, E.RELEASE, G.STOP, "log the agent in again"),
    EndClass.BILLING: row(C.INFRA, E.RELEASE, G.STOP, "settle the account's billing"),
    EndClass.CONFIG: row(C.INFRA, E.RELEASE, G.STOP, "correct the harness's configuration"),
    EndClass.MODEL_MISSING: row(C.INFRA, E.RELEASE, G.STOP, "name a model that exists"),
    EndClass.CONTEXT: row(C.ATTEMPTS, E.CHANGED, G.NONE, "read less at once: the context ran out"),
    EndClass.TURN_CAP: row(C.ATTEMPTS, E.CHANGED, G.NONE, "reach the objective in fewer turns: the cap was hit"),
    EndClass.COST_CAP: row(C.ATTEMPTS, E.CHANGED, G.NONE, "spend less: the session's ceiling was hit"),
    EndClass.REFUSAL: row(C.ATTEMPTS, E.RETRY, G.NONE, "approach it in another way: the model refused"),
    EndClass.DENIED: row(C.ATTEMPTS, E.RETRY, G.NONE, "do without the tool that was denied"),
    EndClass.DEAD: row(C.ATTEMPTS, E.RETRY, G.COUNT, "begin anew: the session produced nothing"),
    EndClass.HUNG: row(C.EXPIRIES, E.FORFEIT, G.COUNT, "begin anew: the session stopped making progress"),
    EndClass.CRASHED: row(C.ATTEMPTS, E.RETRY, G.COUNT, "begin anew: the session's process died"),
    EndClass.STOPPED: row(C.INFRA, E.RELEASE, G.NONE, "go on: the operator stopped the session", LoopEffect.DRAIN),
}

HOST_ADVICE: Final = frozenset(row.next_action for row in OUTCOMES.values())
CAPPED: Final = frozenset(end for end, row in OUTCOMES.items() if row.item is ItemEnd.CHANGED)
"""A session that met a ceiling of its own: doing the very same again would meet it again."""
ORDERLY: Final = frozenset({EndClass.CLEAN, EndClass.TURN_CAP, EndClass.COST_CAP})
"""Ends after which a session had its say: it finished, or ran into a cap that was set for it."""
RESUMABLE: Final = frozenset({EndClass.LIMITED, EndClass.TRANSIENT, EndClass.STOPPED})
"""Ends that were no doing of the session's, so that it may go on where it stopped."""


def end_class(report: SessionReport, *, settled: bool, lost: bool, tells_tools: bool = True) -> EndClass:
    """Say how a session ended for its claim: the queue's record comes first, then whether its stream can be believed.

    A limit shows in the session's class whatever its exit code was. A program that tells of no tools is never idle.
    """
    if lost:
        return EndClass.LOST
    if settled:
        return EndClass.SETTLED
    if not trusted(report):
        return EndClass.UNTRUSTED
    if report.session_class is SessionClass.CLEAN and tells_tools and not report.event_counts.get("tool_call"):
        return EndClass.NO_OP
    return EndClass(report.session_class.value)


def trusted(report: SessionReport) -> bool:
    """Tell whether a session's stream can be believed; of one that can't, nothing is counted and nothing concluded.

    It can't when output was lost, or when more than half of its events are lines that no rule knows, a few excepted;
    nor when its processes could not be proven dead.
    """
    if report.output_lost or not report.death_proven:
        return False
    return report.unrecognised < UNRECOGNISED_FEW or 2 * report.unrecognised <= sum(report.event_counts.values())


def guessed(report: SessionReport) -> bool:
    """Tell whether a passing failure was only guessed: nothing that the program typed says so."""
    told = ("error", "retrying", "limit")
    return report.session_class is SessionClass.TRANSIENT and not any(report.event_counts.get(kind) for kind in told)
