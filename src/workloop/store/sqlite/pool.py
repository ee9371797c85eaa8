"""How connections are kept for the next transaction and closed when there are enough."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from workloop.domain.errors import Fault, StoreUnavailable
from workloop.store.sqlite.connection import Connection

IDLE_MAX = 4


class Pool:
    """A bounded stack of idle connections of this process."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self.connect = connect
        self.idle: list[Connection] = []
        self.closed = False
        self.lock = threading.Lock()

    def take(self) -> Connection:
        """Return an idle connection or a new one."""
        with self.lock:
            if self.closed:
                raise StoreUnavailable("STORE_CLOSED", "the store is closed", retryable=False)
            if self.idle:
                return self.idle.pop()
        return self.connect()

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next taker, or close it when there are enough."""
        with self.lock:
            if not self.closed and len(self.idle) < IDLE_MAX:
                self.idle.append(connection)
                return
        connection.close()

    @contextmanager
    def borrowed(self) -> Generator[Connection]:
        """Lend a connection; one that cannot even roll back is closed and forgotten."""
        connection = self.take()
        try:
            yield connection
        except BaseException:
            try:
                connection.rollback()
            except Fault:
                connection.close()
                raise
            self.give_back(connection)
            raise
        self.give_back(connection)

    def close(self) -> None:
        """Close the idle connections, and the borrowed ones as they come back."""
        with self.lock:
            self.closed = True
            idle, self.idle = self.idle, []
        for connection in idle:
            connection.close()
