"""Real processes on one store file: one owner each, nothing twice, nothing lost."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from queue_children import (
    Crew,
    Report,
    Work,
    burst,
    completion,
    create,
    create_same,
    drain,
    hurry,
    open_queue,
    overlapped,
    resume,
    some_overlap,
    start_cold,
    try_claim,
)

from queue_bench import ANN, HOST, SLUG, settings, sha
from workloop.domain.campaign import Ceilings
from workloop.domain.happening import Event
from workloop.domain.item import TERMINAL
from workloop.service.answering import park_item
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign, tend
from workloop.service.perform import perform, run_as_host
from workloop.testing.invariants import check_invariants, compare
from workloop.testing.snapshot import Snapshot, take


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    """A campaign with many slots in a file."""
    made = open_queue(tmp_path / "queue.db")
    create_campaign(made.store, SLUG, settings(slots=40, ceilings=Ceilings(expiries_max=100, attempts_max=100)))
    return made


def together(queue: Queue, tmp_path: Path, work: Work, count: int) -> list[Report]:
    """Let children work at the same time, and check every promise when they have ended."""
    reports = Crew(tmp_path / "queue.db", work, count).reports()
    assert some_overlap(reports)
    assert check_invariants(queue.store, SLUG) == []
    return reports


def add(queue: Queue, *items: dict[str, Any]) -> None:
    """Add items."""
    for start in range(0, len(items), 500):
        perform(queue, ANN, "add_items", {"items": [{"title": "t", **item} for item in items[start : start + 500]]})


def test_a01_one_of_32_claimers_wins(queue: Queue, tmp_path: Path) -> None:
    """A01: 32 processes claim one item: one winner, and each loser is told by whom and until when it is held."""
    add(queue, {"key": "x"})
    results = [report.result for report in together(queue, tmp_path, try_claim, 32)]
    assert results.count("won") == 1
    lost = [result.split() for result in results if result != "won"]
    assert all(len(words) == 3 and words[0] == "KEY_NOT_CLAIMABLE" for words in lost)
    assert len({(holder, until) for _, holder, until in lost}) == 1


def test_a02_two_processes_drain_a_thousand_items_without_a_duplicate(queue: Queue, tmp_path: Path) -> None:
    """A02: 1000 items, two processes: a thousand done, none twice, and both took part at the same time."""
    add(queue, *({"key": f"item-{number}", "verification": "none"} for number in range(1000)))
    reports = together(queue, tmp_path, drain, 2)
    done = Counter(key for report in reports for key in report.result)
    assert (len(done), sum(done.values())) == (1000, 1000)
    assert overlapped(reports)
    assert all(report.result for report in reports)


def test_a26_sixty_four_concurrent_creates_all_succeed(queue: Queue, tmp_path: Path) -> None:
    """A26: writers wait for their turn; none is turned away."""
    results = [report.result for report in together(queue, tmp_path, create, 64)]
    assert results == ["added"] * 64
    assert len(take(queue.store, SLUG).dossiers) == 64


def test_a27_the_same_key_added_at_once_is_one_item(queue: Queue, tmp_path: Path) -> None:
    """A27: one call makes it, every other gets the same item."""
    results = Counter(report.result for report in together(queue, tmp_path, create_same, 16))
    assert results == {"added": 1, "unchanged": 15}
    assert len(take(queue.store, SLUG).dossiers) == 1


def test_a29_two_hosts_that_start_together_share_the_items(queue: Queue, tmp_path: Path) -> None:
    """A29: cold start of two processes on four items: each item once. One store; fleets on PostgreSQL come later."""
    add(queue, *({"key": f"item-{number}"} for number in range(4)))
    keys = [key for report in together(queue, tmp_path, start_cold, 2) for key in report.result]
    assert sorted(keys) == [f"item-{number}" for number in range(4)]


def test_a38_sixteen_concurrent_answers_resume_once(queue: Queue, tmp_path: Path) -> None:
    """A38: resuming is compare-and-set: one answer makes the verifier, the others get the first result."""
    add(queue, {"key": "x"})
    taken = perform(queue, ANN, "claim", {"holder": "h", "key": "x"})
    perform(queue, ANN, "complete", completion(taken, 1))
    run_as_host(queue, HOST, "park_item", lambda call: park_item(call, "x", "no_progress", "What now?", ""))
    results = Counter(report.result for report in together(queue, tmp_path, resume, 16))
    assert results == {"x~v2": 1, "replayed": 15}


def crowd(queue: Queue) -> None:
    """Add work for a crowd: lanes, subjects, dependencies, spares."""
    add(queue, *({"key": f"spare-{number}", "priority": 1000} for number in range(8)))
    for number in range(40):
        more: dict[str, Any] = {"lane": "browser"} if number % 4 == 0 else {}
        if number % 5 == 0:
            more |= {"family": "page", "subject": str(number % 10)}
        if number % 7 == 3:
            more["depends_on"] = [f"item-{number - 1}"]
        add(queue, {"key": f"item-{number}", "rounds_max": 20, **more})


def completions(events: tuple[Event, ...]) -> int:
    """Count the completions that moved an item on."""
    ends = ("candidate", "succeeded")
    return sum(event.action == "complete" and event.changes.get("state") in ends for event in events)


def test_random_schedules_of_six_processes_keep_every_promise(queue: Queue, tmp_path: Path) -> None:
    """DESIGN 3.4: leases of a second on the real clock, six processes, random steps; nothing is done twice."""
    crowd(queue)
    reports = together(queue, tmp_path, hurry, 6)
    assert overlapped(reports)
    said = Counter(key for report in reports for key in report.result)
    assert len(said) > 20
    snapshot = take(queue.store, SLUG)
    for dossier in snapshot.dossiers.values():
        own = [claim for claim in dossier.claims if claim.end is not None and claim.end.value == "complete"]
        assert said[dossier.item.key] == len(own) <= 1
    lapse(queue)
    assert check_invariants(queue.store, SLUG, after_expiry=True) == []


def lapse(queue: Queue) -> None:
    """Give back, as the host at its start does, whatever dead processes held."""
    until = time.monotonic() + 120
    while any(slot.item_id for slot in take(queue.store, SLUG).slots):
        assert time.monotonic() < until
        run_as_host(queue, HOST, "tend", tend)


@pytest.mark.parametrize("seed", range(2))
def test_processes_killed_in_a_burst_leave_nothing_half_done(queue: Queue, tmp_path: Path, seed: int) -> None:
    """DESIGN 9: kill -9 in the middle, many times over one file: settled work stays settled, and the rest goes on."""
    crowd(queue)
    path = tmp_path / "queue.db"
    before: Snapshot = take(queue.store, SLUG)
    for round_number in range(6):
        crew = Crew(path, burst, 3)
        wait_for_events(queue, before, 3 + 7 * round_number + seed)
        crew.kill()
        reopened = open_queue(path)
        assert check_invariants(reopened.store, SLUG) == []
        after = take(reopened.store, SLUG)
        assert compare(before, after) == []
        before = after
        reopened.store.close()
    lapse(queue)
    settled = {dossier.item.id for dossier in before.dossiers.values() if dossier.item.state in TERMINAL}
    drain_all(queue)
    assert check_invariants(queue.store, SLUG, after_expiry=True) == []
    assert compare(before, take(queue.store, SLUG)) == []
    assert settled <= set(take(queue.store, SLUG).dossiers)


def wait_for_events(queue: Queue, before: Snapshot, more: int) -> None:
    """Wait until so many events were written since a snapshot."""
    target = max((event.id for dossier in before.dossiers.values() for event in dossier.events), default=0) + more
    until = time.monotonic() + 120
    for newest in queue.store.changes(lambda seconds: time.monotonic() > until):
        if newest >= target:
            return
    raise AssertionError("the burst wrote too little")


def drain_all(queue: Queue) -> None:
    """Claim and complete whatever is still claimable."""
    for number in range(1000):
        taken = perform(queue, ANN, "claim", {"holder": f"last-{number}"})
        if taken["item"] is None:
            return
        said: dict[str, Any] = completion(taken, 1000 + number)
        if taken["item"]["role"] == "verify":
            seen = [{"kind": "commit", "ref": sha(1)}]
            said = {**said, "verdict": "passed", "evidence": seen}
            del said["outcome"]
        perform(queue, ANN, "complete", said)
