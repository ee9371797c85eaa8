"""How a store can be made to fail at any one of its calls, so that a test can try them all."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import cast

from workloop.domain.errors import StoreUnavailable
from workloop.domain.ids import EventId
from workloop.store.port import Reading, Store, Writing


class Countdown:
    """Counts calls and fails at one of them; `fired` tells whether the run got that far."""

    def __init__(self, fail_at: int) -> None:
        self.fail_at = fail_at
        self.calls = 0
        self.fired: str | None = None

    def step(self, name: str) -> None:
        """Count one call, and fail if it is the one."""
        self.calls += 1
        if self.calls == self.fail_at:
            self.fired = name
            raise StoreUnavailable("STORE_BUSY", f"injected at call {self.calls}: {name}")


class FaultyTransaction:
    """A transaction that counts every operation before it happens."""

    def __init__(self, inner: Reading, countdown: Countdown) -> None:
        self.inner = inner
        self.countdown = countdown

    def __getattr__(self, name: str) -> object:
        found = getattr(self.inner, name)
        if not callable(found):
            return found

        def counted(*arguments: object, **options: object) -> object:
            self.countdown.step(name)
            return found(*arguments, **options)

        return counted


class FaultyStore:
    """A store of which call number `fail_at` fails: beginning, each operation and committing all count.

    A run that ends with `fired` still None has met no fault; the anomaly loop stops there.
    """

    def __init__(self, store: Store, fail_at: int) -> None:
        self.store = store
        self.countdown = Countdown(fail_at)

    @property
    def fired(self) -> str | None:
        """Return the name of the call that failed, if any did."""
        return self.countdown.fired

    @contextmanager
    def transaction(self, name: str, begin: Callable[[], AbstractContextManager[Reading]]) -> Generator[Reading]:
        """Begin a transaction whose beginning and end may fail; a failing end rolls back."""
        self.countdown.step(f"{name}_begin")
        with begin() as inner:
            yield cast("Reading", FaultyTransaction(inner, self.countdown))
            self.countdown.step(f"{name}_end")

    def write(self) -> AbstractContextManager[Writing]:
        """Begin a write transaction that may fail."""
        return cast("AbstractContextManager[Writing]", self.transaction("write", self.store.write))

    def read(self) -> AbstractContextManager[Reading]:
        """Begin a read that may fail."""
        return self.transaction("read", self.store.read)

    def changes(self, stopped: Callable[[float], bool]) -> Iterator[EventId]:
        """Pass the feed on."""
        return self.store.changes(stopped)

    def close(self) -> None:
        """Close the store beneath."""
        self.store.close()
