"""How the event loop learns of changes: one thread drains the store's feed and wakes one waiting task."""

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio import from_thread, to_thread

from workloop.domain.errors import WorkloopError
from workloop.domain.ids import EventId
from workloop.store.port import Store


class Feed:
    """The newest announcement, kept until somebody asks; older ones are folded into it."""

    def __init__(self) -> None:
        self.newest: EventId | None = None
        self.failure: WorkloopError | None = None
        self.news = anyio.Event()

    def announce(self, newest: EventId) -> None:
        """Note a change and wake the waiter; called on the event loop."""
        self.newest = newest
        self.news.set()

    def fail(self, error: WorkloopError) -> None:
        """Note that the feed is dead and wake the waiter; called on the event loop."""
        self.failure = error
        self.news.set()

    async def wait(self) -> EventId:
        """Wait for a change since the last call and return the newest event's id; raises what ended the feed."""
        while self.newest is None:
            if self.failure is not None:
                raise self.failure
            await self.news.wait()
            self.news = anyio.Event()
        newest, self.newest = self.newest, None
        return newest


def drain(store: Store, stopped: threading.Event, feed: Feed) -> None:
    """Hand every announcement to the event loop until stopped; runs in a thread of its own."""
    try:
        for newest in store.changes(stopped.wait):
            from_thread.run_sync(feed.announce, newest)
    except WorkloopError as error:
        from_thread.run_sync(feed.fail, error)


@asynccontextmanager
async def changed(store: Store) -> AsyncGenerator[Callable[[], Awaitable[EventId]]]:
    """Yield `wait`, which returns after each change of the store, first at once; the thread ends with the block."""
    stopped = threading.Event()
    feed = Feed()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_in_thread, store, stopped, feed)
        try:
            yield feed.wait
        finally:
            stopped.set()


async def run_in_thread(store: Store, stopped: threading.Event, feed: Feed) -> None:
    """Drain in a thread outside the shared pool, so that a feed never takes a place that a claim needs."""
    await to_thread.run_sync(drain, store, stopped, feed, limiter=anyio.CapacityLimiter(1))
