"""How a command reaches the journal of a loop and the queues of all its projects at once, to read."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager

from workloop.config import Settings
from workloop.service.call import Queue
from workloop.store.system import SystemIds
from workloop.wiring import open_store


@contextmanager
def queues_of(settings: Settings) -> Generator[Mapping[str, Queue]]:
    """Open the queues of every project of a loop for reading, by the names of its targets."""
    with ExitStack() as opened:
        found: dict[str, Queue] = {}
        for target in settings.targets:
            store = open_store(target.place, read_only=True)
            opened.callback(store.close)
            found[target.name] = Queue(store=store, ids=SystemIds(), slug=target.campaign)
        yield found
