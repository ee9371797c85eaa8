"""How a folder of the loop is taken away, and only when it can be proved that nothing is lost with it."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.errors import Conflict
from workloop.runner.contents import Contents, contents_of
from workloop.runner.git import git, printables
from workloop.runner.gitfacts import commit_of, operation_under_way, reachable_from_refs, tree_of, worktrees
from workloop.runner.nested import Loss, nested_losses
from workloop.runner.registry import Workspace, WorkspaceKind, drop_record, read_record
from workloop.runner.repository import Repository, confined, repository_lock
from workloop.runner.salvage import Salvage
from workloop.runner.snapshot import take_snapshot
from workloop.runner.workspace import discard_worktree, require_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What only a worktree holds; `held` is the commit that has its files, `linked` says that it has submodules."""

    losses: tuple[Loss, ...]
    held: str | None
    linked: bool


def losses(workspace: Workspace, outputs: tuple[str, ...] = ()) -> tuple[Loss, ...]:
    """Return what would be lost with an attempt's worktree; what a salvage holds exactly is not lost.

    Ignored files are no work; repositories among them may hold some, unless they lie in folders declared as outputs.
    """
    return look_into(workspace, outputs).losses


def look_into(workspace: Workspace, outputs: tuple[str, ...], saved: Salvage | None = None) -> Holding:
    """Find out what only an attempt's worktree holds, and which commit holds its files.

    A salvage made a moment ago spares a second look at the files, because git itself looks once more when it removes;
    where it does not, with submodules, the second look is ours.
    """
    own = require_workspace(workspace)
    if saved is not None and (saved.contents.submodules or (own / "modules").exists()):
        saved = None
    contents = saved.contents if saved is not None else contents_of(workspace.path)
    found = list(nested_losses(workspace.path, own, contents, outputs))
    operation = operation_under_way(workspace.path)
    if operation is not None:
        found.append(Loss("an operation of git that is not finished", (operation,)))
    head, held = commit_of(workspace.path, "HEAD"), None
    if head is not None and not reachable_from_refs(workspace.path, head):
        found.append(Loss("commits no reference reaches", (head,)))
    if contents.changed or contents.hidden:
        held = saved.held if saved is not None else _holder(workspace, contents)
        if held is None:
            found.append(Loss("uncommitted or untracked files", printables(contents.changed or contents.hidden)))
    linked = bool(contents.submodules) or (own / "modules").exists()
    return Holding(losses=tuple(found), held=held, linked=linked)


def remove(repository: Repository, workspace: Workspace, saved: Salvage | None = None) -> None:
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
    found = look_into(workspace, repository.outputs, saved)
    if found.losses:
        told = "; ".join(f"{loss.what}: {', '.join(loss.paths[:10])}" for loss in found.losses)
        raise Conflict("WOULD_LOSE_WORK", f"{path} holds {told}", hint="salvage it first", path=str(path))
    with repository_lock(repository, "worktree"):
        _take_away(repository, path, found)
        listed = {Path(os.path.realpath(entry.path)) for entry in worktrees(repository.path)}
    if path in listed or os.path.lexists(path):
        raise Conflict("NOT_REMOVED", f"{path} is still there", hint="see which process works in it")
    drop_record(workspace)


def _take_away(repository: Repository, path: Path, found: Holding) -> None:
    """Remove a worktree without force, so that git itself looks once more whether each file is in a commit.

    The index and then HEAD are put on the salvage first where that holds the files, in this order, so that a kill in
    between leaves what a next salvage finds saved. Only a tree with submodules needs force:
    git refuses to look into it, and what it holds was looked at before.
    """
    if found.held is not None:
        git(path, "read-tree", "--reset", found.held)
        git(path, "update-ref", "--no-deref", "HEAD", found.held)
    force = ("--force",) if found.linked else ()
    git(repository.path, "worktree", "remove", *force, str(path))


def discard_checkout(repository: Repository, checkout: Workspace) -> None:
    """Delete a clean checkout with whatever ran in it; links are removed, never followed."""
    path = confined(repository, checkout.path)
    if checkout.kind is not WorkspaceKind.CHECKOUT:
        raise Conflict("NOT_A_CHECKOUT", f"{path} may hold work", hint="remove it as a workspace")
    if path.is_dir():
        try:
            shutil.rmtree(path)
        except PermissionError:
            _open_folders(path)
            shutil.rmtree(path)
    drop_record(checkout)


def _holder(workspace: Workspace, contents: Contents) -> str | None:
    """Return the commit that holds exactly the files of a worktree; HEAD only where nothing says that they changed."""
    snapshot = take_snapshot(workspace, contents)
    if snapshot.skipped or snapshot.conflicts:
        return None
    if snapshot.unchanged and not contents.changed:
        return snapshot.head
    salvaged = commit_of(workspace.repo, workspace.salvage_ref)
    return salvaged if salvaged is not None and tree_of(workspace.repo, salvaged) == snapshot.tree else None


def _open_folders(path: Path) -> None:
    """Make every folder writable, from the top down, because a check has closed one of its own."""
    path.chmod(0o700)
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = Path(folder) / name
            if not inner.is_symlink():
                inner.chmod(0o700)
