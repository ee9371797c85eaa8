"""Each of the ten promises can be seen broken: a doctored snapshot is told, by its number."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from queue_bench import Bench, open_bench
from queue_story import Story
from workloop.domain.item import TERMINAL, State
from workloop.domain.lane import LaneState
from workloop.testing.invariants import check_snapshot, compare
from workloop.testing.snapshot import Dossier, Snapshot, take_at


@pytest.fixture
def told(tmp_path: Path) -> Bench:
    """A campaign in which everything has happened."""
    bench = open_bench("memory", tmp_path, slots=9)
    Story(bench.queue, bench.clock).tell()
    return bench


def doctored(snapshot: Snapshot, key: str, **changes: Any) -> Snapshot:
    """Return a snapshot with one dossier changed."""
    found = next(dossier for dossier in snapshot.dossiers.values() if dossier.item.key == key)
    return replace(snapshot, dossiers={**snapshot.dossiers, found.item.id: replace(found, **changes)})


def of(snapshot: Snapshot, key: str) -> Dossier:
    """Return one dossier."""
    return next(dossier for dossier in snapshot.dossiers.values() if dossier.item.key == key)


def item(snapshot: Snapshot, key: str, **changes: Any) -> Snapshot:
    """Return a snapshot with one item changed."""
    return doctored(snapshot, key, item=replace(of(snapshot, key).item, **changes))


def held_by_nobody(snapshot: Snapshot) -> Snapshot:
    """Let a lane be held by a claim that has ended."""
    lanes = [
        replace(lane, state=LaneState.HELD, item_id=of(snapshot, "seen").item.id, fence=1) for lane in snapshot.lanes
    ]
    return replace(snapshot, lanes=tuple(lanes))


def without_receipts(snapshot: Snapshot) -> Snapshot:
    """Take the receipts from the verifier that passed the built item."""
    return doctored(snapshot, "built~v2", evidence=())


def stirred(snapshot: Snapshot) -> Snapshot:
    """Let something happen to an item that is over."""
    over = of(snapshot, "built")
    last = over.events[-1]
    more = replace(last, n=last.n + 1, id=type(last.id)(last.id + 1000), changes={})
    return doctored(snapshot, "built", events=(*over.events, more), item=replace(over.item, events=last.n + 1))


def passed_in_spite(snapshot: Snapshot) -> Snapshot:
    """Let a check have failed on the commit that passed."""
    seen = of(snapshot, "built").check_verdicts
    return doctored(snapshot, "built", check_verdicts=tuple(replace(one, result="failed") for one in seen))


BREAKS: dict[int, Callable[[Snapshot], Snapshot]] = {
    1: lambda s: replace(s, slots=tuple(replace(slot, item_id=None, executor=None) for slot in s.slots)),
    2: lambda s: item(s, "idea", state=State.IN_PROGRESS),
    3: lambda s: item(s, "tried", attempts=99),
    4: lambda s: doctored(s, "built", verdicts=()),
    5: without_receipts,
    6: lambda s: item(s, "idea", blockers=1),
    7: held_by_nobody,
    8: lambda s: doctored(s, "idea", events=of(s, "idea").events[:-1]),
    9: stirred,
    10: lambda s: doctored(s, "built~v2", item=replace(of(s, "built~v2").item, key="built~v1")),
}


@pytest.mark.parametrize("number", sorted(BREAKS))
def test_a_broken_promise_is_told_by_its_number(told: Bench, number: int) -> None:
    """DESIGN 3.4: no promise passes because its check cannot fail."""
    snapshot, now = take_at(told.store, told.queue.slug)
    assert check_snapshot(snapshot, now) == []
    broken = check_snapshot(BREAKS[number](snapshot), now)
    assert str(number) in {line.partition(":")[0] for line in broken}


LIES: list[Callable[[Snapshot], Snapshot]] = [
    passed_in_spite,
    lambda s: doctored(s, "built", check_verdicts=()),
    lambda s: doctored(s, "built", check_verdicts=of(s, "built").check_verdicts * 2),
]


@pytest.mark.parametrize("lie", LIES)
def test_a_verdict_of_a_check_that_its_receipts_do_not_bear_is_told(
    told: Bench, lie: Callable[[Snapshot], Snapshot]
) -> None:
    """DESIGN 3.4, 5: a check has one verdict on a commit."""
    snapshot, now = take_at(told.store, told.queue.slug)
    assert {line.partition(":")[0] for line in check_snapshot(lie(snapshot), now)} == {"5"}


def test_what_is_lost_or_rewritten_between_two_moments_is_told(told: Bench) -> None:
    """DESIGN 3.4, 3, 8 and 9: counters, events and terminal rows are compared over time."""
    snapshot = told.snapshot()
    assert compare(snapshot, snapshot) == []
    over = next(d.item.key for d in snapshot.dossiers.values() if d.item.state in TERMINAL)
    gone = replace(snapshot, dossiers=dict(list(snapshot.dossiers.items())[1:]))
    assert compare(snapshot, gone)[0].startswith("8")
    assert compare(snapshot, item(snapshot, over, title="other"))[0].startswith("9")
    assert compare(snapshot, item(snapshot, "tried", fence=0))[-1].startswith("3")
    assert compare(snapshot, doctored(snapshot, "built", check_verdicts=()))[0].startswith("5")
    assert compare(passed_in_spite(snapshot), snapshot)[0].startswith("5")
