"""How a person's orders reach a loop through its private folder: small files, read within bounds, no link followed.

STOP is obeyed once and consumed; HALT stays and keeps the loop from starting again; a pause is there for as long as its
file is, and one that cannot be read is a pause all the same.
"""

import errno
import fcntl
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote, unquote

from workloop.domain.clock import Instant, from_text, to_text
from workloop.domain.session import head
from workloop.driver.scheduling.situation import Halt

FOLDER: Final = "control"
LOCK_NAME: Final = "loop.lock"
STOP: Final = "STOP"
HALT: Final = "HALT"
PAUSE: Final = "pause-"
OPEN: Final = "open-"
NOW: Final = "now"
BYTES_MAX: Final = 4096
FILES_MAX: Final = 1000
REASON_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What has been ordered: None where nothing was. `at_once` ends the sessions, too; `opened` are gates by name."""

    stop: str | None = None
    at_once: bool = False
    halt: str | None = None
    pauses: Mapping[str, Halt] = field(default_factory=dict[str, Halt])
    opened: tuple[str, ...] = ()


class Switches(Protocol):
    """Where a loop finds a person's orders; every call blocks briefly."""

    def stamp(self) -> int:
        """Return a number that changes whenever an order comes or goes."""
        ...

    def read(self) -> Orders:
        """Return what is ordered now, and consume what is obeyed only once."""
        ...


class NoSwitches:
    """Nobody orders anything."""

    def stamp(self) -> int:
        """Return the number of no orders."""
        return 0

    def read(self) -> Orders:
        """Return no orders."""
        return Orders()


class FileSwitches:
    """Orders as files in a loop's own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def stamp(self) -> int:
        """Return what changes when a file comes, goes or is replaced."""
        return hash((self.folder.stat(follow_symlinks=False).st_mtime_ns, *self.names()))

    def names(self) -> list[str]:
        """Return the names of all orders."""
        return sorted(path.name for path in self.folder.iterdir())[:FILES_MAX]

    def read(self) -> Orders:
        """Return what the files say; STOP and the openings are taken away as they are read."""
        names = self.names()
        stop = self.consume(STOP) if STOP in names else None
        return Orders(
            stop=stop,
            at_once=stop is not None and stop.strip() == NOW,
            halt=self.text(HALT) if HALT in names else None,
            pauses=pauses_of(self.folder, names),
            opened=tuple(self.opening(name) for name in names if name.startswith(OPEN)),
        )

    def consume(self, name: str) -> str:
        """Read a file and take it away."""
        text = self.text(name)
        remove(self.folder / name)
        return text

    def opening(self, name: str) -> str:
        """Return which gate is to be opened, and take the order away."""
        remove(self.folder / name)
        return unquote(name[len(OPEN) :])

    def text(self, name: str) -> str:
        """Return the first line of a file; what is no plain file, or cannot be read, says nothing but is there."""
        try:
            data = bounded(self.folder / name)
        except OSError:
            return ""
        return head(data.decode("utf-8", "replace").split("\n", 1)[0], REASON_CHARACTERS)


def pauses_in(folder: Path) -> dict[str, Halt]:
    """Return the pauses that are ordered in a loop's folder, which need not be there; changes nothing."""
    place = folder / FOLDER
    return pauses_of(place, sorted(path.name for path in place.iterdir())) if place.is_dir() else {}


def pauses_of(place: Path, names: list[str]) -> dict[str, Halt]:
    """Read every pause by its target's name."""
    return {unquote(name[len(PAUSE) :]): read_pause(place / name) for name in names if name.startswith(PAUSE)}


def read_pause(path: Path) -> Halt:
    """Read a pause; one that cannot be understood has no end."""
    try:
        said = json.loads(bounded(path))
        until = said.get("until")
        return Halt(
            reason=head(str(said.get("reason", "")), REASON_CHARACTERS),
            until=from_text(until) if until is not None else None,
        )
    except (OSError, ValueError, AttributeError, TypeError) as error:
        return Halt(reason=f"its pause cannot be read ({type(error).__name__}), so it holds; resume it to end it")


def bounded(path: Path) -> bytes:
    """Return the beginning of a plain file; raises OSError for a link or anything that is not a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        return os.read(descriptor, BYTES_MAX)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Take a file or link away, if it is still there."""
    path.unlink(missing_ok=True)


def loop_runs(folder: Path) -> bool:
    """Tell whether a loop holds its folder now."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def order_stop(folder: Path, *, at_once: bool = False, halt: str | None = None) -> None:
    """Order the running loop of a folder to end; a halt keeps it from starting again, too, or from starting at all."""
    if halt is not None:
        write(folder, HALT, halt)
    if loop_runs(folder):
        write(folder, STOP, NOW if at_once else "drain")


def order_pause(folder: Path, target: str, reason: str, until: Instant | None) -> None:
    """Order that a target gets no further session."""
    said = {"reason": reason, "until": to_text(until) if until is not None else None}
    write(folder, PAUSE + quote(target, safe=""), json.dumps(said))


def order_resume(folder: Path, target: str) -> bool:
    """End a target's pause; tells whether there was one."""
    path = folder / FOLDER / (PAUSE + quote(target, safe=""))
    there = path.is_symlink() or path.exists()
    remove(path)
    return there


def order_open(folder: Path, gate: str) -> None:
    """Order that a gate is open again, because its remedy was applied."""
    write(folder, OPEN + quote(gate, safe=""), "")


def lift_halt(folder: Path) -> bool:
    """Let a halted loop start again; tells whether it was halted."""
    path = folder / FOLDER / HALT
    there = path.is_symlink() or path.exists()
    remove(path)
    return there


def write(folder: Path, name: str, text: str) -> None:
    """Write an order whole or not at all; what stands at its place is replaced, never followed."""
    place = folder / FOLDER
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = place / f".{name[:100]}.{os.getpid()}"
    remove(fresh)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(place / name)
