"""Whatever store operation fails, nothing is half done, and going on from there ends as if nothing had happened."""

from pathlib import Path

import pytest

from queue_bench import SLUG, Bench, bench_on, make_store, settings
from queue_story import Story
from workloop.domain.errors import StoreUnavailable
from workloop.service.call import Queue
from workloop.store.port import Store
from workloop.testing.clocks import FakeClock, SeededIds
from workloop.testing.faults import FaultyStore
from workloop.testing.snapshot import Snapshot

FAULTS_MAX = 5000


def outline(snapshot: Snapshot) -> object:
    """Return what must be the same however often the story was broken off: everything but ids, tokens and times."""
    keys = {dossier.item.id: dossier.item.key for dossier in snapshot.dossiers.values()}
    return sorted(
        (
            dossier.item.key,
            dossier.item.state.value,
            (dossier.item.attempts, dossier.item.expiries, dossier.item.infra, dossier.item.fence),
            (dossier.item.blockers, dossier.item.round, dossier.item.verifiers, dossier.item.rejections),
            tuple(claim.end.value if claim.end else "" for claim in dossier.claims),
            tuple((piece.kind.value, piece.ref, piece.slot or "") for piece in dossier.evidence),
            tuple((row.round, row.ref, row.state.value) for row in dossier.candidates),
            tuple((fact.kind.value, fact.ref) for fact in dossier.facts),
            tuple((question.name, question.answer or "") for question in dossier.questions),
            tuple(sorted((keys[edge.needs_id], edge.until, edge.met) for edge in dossier.edges)),
            tuple(sorted((event.action, *sorted(event.changes)) for event in dossier.events)),
        )
        for dossier in snapshot.dossiers.values()
    ), [(lane.name, lane.state.value, lane.grant) for lane in snapshot.lanes]


def told_whole(bench: Bench) -> object:
    """Tell the story without a fault."""
    Story(bench.queue, bench.clock).tell()
    return outline(bench.snapshot())


def reopened(backend: str, bench: Bench) -> Store:
    """Close and open a store again, where it has a file."""
    if backend == "memory":
        return bench.store
    bench.store.close()
    return make_store(backend, bench.place, bench.clock)


def fresh(backend: str, place: Path) -> Bench:
    """Make a campaign in a new store."""
    place.mkdir()
    clock = FakeClock()
    return bench_on(make_store(backend, place, clock), clock, place, settings(slots=9))


def run_with_faults(backend: str, tmp_path: Path, faults: range) -> bool:
    """Fail each of some calls in turn; tells whether the last of them was never reached."""
    whole = told_whole(fresh(backend, tmp_path / "whole"))
    for number in faults:
        bench = fresh(backend, tmp_path / str(number))
        faulty = FaultyStore(bench.store, number)
        story = Story(Queue(store=faulty, ids=SeededIds(3), slug=SLUG), bench.clock)
        try:
            story.tell()
        except StoreUnavailable:
            assert faulty.fired
        store = reopened(backend, bench)
        again = Bench(store, Queue(store=store, ids=SeededIds(4), slug=SLUG), bench.clock, bench.place)
        assert again.broken() == [], faulty.fired
        story.queue = again.queue
        story.tell()
        assert again.broken() == [], faulty.fired
        assert outline(again.snapshot()) == whole, faulty.fired
        store.close()
        if faulty.fired is None:
            return True
    return False


@pytest.mark.parametrize(("backend", "stride"), [("memory", 13), ("sqlite", 47)])
def test_a_failing_operation_leaves_the_store_whole(backend: str, stride: int, tmp_path: Path) -> None:
    """DESIGN 3.4, 3.5: the Nth operation fails, for some N up to the first that meets no fault."""
    assert run_with_faults(backend, tmp_path, range(1, FAULTS_MAX, stride))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_any_failing_operation_leaves_the_store_whole(backend: str, tmp_path: Path) -> None:
    """DESIGN 3.4, 3.5: as above, for every N."""
    assert run_with_faults(backend, tmp_path, range(1, FAULTS_MAX))
