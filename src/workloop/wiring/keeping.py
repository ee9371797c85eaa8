"""How what ended sessions leave behind is kept within the operator's bounds for as long as a loop runs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from workloop.config import Retention as Kept
from workloop.domain.clock import Clock
from workloop.driver.seam import run_sync
from workloop.runner.retention import Retention, prune

EVERY_SECONDS = 3600.0
DAY_SECONDS = 86_400.0


async def keep_within(
    folders: Sequence[Path], kept: Kept, clock: Clock, tell: Callable[[str, Mapping[str, Any]], None]
) -> None:
    """Prune the sessions of every private folder now and every hour, until cancelled."""
    policy = Retention(age_seconds_max=kept.kept_days * DAY_SECONDS, bytes_max=kept.kept_bytes_max)
    while True:
        for folder in dict.fromkeys(folders):
            pruned = await run_sync(prune, folder / "sessions", policy, clock.now())
            if pruned.folders:
                tell("pruned", {"folder": str(folder), "sessions": len(pruned.folders), "bytes": pruned.bytes})
            for path, problem in pruned.failures.items():
                tell("pruned", {"folder": str(path), "error": problem})
        await anyio.sleep(EVERY_SECONDS)
