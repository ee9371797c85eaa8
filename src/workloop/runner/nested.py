"""What repositories inside a work tree hold that nobody else has: submodules, clones, and other work trees."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from workloop.domain.errors import WorkloopError
from workloop.runner.contents import Contents
from workloop.runner.foreign import programs_named
from workloop.runner.git import git

GIT = ".git"
LINK = b"gitdir: "
LINK_BYTES_MAX = 4096
UNKNOWN = "a repository inside that cannot be judged"
CHANGED = "uncommitted files of a repository inside"
AHEAD = "commits of a repository inside that no remote has"


class Loss(NamedTuple):
    """Something that only this folder holds."""

    what: str
    paths: tuple[str, ...]


def nested_losses(root: Path, own: Path, contents: Contents, outputs: tuple[str, ...] = ()) -> tuple[Loss, ...]:
    """Return what repositories inside a work tree hold alone; in folders declared as outputs nobody looks.

    `own` is the directory of git that belongs to the work tree; the repositories of its submodules lie in it.
    """
    tops = [root / path for path in contents.ignored if not is_output(path, outputs)]
    found = {folder for top in tops for folder in _repositories(top)}
    found.update(root / path for path in contents.submodules if os.path.lexists(root / path / GIT))
    losses = [_judged(folder, str(folder.relative_to(root)), own) for folder in sorted(found)]
    losses += [_commits_alone(place, str(place.relative_to(own))) for place in _kept_apart(own / "modules")]
    return tuple(loss for loss in losses if loss is not None)


def is_output(path: str, outputs: Sequence[str]) -> bool:
    """Say whether a path is, or lies in, a folder declared as output: by its name anywhere, or by its path."""
    parts = Path(path).parts
    declared = [Path(output).parts for output in outputs]
    return any(parts[: len(wanted)] == wanted or (len(wanted) == 1 and wanted[0] in parts) for wanted in declared)


def _repositories(top: Path) -> Iterator[Path]:
    """Yield every folder at or below one that has a .git of its own; links are not followed."""
    for folder, folders, files in os.walk(top):
        if GIT in folders or GIT in files:
            yield Path(folder)
        if GIT in folders:
            folders.remove(GIT)


def _kept_apart(modules: Path) -> Iterator[Path]:
    """Yield the submodules' repositories that git keeps for a work tree."""
    for folder, folders, files in os.walk(modules):
        if "HEAD" in files and "objects" in folders:
            yield Path(folder)
            folders[:] = [name for name in folders if name == "modules"]


def _judged(folder: Path, name: str, own: Path) -> Loss | None:
    place = _git_dir(folder)
    if place is None or not (place.is_relative_to(folder) or place.is_relative_to(own / "modules")):
        return Loss(UNKNOWN, (name,))
    try:
        if programs_named(place / "config") or programs_named(place / "config.worktree"):
            return Loss(UNKNOWN, (name,))
        asked = ("--git-dir", str(place), "--work-tree", str(folder))
        if git(folder, *asked, "status", "--porcelain", "-z", "--ignore-submodules=dirty").raw:
            return Loss(CHANGED, (name,))
    except WorkloopError:
        return Loss(UNKNOWN, (name,))
    return _commits_alone(place, name)


def _commits_alone(place: Path, name: str) -> Loss | None:
    """Say whether a repository has a commit that none of its remotes is known to have."""
    try:
        if programs_named(place / "config"):
            return Loss(UNKNOWN, (name,))
        known = git(place, "--git-dir", str(place), "for-each-ref", "--count=1", "--format=x", "refs/").text
        asked = ("rev-list", "--max-count=1", "--ignore-missing", "HEAD", "--all", "--not", "--remotes")
        alone = git(place, "--git-dir", str(place), *asked).text if known else ""
    except WorkloopError:
        return Loss(UNKNOWN, (name,))
    return Loss(AHEAD, (name,)) if alone else None


def _git_dir(folder: Path) -> Path | None:
    """Return where a folder's repository is, read by ourselves; None when that leads somewhere unexpected."""
    place = folder / GIT
    if place.is_symlink():
        return None
    if place.is_dir():
        return None if (place / "commondir").exists() else place
    with place.open("rb") as stream:
        text = stream.read(LINK_BYTES_MAX)
    if not text.startswith(LINK):
        return None
    target = Path(os.path.realpath(folder / os.fsdecode(text.removeprefix(LINK).rstrip(b"\n"))))
    return target if target.is_dir() and not (target / "commondir").exists() else None
