"""Whether the files on the disk are still exactly those of a manifest, and where they differ first."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from workloop.repair.runtimes.manifest import FOLDER_MODE, Entry, Manifest

CHUNK_BYTES = 1024 * 1024


class Difference(NamedTuple):
    """The first path that is not as it was, and how it differs."""

    path: str
    how: str


def first_difference(root: Path, manifest: Manifest) -> Difference | None:
    """Read every file again; returns the first path, in the order of bytes, that is not what the manifest says."""
    found = dict(walk(root, ""))
    entries = {entry.path: entry for entry in manifest.entries}
    folders = {*manifest.folders, "."}
    for path in sorted({*found, *entries, *folders}, key=lambda path: path.encode("utf-8", "surrogateescape")):
        how = difference(root, path, found.get(path), entries.get(path), is_folder=path in folders)
        if how:
            return Difference(path, how)
    return None


def walk(root: Path, below: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield everything under a folder and the folder itself, following no link."""
    here = root / below
    if not below:
        yield ".", os.lstat(here)
    with os.scandir(here) as inside:
        for each in inside:
            path = f"{below}/{each.name}" if below else each.name
            yield path, each.stat(follow_symlinks=False)
            if each.is_dir(follow_symlinks=False):
                yield from walk(root, path)


def difference(root: Path, path: str, found: os.stat_result | None, entry: Entry | None, *, is_folder: bool) -> str:
    """Say how one path differs; empty when it does not."""
    if found is None:
        return "is missing"
    if entry is None and not is_folder:
        return "does not belong there"
    if is_folder:
        mode = stat.S_IMODE(found.st_mode)
        return "" if stat.S_ISDIR(found.st_mode) and mode == FOLDER_MODE else "is no folder that nobody may write to"
    return "" if entry is None else file_difference(root / path, found, entry)


def file_difference(path: Path, found: os.stat_result, entry: Entry) -> str:
    """Say how a file differs; empty when it does not."""
    if not stat.S_ISREG(found.st_mode):
        return "is no plain file"
    if stat.S_IMODE(found.st_mode) != entry.mode:
        return f"has the mode {stat.S_IMODE(found.st_mode):04o} instead of {entry.mode:04o}"
    if found.st_size != entry.size:
        return f"has {found.st_size} bytes instead of {entry.size}"
    return "" if digest_of(path, entry.size) == entry.sha256 else "has other bytes"


def digest_of(path: Path, size: int) -> str:
    """Return the SHA-256 of a file, read to its end and never through a link."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        total = hashlib.sha256()
        while piece := os.read(handle, min(CHUNK_BYTES, size + 1)):
            total.update(piece)
        return total.hexdigest()
    finally:
        os.close(handle)
