"""How a driver's callback waits for a verification: in a thread beside its loop, ended when the phase is aborted."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from workloop.repair.port import PhaseContext
from workloop.repair.verification.ground import Bounds

T = TypeVar("T")


async def hosted(context: PhaseContext, monotonic: Callable[[], int], work: Callable[[Bounds], T]) -> T:
    """Run a verification within the bounds of its phase; an abort or a cancellation ends its processes."""
    bounds = Bounds(deadline_ms=context.deadline_ms, monotonic=monotonic, stop=threading.Event())
    running = asyncio.ensure_future(asyncio.to_thread(work, bounds))
    aborted = asyncio.ensure_future(context.abort.wait())
    try:
        await asyncio.wait((running, aborted), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            bounds.stop.set()
        return await running
    finally:
        bounds.stop.set()
        aborted.cancel()
