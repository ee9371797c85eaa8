"""Which few places git has to write for a commit in a linked work tree."""

from pathlib import Path

from workloop.runner.sandbox.rooms import Rooms


def git_rooms(worktree: Path) -> Rooms:
    """Return what a commit in this work tree must be able to write, and no more."""
    return Rooms(writable=(worktree,))
