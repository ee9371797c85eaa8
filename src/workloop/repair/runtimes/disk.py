"""How runtimes reach the disk and leave it: whole or not at all, durable, and not to be written to afterwards."""

import ctypes
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from workloop.domain.errors import Refusal
from workloop.repair.runtimes.committed import Content
from workloop.repair.runtimes.manifest import FOLDER_MODE, Entry

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def private_folder(path: Path) -> Path:
    """Make a folder that is its owner's alone; raises Refusal for one that others could write to."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise Refusal(
            "RUNTIME_STORE_UNTRUSTED",
            f"{path} is a link, belongs to somebody else, or can be written to by others",
            hint=f"chmod go-w {path}, or name another folder with WORKLOOP_STATE",
        )
    return path


def write_new(path: Path, data: bytes, mode: int, *, durably: bool = True) -> None:
    """Write a file that is not there yet with its final mode."""
    handle = os.open(path, _NEW, 0o600)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fchmod(handle, mode)
        if durably:
            os.fsync(handle)
    finally:
        os.close(handle)


def write_tree(root: Path, contents: Iterable[Content]) -> tuple[Entry, ...]:
    """Write files below a folder, take the right to write from all folders, and see it through to the disk."""
    root.mkdir(mode=0o700)
    entries: list[Entry] = []
    for blob, data in contents:
        file = root / blob.path
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_new(file, data, blob.mode, durably=False)
        entries.append(Entry(path=blob.path, mode=blob.mode, size=len(data), sha256=hashlib.sha256(data).hexdigest()))
    for folder, _, _ in os.walk(root, topdown=False):
        Path(folder).chmod(FOLDER_MODE)
    sync_all(root)
    return tuple(entries)


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in the place of another: whoever looks sees the one or the other, also after a crash."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    write_new(fresh, data, 0o600)
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make what a folder lists durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(path: Path) -> None:
    """Make everything on the disk of a folder durable at once, which costs less than doing so file by file."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if syncfs is None:
            os.sync()
        elif syncfs(handle) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(handle)


def remove_tree(path: Path) -> None:
    """Remove a folder that nobody may write to."""
    for folder, _, _ in os.walk(path):
        Path(folder).chmod(0o700)
    shutil.rmtree(path)
