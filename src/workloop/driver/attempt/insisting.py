"""How the loop asks the store until it answers, and learns from its record alone whether a claim has ended."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import anyio

from workloop.domain.errors import StoreUnavailable
from workloop.driver.attempt.holding import AGAIN_SECONDS, Lease, Standing, standing
from workloop.driver.project import Project
from workloop.driver.seam import run_sync

P = ParamSpec("P")
R = TypeVar("R")
LONGEST_SECONDS = 30.0


async def insist(project: Project, lease: Lease, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a call on the store until it answers, as long as the lease can be trusted and nobody wants an end.

    That it does not answer is told once; it is asked again at growing distances.
    """
    wait = AGAIN_SECONDS
    while True:
        try:
            return await run_sync(function, *args, **kwargs)
        except StoreUnavailable as gone:
            if not gone.retryable or lease.stop.requested.is_set():
                raise
            if wait == AGAIN_SECONDS:
                project.tell("store", {"key": lease.held.key, "error": str(gone)})
        with anyio.move_on_after(wait):
            await lease.stop.requested.wait()
        wait = min(2 * wait, LONGEST_SECONDS)


async def settled(project: Project, lease: Lease) -> bool:
    """Tell whether a claim has ended, by the queue's record alone."""
    return await insist(project, lease, standing, project.queue, lease.held) is not Standing.HELD
