"""What counts as progress, and when the lack of it makes an item wait, a target slow down, or a brake close.

Progress is a fact outside our own bookkeeping: a new commit, a check that went green, a settled item, a question asked.
Moving an item between states is none. Waiting in a queue is not counted at all. What a person decides outranks a brake.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.question import Brake
from workloop.domain.reader import Json, JsonObject
from workloop.domain.verdict import Outcome

MINUTE_US: Final = 60 * SECOND_US
PROGRESS: Final = "progress"
"""The field of a claim's report in which the host says whether the attempt brought anything."""


class Progress(StrEnum):
    """What a session brought that can be seen from outside."""

    COMMIT = "commit"
    GREEN = "green"
    SETTLED = "settled"
    ASKED = "asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What can be seen of an item's work from outside: the tip of its branch and the checks that are green there."""

    head: str = ""
    green: frozenset[str] = frozenset()


def progress_made(before: Trace, now: Trace, *, settled: bool = False, asked: bool = False) -> tuple[Progress, ...]:
    """Return what an attempt brought, by facts that the host saw; nothing is an honest answer."""
    found = {
        Progress.COMMIT: bool(now.head) and now.head != before.head,
        Progress.GREEN: bool(now.green - before.green),
        Progress.SETTLED: settled,
        Progress.ASKED: asked,
    }
    return tuple(kind for kind, there in found.items() if there)


class Weight(StrEnum):
    """What an ended attempt means for the brake."""

    FRUITFUL = "fruitful"
    FRUITLESS = "fruitless"
    UNCOUNTED = "uncounted"


UNCOUNTED: Final = frozenset({ClaimEnd.INFRA, ClaimEnd.PARKED, ClaimEnd.SUPERSEDED, ClaimEnd.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """One ended attempt, as the brake sees it."""

    began_at: Instant
    ended_at: Instant
    weight: Weight


def effort_of(claim: Claim) -> Effort | None:
    """Weigh an ended claim; None while it is open."""
    if claim.end is None or claim.ended_at is None:
        return None
    report = report_of(claim)
    return Effort(began_at=claim.claimed_at, ended_at=claim.ended_at, weight=weigh(claim.end, report))


def report_of(claim: Claim) -> JsonObject:
    """Return what was kept of an attempt's own words; nothing when there is none that can be read."""
    try:
        report: Json = json.loads(claim.report or "{}")
    except ValueError:
        return {}
    return report if isinstance(report, Mapping) else {}


def weigh(end: ClaimEnd, report: JsonObject) -> Weight:
    """Weigh the end of a claim: what the host saw come of it, else how it ended; limits are never the item's doing."""
    if report.get(PROGRESS) is True:
        return Weight.FRUITFUL
    if end in UNCOUNTED:
        return Weight.UNCOUNTED
    settled = end is ClaimEnd.COMPLETE and report.get("verdict") != Outcome.INCONCLUSIVE.value
    return Weight.FRUITFUL if settled or end is ClaimEnd.DEFER else Weight.FRUITLESS


@dataclass(frozen=True, slots=True, kw_only=True)
class BrakePolicy:
    """How long an item waits after each fruitless attempt in a row; one more than there are waits parks it."""

    waits_us: tuple[int, ...] = (15 * MINUTE_US, 30 * MINUTE_US)


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """Where an item stands with its brake: fruitless attempts in a row, until when it waits, whether it is parked."""

    fruitless: int = 0
    wait_until: Instant | None = None
    park: bool = False


def going(
    efforts: Iterable[Effort],
    decided_at: Iterable[Instant] = (),
    outside_at: Iterable[Instant] = (),
    policy: BrakePolicy | None = None,
) -> Going:
    """Fold an item's ended attempts since the last word of a person and the last progress from elsewhere.

    Attempts that ended before either are forgotten. One that was under way at that time counts, for it did end without
    fruit, but it makes the item neither wait nor park: what it lacked may be there now.
    """
    waits = (policy or BrakePolicy()).waits_us
    cleared = max((*decided_at, *outside_at), default=None)
    streak, last = 0, None
    for effort in sorted(efforts, key=lambda effort: effort.ended_at):
        if effort.weight is Weight.UNCOUNTED or (cleared is not None and effort.ended_at <= cleared):
            continue
        streak = 0 if effort.weight is Weight.FRUITFUL else streak + 1
        last = effort
    if streak == 0 or last is None or (cleared is not None and last.began_at < cleared):
        return Going(fruitless=streak)
    if streak > len(waits):
        return Going(fruitless=streak, park=True)
    return Going(fruitless=streak, wait_until=Instant(last.ended_at + waits[streak - 1]))


class Clearer(StrEnum):
    """Who may want to lift a brake."""

    PERSON = "person"
    OUTSIDE_PROGRESS = "outside_progress"
    REMEDY = "remedy"
    TRACKER = "tracker"
    CAPACITY = "capacity"
    SWEEP = "sweep"


CLEARED_BY: Final = {
    Brake.NO_PROGRESS: frozenset({Clearer.PERSON, Clearer.OUTSIDE_PROGRESS}),
    Brake.VERIFICATION_EXHAUSTED: frozenset({Clearer.PERSON}),
    Brake.REMEDY_NEEDED: frozenset({Clearer.PERSON, Clearer.REMEDY}),
    Brake.TAKEN_ELSEWHERE: frozenset({Clearer.PERSON, Clearer.TRACKER}),
}
"""Each brake has an owner with a predicate; besides it only a person lifts the brake."""


def may_clear(brake: Brake, who: Clearer) -> bool:
    """Tell whether a part of the loop may lift a brake; the return of capacity never lifts one."""
    return who in CLEARED_BY[brake]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacePolicy:
    """How a target slows down: a gap after each fruitless session, and longer waits from the third in a row on."""

    gap_us: int = 10 * SECOND_US
    free: int = 2
    waits_us: tuple[int, ...] = field(default=(15 * MINUTE_US, 30 * MINUTE_US, 60 * MINUTE_US, 120 * MINUTE_US))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a target is worked on: fruitless sessions in a row, and before when none starts."""

    fruitless: int = 0
    not_before: Instant | None = None


def paced(pace: Pace, weight: Weight, ended_at: Instant, policy: PacePolicy | None = None) -> Pace:
    """Return a target's pace after a session; even one that cost nothing leaves a gap, so that none can spin."""
    rules = policy or PacePolicy()
    match weight:
        case Weight.FRUITFUL:
            return Pace()
        case Weight.UNCOUNTED:
            return Pace(fruitless=pace.fruitless, not_before=Instant(ended_at + rules.gap_us))
        case Weight.FRUITLESS:
            fruitless = pace.fruitless + 1
            step = min(fruitless - rules.free, len(rules.waits_us))
            wait_us = rules.waits_us[step - 1] if step > 0 else rules.gap_us
            return Pace(fruitless=fruitless, not_before=Instant(ended_at + wait_us))


def unbraked(pace: Pace) -> Pace:
    """Return a target's pace after an answer, outside progress or a settled item: free again at once."""
    return Pace() if pace.fruitless else pace


def pace_at(pace: Pace, now: Instant) -> Instant:
    """Return from when on a session of the target may start."""
    return now if pace.not_before is None else max(now, pace.not_before)
