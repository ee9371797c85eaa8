"""How a folder of the loop is taken away, and only when it can be proved that nothing is lost with it."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict, WorkloopError
from workloop.runner.git import git, printables
from workloop.runner.gitfacts import commit_of, dirty_paths, hidden_paths, reachable_from_refs, tree_of, worktrees
from workloop.runner.registry import Workspace, WorkspaceKind, drop_record, leftovers, read_record
from workloop.runner.repository import Repository, confined, repository_lock
from workloop.runner.snapshot import take_snapshot
from workloop.runner.workspace import discard_worktree, require_workspace


class Loss(NamedTuple):
    """Something that only this folder holds."""

    what: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GcEntry:
    """What would happen to one recorded folder, and why."""

    workspace: Workspace
    safe: bool
    reason: str
    bytes_on_disk: int
    removed: bool = False


def losses(workspace: Workspace) -> tuple[Loss, ...]:
    """Return what would be lost with an attempt's worktree; what a salvage holds exactly is not lost."""
    require_workspace(workspace)
    found: list[Loss] = []
    head = commit_of(workspace.path, "HEAD")
    if head is not None and not reachable_from_refs(workspace.path, head):
        found.append(Loss("commits no reference reaches", (head,)))
    dirty = dirty_paths(workspace.path) or hidden_paths(workspace.path)
    if dirty and not _is_salvaged(workspace):
        found.append(Loss("uncommitted or untracked files", printables(dirty)))
    return tuple(found)


def remove(repository: Repository, workspace: Workspace) -> None:
    """Remove a folder the loop made; raises Conflict naming what would be lost, and then removes nothing."""
    path = confined(repository, workspace.path)
    if read_record(path) != workspace:
        raise Conflict("NOT_OURS", f"{path} has no record of the loop", hint="remove it by hand if it is yours")
    if not os.path.lexists(path) or not workspace.ready or workspace.kind is WorkspaceKind.LANDING:
        discard_worktree(repository, workspace)
        return
    if workspace.kind is WorkspaceKind.CHECKOUT:
        discard_checkout(repository, workspace)
        return
    lost = losses(workspace)
    if lost:
        told = "; ".join(f"{loss.what}: {', '.join(loss.paths[:10])}" for loss in lost)
        raise Conflict("WOULD_LOSE_WORK", f"{path} holds {told}", hint="salvage it first", path=str(path))
    with repository_lock(repository, "worktree"):
        git(repository.path, "worktree", "remove", "--force", str(path))
        listed = {Path(os.path.realpath(entry.path)) for entry in worktrees(repository.path)}
    if path in listed or os.path.lexists(path):
        raise Conflict("NOT_REMOVED", f"{path} is still there", hint="see which process works in it")
    drop_record(workspace)


def discard_checkout(repository: Repository, checkout: Workspace) -> None:
    """Delete a clean checkout with whatever ran in it; links are removed, never followed."""
    path = confined(repository, checkout.path)
    if checkout.kind is not WorkspaceKind.CHECKOUT:
        raise Conflict("NOT_A_CHECKOUT", f"{path} may hold work", hint="remove it as a workspace")
    if path.is_dir():
        _open_folders(path)
        shutil.rmtree(path)
    drop_record(checkout)


def gc(
    repository: Repository,
    *,
    live: frozenset[Path] = frozenset(),
    before: Instant | None = None,
    keep_newest: int = 0,
    dry_run: bool = True,
) -> tuple[GcEntry, ...]:
    """List this repository's folders, oldest first, and remove the safe ones unless it is a dry run.

    Kept are live folders, those made at or after before, the newest keep_newest, and those another running loop made.
    """
    known = [one for one in leftovers(repository.state_dir) if one.workspace.common_dir == repository.common_dir]
    spared = {one.workspace.path for one in known[max(0, len(known) - keep_newest) :]}
    entries: list[GcEntry] = []
    for one in known:
        workspace = one.workspace
        if one.maker_runs:
            entry = _entry(workspace, "the loop that made it is running", safe=False)
        elif workspace.path in live:
            entry = _entry(workspace, "a session or a check works in it", safe=False)
        elif workspace.path in spared or (before is not None and workspace.created >= before):
            entry = _entry(workspace, "it is recent", safe=False)
        else:
            entry = _judged(workspace, present=one.present)
        entries.append(entry if dry_run or not entry.safe else _removed(repository, entry))
    return tuple(entries)


def _judged(workspace: Workspace, *, present: bool) -> GcEntry:
    if not present:
        return _entry(workspace, "the folder is gone already", safe=True)
    if not workspace.ready:
        return _entry(workspace, "it was never made to the end, so nobody worked in it", safe=True)
    if workspace.kind is not WorkspaceKind.ATTEMPT:
        return _entry(workspace, "the host made it for checks or a merge; it holds no work", safe=True)
    try:
        lost = losses(workspace)
    except WorkloopError as unknown:
        return _entry(workspace, f"what it holds cannot be told: {unknown.message}", safe=False)
    if lost:
        told = "; ".join(f"{loss.what} ({len(loss.paths)})" for loss in lost)
        return _entry(workspace, f"would lose {told}", safe=False)
    return _entry(workspace, "clean, and every commit is on a reference", safe=True)


def _removed(repository: Repository, entry: GcEntry) -> GcEntry:
    try:
        remove(repository, entry.workspace)
    except WorkloopError as refused:
        return GcEntry(workspace=entry.workspace, safe=False, reason=refused.message, bytes_on_disk=entry.bytes_on_disk)
    return GcEntry(
        workspace=entry.workspace, safe=True, reason=entry.reason, bytes_on_disk=entry.bytes_on_disk, removed=True
    )


def _entry(workspace: Workspace, reason: str, *, safe: bool) -> GcEntry:
    return GcEntry(workspace=workspace, safe=safe, reason=reason, bytes_on_disk=_size(workspace.path))


def _size(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return 0
    folders = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(one.lstat().st_size for one in folders if os.path.lexists(one))


def _is_salvaged(workspace: Workspace) -> bool:
    salvaged = commit_of(workspace.repo, workspace.salvage_ref)
    if salvaged is None:
        return False
    snapshot = take_snapshot(workspace)
    complete = not snapshot.skipped and not snapshot.conflicts
    return complete and tree_of(workspace.repo, salvaged) == snapshot.tree


def _open_folders(path: Path) -> None:
    """Make every folder writable, from the top down, so that a check that closed its own can't keep it."""
    path.chmod(0o700)
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = Path(folder) / name
            if not inner.is_symlink():
                inner.chmod(0o700)
