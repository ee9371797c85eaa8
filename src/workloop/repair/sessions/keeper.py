"""Where the sessions of a bench run live: in a loop and a thread of the supervisor's, apart from the driver's."""

import asyncio
import threading

from workloop.repair.sessions.means import Means
from workloop.repair.sessions.shift import Bounds, Shift

STOP_SECONDS = 5.0


class Keeper:
    """Runs the sessions of all phases; the thread lives as long as the run, because a session dies with it."""

    def __init__(self, means: Means) -> None:
        self.means = means
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="workloop-sessions", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def shift(self, bounds: Bounds) -> Shift:
        """Begin a phase's sessions; what this thread and the supervisor's start is their own."""
        own = frozenset(ident for ident in (self.thread.ident, threading.get_ident()) if ident is not None)
        return Shift(self.loop, own, self.means, bounds)

    def stop(self) -> None:
        """End the loop, in which nothing runs any more."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(STOP_SECONDS)
