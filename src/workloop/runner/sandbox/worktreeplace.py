"""How it is read, without asking git and without following a link, where a linked work tree keeps what is its own."""

import os
from pathlib import Path
from typing import NamedTuple

from workloop.domain.errors import Fault

LINE_BYTES_MAX = 8_192
GITDIR = "gitdir: "


class LinkedPlace(NamedTuple):
    """A linked work tree, the folder of its own HEAD and index, and the repository that it belongs to."""

    worktree: Path
    own: Path
    common: Path

    @property
    def quarantine(self) -> Path:
        """Return where what its sessions bring into git waits to be looked at."""
        return self.common / "workloop" / self.own.name


def linked_place(worktree: Path) -> LinkedPlace | None:
    """Return where a linked work tree is, None for any other folder; raises Fault when its files contradict each other.

    Each of them names the next, and a session that had no walls could have written any of them.
    """
    pointer = worktree / ".git"
    if pointer.is_symlink() or not pointer.is_file():
        return None
    said = line_of(pointer)
    own = Path(os.path.normpath(worktree / said.removeprefix(GITDIR)))
    if not said.startswith(GITDIR) or own.parent.name != "worktrees" or own.is_symlink():
        raise misplaced(worktree, f"it points at {said!r}")
    common = own.parent.parent
    if os.path.normpath(own / line_of(own / "commondir")) != str(common):
        raise misplaced(worktree, "its own folder names another repository")
    back = Path(os.path.normpath(own / line_of(own / "gitdir")))
    if not os.path.lexists(back) or os.path.realpath(back) != os.path.realpath(pointer):
        raise misplaced(worktree, f"its own folder belongs to {back.parent}")
    return LinkedPlace(Path(os.path.realpath(worktree)), Path(os.path.realpath(own)), Path(os.path.realpath(common)))


def line_of(path: Path) -> str:
    """Return the only line of a small file that is not a link; empty when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # it is missing, a link, or not ours: each leads to a refusal by its caller
        return ""
    try:
        return os.fsdecode(os.read(descriptor, LINE_BYTES_MAX)).removesuffix("\n")
    finally:
        os.close(descriptor)


def misplaced(worktree: Path, found: str) -> Fault:
    """Return the fault that a folder is not the work tree it says."""
    return Fault(
        "SANDBOX_GIT_MISPLACED",
        f"{worktree} cannot be given to a session: {found}",
        hint="look at the folder; removing and making the work tree anew mends it",
        path=str(worktree),
    )
