"""The event loop hears of what another process writes to a SQLite file."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from workloop.domain.errors import IntegrityFault
from workloop.domain.ids import EventId
from workloop.service.feed import changed
from workloop.store.memory import MemoryStore
from workloop.store.port import Store
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.testing.clocks import FakeClock, SeededIds
from workloop.testing.store_contract.rows import new_item, stage

WRITER = """
import sys
from pathlib import Path
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.store.system import SystemClock, SystemIds
from workloop.testing.store_contract.rows import Stage, new_item
store = SqliteStore(SqliteSettings(path=Path(sys.argv[1])), SystemClock(), SystemIds())
with store.read() as view:
    campaign = view.campaigns()[0]
for number in range(2, 5):
    sys.stdin.readline()
    Stage(store=store, clock=None, campaign=campaign).add(new_item(number))
store.close()
"""
BOUND_SECONDS = 90.0


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def sqlite_store(path: Path) -> SqliteStore:
    return SqliteStore(SqliteSettings(path=path), FakeClock(), SeededIds())


@pytest.mark.anyio
async def test_a_write_by_another_process_wakes_a_waiting_task(tmp_path: Path) -> None:
    """Decision 0001."""
    path = tmp_path / "w.db"
    on = stage(lambda clock: SqliteStore(SqliteSettings(path=path), clock, SeededIds()))
    on.add(new_item(1))
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as child, anyio.fail_after(BOUND_SECONDS):
        assert child.stdin is not None
        async with changed(on.store) as wait:
            assert await wait() == 1
            for newest in (2, 3, 4):
                child.stdin.write("\n")
                child.stdin.flush()
                while await wait() < newest:
                    pass
        child.stdin.close()
        assert child.wait(BOUND_SECONDS) == 0
    on.store.close()


@pytest.mark.anyio
async def test_cancelling_the_waiter_ends_the_thread(tmp_path: Path) -> None:
    """Decision 0001: leaving the block by cancellation leaves no thread and no connection behind."""
    store = sqlite_store(tmp_path / "w.db")
    open_files: list[int] = []
    for _ in range(3):
        with anyio.fail_after(BOUND_SECONDS), anyio.CancelScope() as scope:
            async with changed(store) as wait:
                await wait()
                scope.cancel()
                await wait()
        assert scope.cancelled_caught
        open_files.append(len(list(Path("/proc/self/fd").iterdir())))
    assert open_files[0] == open_files[1] == open_files[2]
    store.close()


@pytest.mark.anyio
async def test_many_changes_are_folded_into_one() -> None:
    """Decision 0001: a slow reader is told once."""
    on = stage(lambda clock: MemoryStore(clock, SeededIds()))
    with anyio.fail_after(BOUND_SECONDS):
        async with changed(on.store) as wait:
            await wait()
            for number in range(1, 30):
                on.add(new_item(number))
            newest = EventId(0)
            calls = 0
            while newest < 29:
                newest = await wait()
                calls += 1
    assert calls < 29


class DeadStore(MemoryStore):
    """A store whose feed fails after its first announcement."""

    def changes(self, stopped: Callable[[float], bool]) -> Iterator[EventId]:
        del stopped
        yield EventId(0)
        raise IntegrityFault("STORE_CORRUPT", "damaged")


@pytest.mark.anyio
async def test_a_dead_feed_raises_where_it_is_awaited() -> None:
    """A failure in the thread is not swallowed."""
    store: Store = DeadStore(FakeClock(), SeededIds())
    with anyio.fail_after(BOUND_SECONDS):
        async with changed(store) as wait:
            await wait()
            with pytest.raises(IntegrityFault):
                await wait()


class NotifyingStore(MemoryStore):
    """A store whose feed has the shape of psycopg: a blocking read with a time-out, then a look at `stopped`."""

    def __init__(self, clock: FakeClock, ids: SeededIds) -> None:
        super().__init__(clock, ids)
        self.notified = threading.Condition()
        self.notes: list[EventId] = []

    def notify(self, newest: EventId) -> None:
        with self.notified:
            self.notes.append(newest)
            self.notified.notify_all()

    def notifies(self, seconds: float) -> list[EventId]:
        with self.notified:
            self.notified.wait_for(lambda: self.notes, seconds)
            found, self.notes = self.notes, []
        return found

    def changes(self, stopped: Callable[[float], bool]) -> Iterator[EventId]:
        while not stopped(0.0):
            yield from self.notifies(0.05)


@pytest.mark.anyio
async def test_a_feed_that_blocks_by_itself_serves_as_well() -> None:
    """Decision 0001: `stopped(0)` between bounded blocking reads is all that a notifying store needs."""
    store = NotifyingStore(FakeClock(), SeededIds())
    with anyio.fail_after(BOUND_SECONDS):
        async with changed(store) as wait:
            store.notify(EventId(7))
            assert await wait() == 7
