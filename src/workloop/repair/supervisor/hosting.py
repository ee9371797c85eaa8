"""How a driver's callbacks run beside the supervisor: in a loop and a thread of their own, so that nothing a driver
does, not even blocking, keeps the supervisor from its deadlines, its signals and its ledger.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from queue import Empty, SimpleQueue
from traceback import TracebackException
from typing import Final, cast

from workloop.domain.session import head
from workloop.repair.checking import shown
from workloop.repair.supervisor.signals import Signals

ERROR_CHARACTERS_MAX: Final = 4_000
WAIT_MS_MAX: Final = 3_600_000

Monotonic = Callable[[], int]
"""Returns milliseconds that only ever grow."""


class Ending(StrEnum):
    """How a call to a driver ended."""

    RETURNED = "returned"
    RAISED = "raised"
    TIMED_OUT = "timed-out"
    SIGNALLED = "signalled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a call: what was returned or raised, also when that came late, and whether it has ended at all."""

    ending: Ending
    value: object = None
    error: str = ""
    raised: BaseException | None = None
    returned: bool = False
    gone: bool = True
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a driver is waited for, in milliseconds: after an abort, after a cancellation, and for its checks."""

    grace_ms: int = 10_000
    cancel_ms: int = 5_000
    check_ms: int = 900_000
    settle_ms: int = 60_000
    close_ms: int = 60_000


class CallbackExit(RuntimeError):
    """A callback tried to end the whole program."""


def told(error: BaseException) -> str:
    """Write an exception within bounds; one of a driver's own that cannot even be told is told as that."""
    said = TracebackException(type(error), error, None, limit=0, lookup_lines=False)
    return head(f"{type(error).__name__}: {said}", ERROR_CHARACTERS_MAX)


class HostAbort:
    """The abort of one phase: set from the supervisor's thread, waited for in the driver's loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.flag = threading.Event()
        self.event = asyncio.Event()
        self.told: list[Callable[[], None]] = []

    def tell(self, listener: Callable[[], None]) -> None:
        """Have somebody told of it, besides whoever waits."""
        self.told.append(listener)

    def set(self) -> None:
        """Tell the phase to end."""
        self.flag.set()
        for listener in self.told:
            listener()
        self.loop.call_soon_threadsafe(self.event.set)

    def is_set(self) -> bool:
        """Tell whether the phase has to end now."""
        return self.flag.is_set()

    async def wait(self) -> None:
        """Return once the phase has to end."""
        await self.event.wait()


class Call:
    """One call that was handed to the driver's loop; its token comes into the inbox when it has ended."""

    def __init__(self, inbox: SimpleQueue[object]) -> None:
        self.inbox = inbox
        self.done = False
        self.value: object = None
        self.error = ""
        self.raised: BaseException | None = None
        self.task: asyncio.Task[object] | None = None
        self.cancelled = False

    def begin(self, loop: asyncio.AbstractEventLoop, work: Coroutine[object, object, object]) -> None:
        """Start the work; runs in the driver's loop."""
        self.task = loop.create_task(work)
        self.task.add_done_callback(self.end)

    def end(self, task: "asyncio.Task[object]") -> None:
        """Keep how it ended and say so; runs in the driver's loop."""
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            self.error = "it was cancelled"
        elif error is not None:
            self.error, self.raised = told(error), error
        else:
            self.value = task.result()
        self.done = True
        self.inbox.put(self)

    def cancel(self) -> None:
        """End the work where it stands; runs in the driver's loop."""
        if self.task is not None:
            self.task.cancel()


class DriverHost:
    """Runs callbacks in the driver's thread and waits for them in the supervisor's, no longer than is allowed."""

    def __init__(self, monotonic: Monotonic, patience: Patience, signals: Signals) -> None:
        self.monotonic = monotonic
        self.patience = patience
        self.signals = signals
        self.inbox: SimpleQueue[object] = SimpleQueue()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="workloop-driver", daemon=True)
        signals.wake = lambda: self.inbox.put(None)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def abort(self) -> HostAbort:
        """Make the abort of one phase."""
        return HostAbort(self.loop)

    def ask(
        self, work: Callable[[], object], deadline_ms: int, abort: HostAbort, *, heed_signals: bool = True
    ) -> Answer:
        """Make one call and wait for it: until it ends, its deadline passes, or a signal comes; then end it.

        A bill is asked for and a driver is closed also after a signal: those calls heed their deadline only.
        """
        started = self.monotonic()
        call = Call(self.inbox)
        self.loop.call_soon_threadsafe(lambda: call.begin(self.loop, guarded(work)))
        ending = self._wait(call, deadline_ms, heed_signals=heed_signals)
        if ending is not None:
            abort.set()
            self._end(call)
        elapsed = self.monotonic() - started
        if not call.done:
            return Answer(ending=ending or Ending.TIMED_OUT, gone=False, duration_ms=elapsed)
        if ending is None and heed_signals and self.signals.first is not None:
            ending = Ending.SIGNALLED  # it came while the call ended, and that is as good as before
        ended = ending or (Ending.RAISED if call.error else Ending.RETURNED)
        return Answer(
            ending=ended,
            value=call.value,
            error=call.error,
            raised=call.raised,
            returned=not call.error,
            duration_ms=elapsed,
        )

    def _wait(self, call: Call, deadline_ms: int, *, heed_signals: bool) -> Ending | None:
        """Wait for a call; returns why it has to be ended, or None when it has ended by itself."""
        while not call.done:
            if heed_signals and self.signals.first is not None:
                return Ending.SIGNALLED
            left = deadline_ms - self.monotonic()
            if left <= 0:
                return Ending.TIMED_OUT
            self._next(left)
        return None

    def _end(self, call: Call) -> None:
        """Wait out the grace, which a second signal takes away, then cancel."""
        until = self.monotonic() + self.patience.grace_ms
        while not call.done and not self.signals.impatient and (left := until - self.monotonic()) > 0:
            self._next(left)
        if call.done:
            return
        self.loop.call_soon_threadsafe(call.cancel)
        until = self.monotonic() + self.patience.cancel_ms
        while not call.done and (left := until - self.monotonic()) > 0:
            self._next(left)

    def _next(self, wait_ms: int) -> object:
        """Wait for the next thing that happens, or for a time."""
        try:
            return self.inbox.get(timeout=min(wait_ms, WAIT_MS_MAX) / 1000)
        except Empty:
            return None

    def rest(self, until_ms: int) -> bool:
        """Wait for a moment while nobody works; tells whether it has come, and not a signal before it."""
        while self.signals.first is None and (left := until_ms - self.monotonic()) > 0:
            self._next(left)
        return self.signals.first is None

    def stop(self) -> bool:
        """End the driver's loop; tells whether its thread has ended."""
        self.signals.wake = None
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(self.patience.cancel_ms / 1000)
        return not self.thread.is_alive()


async def guarded(work: Callable[[], object]) -> object:
    """Run one callback; its result has to be awaitable, and it cannot end the program."""
    try:
        answer = work()
        if not isinstance(answer, Awaitable):
            raise TypeError(f"a callback has to be async def; it returned {shown(answer)}")
        return await cast("Awaitable[object]", answer)
    except (SystemExit, KeyboardInterrupt) as error:
        raise CallbackExit(f"{type(error).__name__} in a callback") from error
