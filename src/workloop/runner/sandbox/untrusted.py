"""How the host reads in a folder that a session could write, without being led out of it or made to wait."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DEPTH_MAX = 32


def open_below(root: Path, name: str) -> int | None:
    """Open a plain file of a folder; None when it is missing, or anything else, or a link leads there."""
    *folders, last = name.split("/")
    with ExitStack() as open_folders:
        try:
            at = os.open(root, ENTER)
            open_folders.callback(os.close, at)
            for folder in folders:
                at = os.open(folder, ENTER, dir_fd=at)
                open_folders.callback(os.close, at)
            descriptor = os.open(last, READ, dir_fd=at)
        except OSError:  # whatever is wrong there, it is not what git would have put there
            return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return descriptor


def read_below(root: Path, name: str, bytes_max: int) -> bytes | None:
    """Read a plain file of a folder, no more than so much; None when there is none."""
    descriptor = open_below(root, name)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(bytes_max)


def walk_below(root: Path, name: str, files_max: int) -> Iterator[str]:
    """Yield the names of the plain files in a folder of a folder, at any depth, no more than so many."""
    if not list_below(root, name, folders=True) and not list_below(root, name):
        return
    waiting, seen = [name], 0
    while waiting:
        folder = waiting.pop()
        if folder.count("/") < DEPTH_MAX:
            waiting += [f"{folder}/{one}" for one in list_below(root, folder, folders=True)]
        for one in list_below(root, folder):
            seen += 1
            if seen > files_max:
                return
            yield f"{folder}/{one}"


def list_below(root: Path, name: str, *, folders: bool = False) -> list[str]:
    """Return the names of the plain files in a folder, or those of its folders; nothing when a link leads there."""
    with ExitStack() as open_folders:
        try:
            at = os.open(root, ENTER)
            open_folders.callback(os.close, at)
            for part in name.split("/"):
                at = os.open(part, ENTER, dir_fd=at)
                open_folders.callback(os.close, at)
            with os.scandir(at) as entries:
                found = [
                    entry.name
                    for entry in entries
                    if (entry.is_dir if folders else entry.is_file)(follow_symlinks=False)
                ]
        except OSError:  # as above: it is not what git would have put there
            return []
    return sorted(found)
