"""How the output of checks is kept: once under its digest, for a time and up to a size."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workloop.domain.clock import SECOND_US, Instant
from workloop.runner.repository import Repository

SUFFIX = ".log"
MARK = "pruned"
PAUSE_US = 600 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRetention:
    """How long, and up to how many and how many bytes, outputs are kept."""

    age_seconds_max: float = 30 * 86_400.0
    count_max: int = 20_000
    bytes_max: int = 1024**3


class _Kept(NamedTuple):
    touched_us: int
    size: int
    path: Path


def keep_output(repository: Repository, written: Path, digest: str) -> Path:
    """Move an output to the place of its digest; the same output is kept once, and counts as new."""
    folder = repository.folder("check-outputs") / digest[:2]
    folder.mkdir(mode=0o700, exist_ok=True)
    place = folder / (digest + SUFFIX)
    written.replace(place)
    return place


def prune_when_due(repository: Repository, retention: OutputRetention, now: Instant) -> tuple[Path, ...]:
    """Prune if nobody has for a while: to look at all that is kept would cost each round more than its checks."""
    mark = repository.folder("check-outputs") / MARK
    try:
        if abs(now - mark.stat().st_mtime_ns // 1000) < PAUSE_US:
            return ()
    except FileNotFoundError:
        mark.touch()
    os.utime(mark, ns=(now * 1000, now * 1000))
    return prune_outputs(repository, retention, now)


def prune_outputs(repository: Repository, retention: OutputRetention, now: Instant) -> tuple[Path, ...]:
    """Delete the oldest outputs that are too old or too many; what is said of them, their digest, stays in receipts."""
    kept = sorted(_all(repository.folder("check-outputs")))
    oldest = now - round(retention.age_seconds_max * SECOND_US)
    total, left = sum(one.size for one in kept), len(kept)
    gone: list[Path] = []
    for one in kept:
        if one.touched_us >= oldest and total <= retention.bytes_max and left <= retention.count_max:
            break
        one.path.unlink(missing_ok=True)
        gone.append(one.path)
        total, left = total - one.size, left - 1
    return tuple(gone)


def _all(folder: Path) -> list[_Kept]:
    found: list[_Kept] = []
    for path in folder.glob(f"??/*{SUFFIX}"):
        try:
            seen = os.lstat(path)
        except FileNotFoundError:
            continue  # another round has just pruned it
        found.append(_Kept(seen.st_mtime_ns // 1000, seen.st_size, path))
    return found
