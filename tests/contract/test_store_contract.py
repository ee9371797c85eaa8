"""Every store keeps every promise of the contract."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from workloop.store.memory import MemoryStore
from workloop.store.port import Store
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.testing.clocks import FakeClock, SeededIds
from workloop.testing.store_contract import PROMISES, MakeStore, campaigns, items, lists, records, transactions


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    made: list[Store] = []

    def make(clock: FakeClock) -> Store:
        ids = SeededIds(len(made))
        settings = SqliteSettings(path=tmp_path / f"{len(made)}.db", poll_seconds=0.005)
        made.append(MemoryStore(clock, ids) if request.param == "memory" else SqliteStore(settings, clock, ids))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_store_keeps_its_promise(promise: Callable[[MakeStore], None], make_store: MakeStore) -> None:
    """Design 3.4 and 3.5: one conformance suite runs on every store."""
    promise(make_store)


@pytest.mark.parametrize("module", [campaigns, items, lists, records, transactions], ids=lambda module: module.__name__)
def test_no_promise_is_left_out_of_the_list(module: ModuleType) -> None:
    """A promise that is written but not listed would never run."""
    written = {
        function
        for function in vars(module).values()
        if isinstance(function, FunctionType)
        and function.__module__ == module.__name__
        and tuple(function.__annotations__) == ("make_store", "return")
    }
    assert written - set(PROMISES) == set()
