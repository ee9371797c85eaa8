"""How a person stops or pauses the loop: signals and orders become one state that everything below consults.

The first Ctrl-C drains, the second ends the sessions; SIGTERM ends them at once.
"""

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio

from workloop.driver.scheduling.situation import Halt
from workloop.driver.seam import run_sync
from workloop.driver.switches import NoSwitches, Orders, Switches

OPERATOR_STOP = "operator stop"
LOOK_SECONDS = 1.0


@dataclass(slots=True)
class Control:
    """What has been asked of the loop so far; `changed` is called when something was."""

    changed: Callable[[], None] = lambda: None
    asked: anyio.Event = field(default_factory=anyio.Event)
    draining: bool = False
    forced: anyio.Event = field(default_factory=anyio.Event)
    signal_number: int = 0
    reason: str = ""
    halted: bool = False
    switches: Switches = field(default_factory=NoSwitches)
    pauses: Mapping[str, Halt] = field(default_factory=dict[str, Halt])
    opened: Callable[[str], None] = lambda _gate: None
    stamp: int = -1

    def drain(self, reason: str = "it was asked to stop") -> None:
        """Claim nothing more; what runs may finish."""
        self.draining = True
        self.reason = self.reason or reason
        self.asked.set()
        self.changed()

    def force(self, number: int = 0, reason: str = "it was told to stop at once") -> None:
        """End what runs, too."""
        self.signal_number = self.signal_number or number
        self.drain(reason)
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

    async def obey(self) -> None:
        """Take orders that came or went since the last look."""
        stamp = await run_sync(self.switches.stamp)
        if stamp != self.stamp:
            self.stamp = stamp
            self.take(await run_sync(self.switches.read))

    async def watch(self) -> None:
        """Take orders as they come, also while everything else waits."""
        if isinstance(self.switches, NoSwitches):
            return
        while True:
            await anyio.sleep(LOOK_SECONDS)
            await self.obey()

    def take(self, orders: Orders) -> None:
        """Make orders hold."""
        if orders.halt is not None:
            self.halted = True
            self.drain(f"it is halted: {orders.halt}" if orders.halt else "it is halted")
        if orders.stop is not None:
            if orders.at_once:
                self.force()
            else:
                self.drain()
        if orders.pauses != self.pauses:
            self.pauses = orders.pauses
            self.changed()
        for gate in orders.opened:
            self.opened(gate)
