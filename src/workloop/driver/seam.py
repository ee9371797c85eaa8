"""The one seam between the asynchronous loop and the synchronous rest."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import lowlevel, to_thread

P = ParamSpec("P")
R = TypeVar("R")


INLINE: ContextVar[bool] = ContextVar("inline", default=False)
"""Set in a simulation: blocking calls run in place, so that the same seed always takes the same turns."""


async def run_sync(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a blocking function in a worker thread and wait for it, even when the caller is cancelled."""
    if INLINE.get():
        await lowlevel.checkpoint()
        return function(*args, **kwargs)
    return await to_thread.run_sync(partial(function, *args, **kwargs))
