"""How a private folder becomes and stays this user's alone: real, owned, closed to others, outside of work dirs."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from workloop.config.place import refuse_inside
from workloop.domain.errors import BadRequest

PRIVATE = 0o700


def make_private(folder: Path, work_dirs: Sequence[Path] = ()) -> bool:
    """Make a private folder, or close an existing one to others; tells whether it is new. Raises BadRequest."""
    refuse_inside(folder.resolve(), tuple(work_dirs))
    new = not folder.exists() and not folder.is_symlink()
    if new:
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    require_own(folder)
    tighten(folder)
    return new


def require_own(folder: Path) -> None:
    """Raise BadRequest when a private folder is a link, no folder, or another user's."""
    state = folder.lstat()
    if stat.S_ISLNK(state.st_mode):
        raise untrusted(folder, f"is a link to {folder.readlink()}", "put a real folder there, or move WORKLOOP_STATE")
    if not stat.S_ISDIR(state.st_mode):
        raise untrusted(folder, "is no folder", f"move {folder} away")
    if state.st_uid != os.geteuid():
        raise untrusted(folder, f"belongs to user {state.st_uid}", f"chown -R {os.geteuid()} {folder}")


def tighten(folder: Path) -> None:
    """Take from others what they may do in a folder; the owner's own rights stay as they are."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & ~PRIVATE:
            os.fchmod(descriptor, mode & PRIVATE)
    finally:
        os.close(descriptor)


def untrusted(folder: Path, problem: str, hint: str) -> BadRequest:
    """Build the refusal of a folder that is not this user's alone."""
    return BadRequest("STATE_UNTRUSTED", f"the private folder {folder} {problem}", hint=hint)
