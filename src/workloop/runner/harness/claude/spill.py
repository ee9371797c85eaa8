"""Where the CLI puts a tool's answer that is too long to show, and when that file may be believed."""

import os
import re
import stat
from pathlib import Path

import msgspec

from workloop.runner.harness.claude.wire import Block, text_of
from workloop.runner.harness.shapes import built

OPENING = "<persisted-output>"
FILE_BYTES_MAX = 16 * 1024 * 1024
SAVED_TO = re.compile(r"saved to: (/[^\n]{1,4096})")
CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


def is_spilled(content: str) -> bool:
    """Say whether an answer is only the CLI's note of where the answer is."""
    return content.startswith(OPENING)


def read_spilled(note: str, call_id: str) -> str:
    """Return the whole answer, or nothing.

    Only a plain file is read that bears the id of the call, which no text in the answer could have known. What
    the note shows of the answer is never taken for it.
    """
    saved = SAVED_TO.search(note)
    if saved is None or not CALL_ID.fullmatch(call_id):
        return ""
    path = Path(saved[1].strip())
    if path.name != f"{call_id}.json":
        return ""
    data = read_plain(path)
    try:
        content: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return text_of(built(Block, {"content": content}).content)


def read_plain(path: Path) -> bytes:
    """Read a plain file of bounded size; a link, a pipe, a missing or a larger one reads as empty."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > FILE_BYTES_MAX:
            return b""
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(FILE_BYTES_MAX)
    finally:
        os.close(descriptor)
