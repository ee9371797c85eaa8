"""Where git writes outside of a linked work tree when something is committed in it."""

from pathlib import Path

POINTS = "gitdir: "
SHARED = ("objects", "refs", "logs")


def written_by_git(folder: Path) -> tuple[Path, ...]:
    """Return the folders outside of a linked work tree that a commit there writes to; of any other folder none.

    Settings and hooks are not among them, and the work tree's pointer is believed only where git's own record agrees.
    It is a fence against accidents: who may write to that record can mislead git in this work tree.
    """
    pointer = folder / ".git"
    if pointer.is_symlink() or not pointer.is_file():
        return ()
    _, points, target = read(pointer).partition(POINTS)
    own = (folder / target).resolve()
    if not points or own.parent.name != "worktrees" or read(own / "gitdir") != str(pointer.resolve()):
        return ()
    shared = (own.parent.parent / name for name in SHARED)
    return (own, *(path for path in shared if path.is_dir() and not path.is_symlink()))


def read(path: Path) -> str:
    """Return a small file's text; of one that is not there none."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""
