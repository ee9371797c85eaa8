"""Whether something that a worker can reach holds, or leads to, what only the operator may touch.

Folders are compared by what they are, not by how they are written, so that links, `..` and mounts of the same folder
at another place change nothing.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from workloop.domain.errors import BadRequest

MOUNTS: Final = Path("/proc/self/mountinfo")
MOUNT_POINT: Final = 4
ESCAPES: Final = ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\"))

Identity = tuple[int, int]


def check_placement(trusted: Mapping[str, Path], worker_paths: Iterable[Path]) -> None:
    """Refuse a trusted path that lies in a worker's folder; raises BadRequest that names both."""
    reachable: dict[Identity, Path] = {}
    plain: list[Path] = []
    for path in worker_paths:
        folder = path.resolve()
        plain.append(folder)
        for root in (folder, *mounts_below(folder)):
            reachable.setdefault(identity(root), root)
    for name, path in trusted.items():
        _check_links(name, path)
        for place in (path.absolute(), path.resolve()):
            _check_place(name, place, reachable, plain)


def identity(path: Path) -> Identity:
    """Return what a file or folder is, whatever it is called; what is not there is nothing else either."""
    try:
        state = path.stat()
    except OSError:
        return (-1, hash(str(path)))
    return (state.st_dev, state.st_ino)


def mounts_below(folder: Path, listed: Path = MOUNTS) -> list[Path]:
    """Return where something is mounted below a folder, for what is mounted there can be reached too."""
    if not listed.exists():
        return []
    points = [line.split(" ")[MOUNT_POINT] for line in listed.read_text("utf-8", "surrogateescape").splitlines()]
    return [path for path in map(_mount_point, points) if path != folder and path.is_relative_to(folder)]


def _mount_point(text: str) -> Path:
    for escaped, character in ESCAPES:
        text = text.replace(escaped, character)
    return Path(text)


def _check_links(name: str, path: Path) -> None:
    """Refuse a file that has another name somewhere, through which it could be changed."""
    if path.is_symlink():
        raise _refused(name, path, "is a symbolic link")
    if path.is_file() and path.stat().st_nlink > 1:
        raise _refused(name, path, "has a second name (a hard link)")


def _check_place(name: str, place: Path, reachable: Mapping[Identity, Path], plain: Iterable[Path]) -> None:
    steps = (place, *place.parents)
    inside = next((reachable[key] for key in map(identity, steps) if key in reachable), None)
    inside = inside or next((folder for folder in plain if Path(os.path.normpath(place)).is_relative_to(folder)), None)
    if inside is not None:
        raise _refused(name, place, f"lies in {inside}, which a worker can reach")


def _refused(name: str, path: Path, problem: str) -> BadRequest:
    return BadRequest(
        "PLACEMENT_INVALID",
        f"{name} {path} {problem}",
        hint="keep config, driver and ledger in a folder of the operator's own, away from every worker",
        field=name,
    )
