"""How changes by any process are noticed: the file's data version, polled by a connection that never writes."""

from collections.abc import Callable, Iterator

from workloop.domain.ids import EventId
from workloop.store.sqlite.connection import Connection

QUIET_POLLS = 100
QUIET_FACTOR = 2


def watch(
    connection: Connection, newest: str, poll_seconds: float, stopped: Callable[[float], bool], idle: Callable[[], None]
) -> Iterator[EventId]:
    """Yield the newest event at once and then after changes.

    When they have ceased for a while, `idle` is called once and the polls come half as often.
    """
    seen: object = None
    quiet = 0
    while True:
        version = connection.one("PRAGMA data_version")
        quiet += 1
        if version != seen:
            seen, quiet = version, 0
            row = connection.one(newest)
            yield EventId(0 if row is None else row[0])
        elif quiet == QUIET_POLLS:
            idle()
        if stopped(poll_seconds if quiet < QUIET_POLLS else poll_seconds * QUIET_FACTOR):
            return
