"""Every journal keeps every promise of the contract."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType

import pytest

from workloop.store.journal.memory import MemoryJournal
from workloop.store.journal.port import Journal
from workloop.store.journal.sqlite import SqliteJournal
from workloop.testing import journal_contract
from workloop.testing.journal_contract import PROMISES, OpenJournal


@pytest.fixture(params=["memory", "sqlite"])
def open_journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenJournal]:
    memory = MemoryJournal()
    made: list[Journal] = []

    def fail(fault: Exception, aside: Path) -> None:
        raise AssertionError(f"{fault}: set aside as {aside}")

    def make() -> Journal:
        for journal in made:
            journal.close()
        made[:] = [memory if request.param == "memory" else SqliteJournal(tmp_path / "journal.db", fail)]
        return made[-1]

    yield make
    for journal in made:
        journal.close()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_journal_keeps_its_promise(promise: Callable[[OpenJournal], None], open_journal: OpenJournal) -> None:
    promise(open_journal)


def test_no_promise_of_the_journal_is_left_out_of_the_list() -> None:
    """A promise that is written but not listed would never run."""
    written = {
        function
        for function in vars(journal_contract).values()
        if isinstance(function, FunctionType) and tuple(function.__annotations__) == ("open_journal", "return")
    }
    assert written - set(PROMISES) == set()
