"""How the host reads in a folder that a session could write, without being led out of it or made to wait."""

import os
import stat
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DEPTH_MAX = 32


class Listing(NamedTuple):
    """The names of a folder's folders and of its plain files, each in order."""

    folders: Sequence[str] = ()
    files: Sequence[str] = ()


@contextmanager
def folder_below(root: Path, folders: Iterable[str]) -> Generator[int]:
    """Enter one folder after the other; raises OSError when one is missing, or anything else, or a link leads there."""
    with ExitStack() as entered:
        at = os.open(root, ENTER)
        entered.callback(os.close, at)
        for folder in folders:
            at = os.open(folder, ENTER, dir_fd=at)
            entered.callback(os.close, at)
        yield at


def open_below(root: Path, name: str) -> int | None:
    """Open a plain file of a folder; None when it is missing, or anything else, or a link leads there."""
    *folders, last = name.split("/")
    try:
        with folder_below(root, folders) as at:
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
    waiting, seen = [name], 0
    while waiting:
        folder = waiting.pop()
        found = list_below(root, folder)
        if folder.count("/") < DEPTH_MAX:
            waiting += [f"{folder}/{one}" for one in found.folders]
        for one in found.files:
            seen += 1
            if seen > files_max:
                return
            yield f"{folder}/{one}"


def list_below(root: Path, name: str) -> Listing:
    """Return the names of what is in a folder; nothing when it is missing or a link leads there."""
    folders, files = list[str](), list[str]()
    try:
        with folder_below(root, name.split("/")) as at, os.scandir(at) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
    except OSError:  # as above: it is not what git would have put there
        return Listing()
    return Listing(sorted(folders), sorted(files))
