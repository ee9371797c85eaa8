"""The one seam between the asynchronous loop and the synchronous rest."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import to_thread

P = ParamSpec("P")
R = TypeVar("R")


async def run_sync(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a blocking function in a worker thread and wait for it, even when the caller is cancelled."""
    return await to_thread.run_sync(partial(function, *args, **kwargs))
