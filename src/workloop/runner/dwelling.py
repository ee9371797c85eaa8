"""How the private home of an item's sessions is laid out on disk, and kept safe from what they left in it.

A session may put a link where its next one gets a file of the operator's; nothing here follows one.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import assert_never

from workloop.runner.harness.files import write_private
from workloop.runner.harness.needs import Needs
from workloop.runner.sandbox.mounts import resolved
from workloop.runner.sandbox.untrusted import ENTER

FOLDER = "session-homes"
ELSEWHERE = ".elsewhere"
PRIVATE = 0o700
SEPARATOR = "+"


def home_of(folder: Path, harness: str, item_id: str, phase: str) -> Path:
    """Return where the sessions of one phase of an item live: it is kept so that one can be gone on with."""
    return folder / FOLDER / harness / f"{item_id}{SEPARATOR}{phase}"


def furnish(home: Path, needs: Needs, places: Iterable[Path]) -> dict[Path, Path]:
    """Make a home with private copies in it, and a plain place for each of the operator's files that will stand there.

    Returns the folders of this machine by where they will be seen: the home, and what stands in for folders elsewhere.
    """
    home.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    for name in needs.folders:
        make_place(home, Path(name), Kind.FOLDER)
    for name, text in needs.copies.items():
        make_place(home, Path(name), Kind.NOTHING)
        write_private(home / name, text)
    seen = {resolved(needs.home): home}
    for number, place in enumerate(needs.elsewhere):
        make_place(home, Path(ELSEWHERE, str(number)), Kind.FOLDER)
        seen[resolved(place)] = home / ELSEWHERE / str(number)
    for place in places:
        name = resolved(place.parent) / place.name
        around = next((inside for inside in seen if name != inside and name.is_relative_to(inside)), None)
        if around is not None:
            make_place(seen[around], name.relative_to(around), kind_of(place))
    return seen


class Kind(Enum):
    """What is to stand at a place; a link is made by whoever puts up the walls, so that nothing may stand there."""

    FILE = "file"
    FOLDER = "folder"
    NOTHING = "nothing"


def kind_of(place: Path) -> Kind:
    """Return what must stand where a place of this machine will be seen."""
    if place.is_symlink():
        return Kind.NOTHING
    return Kind.FOLDER if place.is_dir() else Kind.FILE


def make_place(home: Path, name: Path, kind: Kind) -> None:
    """Make a real file or folder below a home, or nothing, and real folders on the way."""
    at = os.open(home, ENTER)
    try:
        for part in name.parts[:-1]:
            at = entered(at, part)
        last = name.parts[-1]
        clear(at, last, folder=kind is Kind.FOLDER)
        match kind:
            case Kind.FOLDER:
                made(at, last)
            case Kind.FILE:
                os.close(os.open(last, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at))
            case Kind.NOTHING:
                unlinked(at, last)
            case _:
                assert_never(kind)
    finally:
        os.close(at)


def unlinked(at: int, name: str) -> None:
    """Take a file away that may not be there."""
    try:
        os.unlink(name, dir_fd=at)
    except FileNotFoundError:
        return


def entered(at: int, part: str) -> int:
    """Go one folder down, making it where there is none; closes the folder above."""
    try:
        clear(at, part, folder=True)
        made(at, part)
        return os.open(part, ENTER, dir_fd=at)
    finally:
        os.close(at)


def made(at: int, name: str) -> None:
    """Make a folder unless it is there."""
    try:
        os.mkdir(name, PRIVATE, dir_fd=at)
    except FileExistsError:
        return


def clear(at: int, name: str, *, folder: bool) -> None:
    """Take away what stands where a plain file or folder must be, if it is something else."""
    try:
        mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) and not folder:
            shutil.rmtree(name, dir_fd=at)
        elif not stat.S_ISDIR(mode) and (folder or not stat.S_ISREG(mode)):
            os.unlink(name, dir_fd=at)
    except FileNotFoundError:
        return


def vacate(folder: Path, over: Callable[[str], bool]) -> tuple[Path, ...]:
    """Remove the homes of items that are over; returns those that could not be removed."""
    left: list[Path] = []
    for home in homes(folder):
        if over(home.name.partition(SEPARATOR)[0]):
            shutil.rmtree(home, ignore_errors=True)
            left.extend([home] if home.exists() else [])
    return tuple(left)


def homes(folder: Path) -> Iterator[Path]:
    """Yield every home of a project."""
    top = folder / FOLDER
    for harness in top.iterdir() if top.is_dir() else ():
        if harness.is_dir() and not harness.is_symlink():
            yield from (home for home in harness.iterdir() if home.is_dir() and not home.is_symlink())
