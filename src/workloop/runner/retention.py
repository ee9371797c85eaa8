"""Which ended sessions give up their bulky files, and which small notes stay for good."""

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from workloop.domain.clock import SECOND_US, Instant
from workloop.runner import pidfile
from workloop.runner.harness.fields import parse

NOTE_NAME = "claim.json"
NOTE_BYTES_MAX = 1024 * 1024
NOTES = frozenset({NOTE_NAME, "item.json", "result.json", "brief.md", "brief"})
SETTLED_SECONDS = 3_600.0  # a folder without a note may belong to a session that is just being prepared

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long, and up to how much in all, the files of ended sessions are kept."""

    age_seconds_max: float = 30 * 86_400.0
    bytes_max: int = 4 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFolder:
    """What one session takes beside its notes, when it was last touched, and whether it is known to be over."""

    path: Path
    touched_at: Instant
    bytes: int
    over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The sessions whose bulky files went, oldest first, how much that set free, and where it failed and why."""

    folders: tuple[Path, ...]
    bytes: int
    failures: Mapping[Path, str]


def surplus(folders: Iterable[SessionFolder], policy: Retention, now: Instant) -> list[SessionFolder]:
    """Return the folders to prune, oldest first: those too old, then more until the rest fits; a live one never."""
    known = sorted(folders, key=lambda folder: (folder.touched_at, folder.path))
    oldest_kept = now - round(policy.age_seconds_max * SECOND_US)
    total, chosen = sum(folder.bytes for folder in known), list[SessionFolder]()
    for folder in known:
        if folder.over and folder.bytes and (folder.touched_at < oldest_kept or total > policy.bytes_max):
            chosen.append(folder)
            total -= folder.bytes
    return chosen


def prune(sessions: Path, policy: Retention, now: Instant) -> Pruned:
    """Remove the bulky files of sessions that are over, by age and by total size.

    The notes stay, a session that may live or is not written down as ended is left alone, and no link is followed.
    A folder that cannot be read or emptied is told and holds up no other.
    """
    failures: dict[Path, str] = {}
    found = [attempted(failures, path, lambda path: look(path, now)) for path in folders_below(sessions)]
    chosen = surplus([folder for folder in found if folder is not None], policy, now)
    done = [folder for folder in chosen if attempted(failures, folder.path, empty)]
    return Pruned(
        folders=tuple(folder.path for folder in done), bytes=sum(folder.bytes for folder in done), failures=failures
    )


def attempted(failures: dict[Path, str], path: Path, act: Callable[[Path], Found]) -> Found | None:
    """Do something with a folder, or note why it failed."""
    try:
        return act(path)
    except (OSError, RecursionError) as error:
        failures[path] = str(error)
        return None


def folders_below(path: Path) -> Iterator[Path]:
    """Yield the real folders inside a folder that may be missing."""
    if path.is_dir():
        yield from (entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())


def look(path: Path, now: Instant) -> SessionFolder:
    """Find out what a session's folder holds; one that is still being written only looks bigger the next time."""
    bulk = [entry for entry in path.iterdir() if entry.name not in NOTES]
    note = path / NOTE_NAME
    touched = max(touched_at(place) for place in (note, path) if os.path.lexists(place))
    settled = now - touched > SETTLED_SECONDS * SECOND_US
    return SessionFolder(
        path=path,
        touched_at=touched,
        bytes=sum(size_of(entry) for entry in bulk),
        over=not (path / pidfile.NAME).exists() and (is_ended(note) if os.path.lexists(note) else settled),
    )


def is_ended(note: Path) -> bool:
    """Say whether a note tells that its session has ended; one that cannot be read does not."""
    if note.is_symlink() or not note.is_file():
        return False
    with note.open("rb") as stream:
        fields = parse(stream.read(NOTE_BYTES_MAX))
    return fields is not None and fields.flag("ended")


def touched_at(path: Path) -> Instant:
    """Return when a file or folder was last written."""
    return Instant(path.lstat().st_mtime_ns // 1_000)


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files below a folder, following no link."""
    status = path.lstat()
    if stat.S_ISDIR(status.st_mode):
        return sum(size_of(entry) for entry in path.iterdir())
    return status.st_size


def empty(path: Path) -> bool:
    """Remove everything but the notes."""
    for entry in path.iterdir():
        if entry.name in NOTES:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)
    return True
