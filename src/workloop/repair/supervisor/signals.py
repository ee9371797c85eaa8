"""Which signals have come, and that whoever waits is woken by each; what is being written is written to its end."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from workloop.repair.ledger.records import StopReason

REASONS: Final = {signal.SIGINT: StopReason.SIGINT, signal.SIGTERM: StopReason.SIGTERM}


class Signals:
    """Remembers the signals of one run; the first decides the reason, the second takes the grace away."""

    def __init__(self) -> None:
        self.seen: list[StopReason] = []
        self.wake: Callable[[], None] | None = None
        self.hasten: Callable[[], None] | None = None

    @property
    def first(self) -> StopReason | None:
        """Return why the run has to stop, if a signal says so."""
        return self.seen[0] if self.seen else None

    @property
    def impatient(self) -> bool:
        """Tell whether a second signal came: nobody is given time any more."""
        return len(self.seen) > 1

    def note(self, number: int, frame: FrameType | None = None) -> None:
        """Take one signal; may run between any two steps of the program, and does next to nothing."""
        self.seen.append(REASONS[signal.Signals(number)])
        if self.wake is not None:
            self.wake()
        if self.impatient and self.hasten is not None:
            self.hasten()

    @contextmanager
    def hastening(self, hasten: Callable[[], None]) -> Generator[None]:
        """Have somebody told of a second signal for a while, at once if it has come already."""
        self.hasten = hasten
        if self.impatient:
            hasten()
        try:
            yield
        finally:
            self.hasten = None

    @contextmanager
    def installed(self) -> Generator[None]:
        """Take SIGINT and SIGTERM while the run lasts; outside of the main thread nothing is taken."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.note) for number in REASONS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
