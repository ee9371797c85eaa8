"""Which places git has to write for a commit in a work tree: never the repository itself, but a stand-in for it.

The session sees a repository of its own at the repository's place, with the objects of the real one behind it to be
read. So nothing that it writes there, no object, reference, hook or setting, is the operator's, until the host has
looked at it (`quarantine.receive`).
"""

import os
from pathlib import Path

from workloop.runner.sandbox.quarantine import alternates, furnish_stand_in
from workloop.runner.sandbox.receiving import clear_gone, receive
from workloop.runner.sandbox.rooms import Rooms
from workloop.runner.sandbox.worktreeplace import LinkedPlace, linked_place

NEVER_HIDDEN = {Path("/"), Path("/etc"), Path("/usr"), Path("/opt"), Path("/var")}
RULES_OF_OWN = ("commondir", "gitdir", "config.worktree")


def git_rooms(worktree: Path, branch: str | None = None) -> Rooms:
    """Return what a commit in this work tree must be able to write, and no more; branch is the one it may move.

    Without a name that is the branch which HEAD stands on, if it is one of ours.
    """
    place = linked_place(worktree)
    if place is None:
        return rooms_of_repository(worktree)
    receive(worktree)
    clear_gone(place.common)
    stand_in = furnish_stand_in(place, branch)
    (place.own / "config.worktree").touch()
    shown = {place.common / "behind" / "objects": place.common / "objects"}
    if (place.common / "lfs").is_dir():
        shown[place.common / "behind" / "lfs"] = place.common / "lfs"
    return Rooms(
        writable=(place.worktree, place.own),
        readable=(
            place.worktree / ".git",
            *(place.own / name for name in RULES_OF_OWN),
            *alternates(place.common / "objects"),
        ),
        hidden=tuple(others(place)),
        standing={place.common: stand_in},
        shown=shown,
    )


def rooms_of_repository(worktree: Path) -> Rooms:
    """Return the rooms of a folder that is a repository by itself, or none: its rules are only read."""
    own = worktree / ".git"
    if not own.is_dir() or own.is_symlink():
        return Rooms(writable=(worktree,))
    (own / "hooks").mkdir(exist_ok=True)
    (own / "config.worktree").touch()
    rules = tuple(own / name for name in ("config", "config.worktree", "hooks"))
    return Rooms(writable=(worktree,), readable=(*rules, *alternates(own / "objects")))


def others(place: LinkedPlace) -> list[Path]:
    """Return the other work trees of a repository, the operator's own first."""
    found = [place.common.parent] if place.common.name == ".git" else []
    pointers = (place.common / "worktrees").glob("*/gitdir")
    found += [Path(os.path.realpath(pointer.read_text().strip())).parent for pointer in pointers]
    return [one for one in found if one != place.worktree and one not in NEVER_HIDDEN and one.is_dir()]
