"""What a check finds before it: exactly the bytes of a commit, as a runtime would hold them, and the operator's own
files laid over them.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from workloop.domain.errors import BadRequest
from workloop.repair.runtimes.committed import blobs_of, contents_of
from workloop.repair.verification.diff import folded

FILES_MAX: Final = 1_000
BYTES_MAX: Final = 64 * 1024 * 1024
NOT_FOLLOWED: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LaidFile(NamedTuple):
    """One file of the operator's, read once so that every run gets the same."""

    path: str
    executable: bool
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """The operator's files that judge a candidate, in the order of their paths."""

    files: tuple[LaidFile, ...] = ()

    @property
    def facts(self) -> list[list[str | bool]]:
        """Return what tells one overlay from another."""
        return [[one.path, one.executable, hashlib.sha256(one.data).hexdigest()] for one in self.files]


def read_overlay(folder: Path | None) -> Overlay:
    """Read every file below a folder; raises BadRequest for a link, a device, or more than a check needs."""
    if folder is None:
        return Overlay()
    if folder.is_symlink() or not folder.is_dir():
        raise _unusable(folder, "is no folder")
    files: list[LaidFile] = []
    size = 0
    for place in sorted(folder.rglob("*")):
        if place.is_dir() and not place.is_symlink():
            continue
        laid = _read(place, place.relative_to(folder).as_posix())
        size += len(laid.data)
        files.append(laid)
        if len(files) > FILES_MAX or size > BYTES_MAX:
            raise _unusable(folder, f"holds more than {FILES_MAX} files or {BYTES_MAX} bytes")
    if not files:
        raise _unusable(folder, "holds no file")
    return Overlay(files=tuple(files))


def write_tree(repository: Path, commit: str, target: Path) -> None:
    """Write the files of a commit into a new folder; raises Refusal for what could be no runtime's."""
    target.mkdir(mode=0o700)
    for content in contents_of(repository, blobs_of(repository, commit)):
        place = target / content.blob.path
        place.parent.mkdir(parents=True, exist_ok=True)
        _write(place, content.data, executable=bool(content.blob.mode & 0o111))


def lay_over(overlay: Overlay, target: Path) -> None:
    """Put the operator's files into a tree; whatever the commit has at their places goes, in any spelling."""
    for laid in overlay.files:
        place = target
        *folders, name = laid.path.split("/")
        for folder in folders:
            _clear(place, folder, keep=True)
            place /= folder
            place.mkdir(exist_ok=True)
        _clear(place, name, keep=False)
        _write(place / name, laid.data, executable=laid.executable)


def untouched(overlay: Overlay, target: Path) -> bool:
    """Tell whether the operator's files still are what was laid there."""
    return all(_as_laid(target / laid.path, laid) for laid in overlay.files)


def _as_laid(place: Path, laid: LaidFile) -> bool:
    try:
        return _read(place, laid.path) == laid
    except (BadRequest, OSError):
        return False


def _clear(folder: Path, name: str, *, keep: bool) -> None:
    """Take away what stands at a name or at one that some file system takes for it."""
    for found in _spellings(folder, name):
        if found.is_dir() and not found.is_symlink():
            if not (keep and found.name == name):
                shutil.rmtree(found)
        else:
            found.unlink()


def _spellings(folder: Path, name: str) -> Iterable[Path]:
    return [found for found in folder.iterdir() if folded(found.name) == folded(name)]


def _read(place: Path, name: str) -> LaidFile:
    try:
        descriptor = os.open(place, NOT_FOLLOWED)
    except OSError as error:
        raise _unusable(place, "cannot be read, or is a link") from error
    with os.fdopen(descriptor, "rb") as stream:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise _unusable(place, "is no plain file")
        return LaidFile(name, bool(seen.st_mode & 0o100), stream.read(BYTES_MAX + 1))


def _write(place: Path, data: bytes, *, executable: bool) -> None:
    with place.open("xb") as stream:
        stream.write(data)
    place.chmod(0o755 if executable else 0o644)


def _unusable(place: Path, why: str) -> BadRequest:
    return BadRequest("PROBE_UNUSABLE", f"{place} {why}", hint="give a folder of plain files", path=str(place))
