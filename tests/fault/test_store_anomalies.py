"""Whichever call of a store fails, a claim either happened wholly or not at all."""

from pathlib import Path

import pytest

from workloop.domain.errors import StoreUnavailable
from workloop.domain.item import State
from workloop.store.memory import MemoryStore
from workloop.store.port import Store
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.testing.clocks import FakeClock, SeededIds
from workloop.testing.faults import FaultyStore
from workloop.testing.store_contract.rows import Stage, new_item, stage

CALLS_MAX = 60


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore(FakeClock(), SeededIds())
    return SqliteStore(SqliteSettings(path=tmp_path / "w.db"), FakeClock(), SeededIds())


def test_a_fault_at_any_call_leaves_a_whole_claim_or_none(store: Store) -> None:
    """House style 7.5: the anomaly loop runs until a run meets no fault."""
    on = stage(lambda clock: store)
    fired: list[str] = []
    for fail_at in range(1, CALLS_MAX):
        on.add(new_item(fail_at))
        faulty = FaultyStore(store, fail_at)
        seen = Stage(store=faulty, clock=on.clock, campaign=on.campaign)
        try:
            seen.claim(fail_at, "builder")
        except StoreUnavailable:
            assert faulty.fired is not None
            fired.append(faulty.fired)
        claimed = on.item(fail_at).state is State.IN_PROGRESS
        with store.read() as view:
            held = [slot.item_id for slot in view.slots(on.campaign.id) if slot.item_id is not None]
            assert held == ([fail_at] if claimed else [])
            assert len(view.claims_of(on.item(fail_at).id)) == int(claimed)
            assert len(view.events_of(on.item(fail_at).id)) == 1 + int(claimed)
        if faulty.fired is None:
            break
    assert fired == [
        "read_begin", "item_get", "read_end", "write_begin", "slot_take", "item_update", "claim_insert",
        "events_append", "write_end",
    ]  # fmt: skip
