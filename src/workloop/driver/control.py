"""How a person stops the loop: the first Ctrl-C drains, the second ends the sessions; SIGTERM ends them at once."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

OPERATOR_STOP = "operator stop"


@dataclass(slots=True)
class Control:
    """What has been asked of the loop so far."""

    changed: Callable[[], None] = lambda: None
    asked: anyio.Event = field(default_factory=anyio.Event)
    draining: bool = False
    forced: anyio.Event = field(default_factory=anyio.Event)
    signal_number: int = 0

    def drain(self) -> None:
        """Claim nothing more; what runs may finish."""
        self.draining = True
        self.asked.set()
        self.changed()

    def force(self, number: int) -> None:
        """End what runs, too."""
        self.signal_number = number
        self.draining = True
        self.asked.set()
        self.forced.set()
        self.changed()

    async def listen(self) -> None:
        """Turn signals into requests until cancelled."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                if number == signal.SIGTERM or self.draining:
                    self.force(int(number))
                else:
                    self.drain()
