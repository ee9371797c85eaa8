"""What a host's own loop wrote and said: kept here, counted by the hour, and held against what really happened."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup
from checkers import fail
from stage import Stage
from world import World

from workloop.domain.clock import Instant
from workloop.domain.journal import Decision, SessionRow, SubjectKind, Verb
from workloop.driver.control import Control
from workloop.driver.scheduling.blocks import Code
from workloop.driver.scheduling.scheduler import Decision as Choice
from workloop.driver.turn.desk import LoopParts
from workloop.driver.turn.loop import Loop
from workloop.driver.turn.taking_up import KILLED
from workloop.store.journal.memory import MemoryJournal

TURNS_HOUR_MAX = 400 + 720
"""A few looks for each change of a store, and one each five seconds while all places of the machine are taken."""
SAID_HOUR_MAX = 60
QUIET_KINDS = frozenset({"agent", "session", "ended", "claimed"})


class SimJournal(MemoryJournal):
    """A journal that remembers how long a target waited while others were served."""

    def __init__(self) -> None:
        super().__init__()
        self.passed_over: Counter[str] = Counter()
        self.longest: Counter[str] = Counter()

    def decide(self, decisions: Sequence[Decision], at: Instant) -> int:
        """Keep decisions, and count for each target that waits for its turn how many others were started before it."""
        started = {row.subject.name for row in decisions if row.subject.kind is SubjectKind.TARGET and began(row)}
        for row in decisions:
            name = row.subject.name
            if row.subject.kind is not SubjectKind.TARGET:
                continue
            waits = row.verb is Verb.SKIP and row.code == Code.TURN.value
            self.passed_over[name] = self.passed_over[name] + bool(started) if waits else 0
            self.longest[name] = max(self.longest[name], self.passed_over[name])
        return super().decide(decisions, at)


def began(row: Decision) -> bool:
    """Tell whether a decision gives a target a session of its own."""
    return row.verb is Verb.START


@dataclass
class Books:
    """What the loops of one host did and said, hour by hour."""

    name: str
    turns: Counter[int] = field(default_factory=Counter[int])
    said: Counter[tuple[int, str]] = field(default_factory=Counter[tuple[int, str]])

    def tell(self, kind: str) -> None:
        """Count what is said."""
        if kind not in QUIET_KINDS:
            self.said[hour(), kind] += 1

    def check(self) -> list[str]:
        """Return which hours were hot or loud."""
        hot = [f"{self.name} took {n} turns in hour {at}" for at, n in self.turns.items() if n > TURNS_HOUR_MAX]
        loud = [
            f"{self.name} said {kind!r} {count} times in hour {at}"
            for (at, kind), count in self.said.items()
            if count > SAID_HOUR_MAX
        ]
        return hot + loud


def hour() -> int:
    """Return the hour of the night."""
    return int(anyio.current_time() // 3600)


class CountedLoop(Loop):
    """A loop whose turns are counted."""

    def __init__(self, parts: LoopParts, control: Control, books: Books, world: World) -> None:
        super().__init__(parts, control)
        self.books = books
        self.world = world

    async def turn(self, attempts: TaskGroup) -> Choice | None:
        """Take one turn."""
        self.books.turns[hour()] += 1
        if self.books.turns[hour()] > TURNS_HOUR_MAX * 10:
            fail(self.world, f"{self.books.name} turns without end")
        return await super().turn(attempts)


def unborn(row: SessionRow) -> bool:
    """Tell whether a session is said not to have run: there was no room for it, or its loop died before its start."""
    return row.detail == KILLED or row.detail.startswith("not run to its end")


def check_journal(name: str, journal: SimJournal, stage: Stage, bystanders: int) -> list[str]:
    """Each session of a host is booked once, with its price and for what it was; and nobody waits too long."""
    records = {one.session_id: one for one in stage.records.values() if one.host == name}
    rows = journal.session_rows
    broken = [f"{name} booked {one}, which never ran" for one in rows.keys() - records.keys() if not unborn(rows[one])]
    for one in records.values():
        row = rows.get(one.session_id)
        if row is None:
            broken.append(f"{name} never booked {one.session_id} on {one.key or one.target}")
        elif not one.killed and row.cost_micros != one.spent:
            broken.append(f"{name} booked {row.cost_micros} for {one.session_id}, which cost {one.spent}")
        elif row.probe is not one.probe:
            broken.append(f"{name} booked {one.session_id} as probe={row.probe}")
        elif row.ended_at is None:
            broken.append(f"{name} never booked the end of {one.session_id}")
    tries = sum(gate.probes for gate in journal.gate_rows.values())
    probes = sum(one.probe for one in records.values())
    if probes > tries:
        broken.append(f"{name} sent {probes} probes and booked {tries}")
    for target, count in journal.longest.items():
        if count > bystanders:
            broken.append(f"{target} waited on {name} while others were served {count} times")
    return broken
