"""Whom a settings file may belong to: what others can write is no word of the operator's, and is refused.

The mode is read from the open file, so that what was judged is what is read.
"""

import os
import stat
from pathlib import Path

from workloop.domain.errors import BadRequest

TEXT_BYTES_MAX = 1024 * 1024
SECRET_BYTES_MAX = 64 * 1024
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_trusted(path: Path) -> str:
    """Return the text of a settings file; raises BadRequest when others may write it or its folder."""
    data, mode = read_open(path, TEXT_BYTES_MAX)
    if mode & OTHERS_WRITE:
        raise distrusted(path, "can be written by others", f"chmod go-w {path}")
    refuse_folder(path)
    return decoded(data, path)


def read_secret(path: Path) -> str:
    """Return the trimmed text of a file for its owner's eyes only; raises BadRequest when others may read it."""
    data, mode = read_open(path, SECRET_BYTES_MAX)
    if mode & OTHERS:
        raise distrusted(path, "holds a secret and is open to others", f"chmod 600 {path}")
    refuse_folder(path)
    return decoded(data, path).strip()


def read_open(path: Path, most: int) -> tuple[bytes, int]:
    """Read a plain file whole and return it with its mode; refuses another one's, and what is too large."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        state = os.fstat(stream.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise distrusted(path, "is no plain file", "name a file")
        if foreign(state):
            raise distrusted(path, f"belongs to user {state.st_uid}", f"chown {os.geteuid()} {path}")
        data = stream.read(most + 1)
    if len(data) > most:
        raise distrusted(path, f"is larger than {most} bytes", "make it smaller")
    return data, state.st_mode


def refuse_folder(path: Path) -> None:
    """Refuse a file in a folder where others could put another one in its place; a link's own folder counts too."""
    for folder in dict.fromkeys((path.parent.resolve(), path.resolve().parent)):
        state = folder.stat()
        if foreign(state):
            raise distrusted(folder, f"belongs to user {state.st_uid}", f"chown {os.geteuid()} {folder}")
        if state.st_mode & OTHERS_WRITE and not state.st_mode & stat.S_ISVTX:
            raise distrusted(folder, "can be written by others", f"chmod go-w {folder}")


def foreign(state: os.stat_result) -> bool:
    """Tell whether something belongs to neither this user nor root."""
    return state.st_uid not in (os.geteuid(), 0)


def distrusted(path: Path, problem: str, hint: str) -> BadRequest:
    """Build the refusal of a file that is not the operator's alone."""
    return BadRequest("CONFIG_UNTRUSTED", f"{path} {problem}", hint=hint, field=str(path))


def decoded(data: bytes, path: Path) -> str:
    """Return a file's text; raises BadRequest when it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadRequest("CONFIG_MALFORMED", f"{path}: line {line} is not UTF-8", hint="save it as UTF-8") from error
