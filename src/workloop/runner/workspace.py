"""How an attempt gets a worktree of its own: its branch, its base, and the commit it starts from."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict, Refusal
from workloop.runner.foreign import programs_named
from workloop.runner.git import ANY_FAILURE, git
from workloop.runner.gitfacts import (
    HEADS,
    NO_COMMIT,
    RefMove,
    WorktreeEntry,
    commit_of,
    commits_of,
    is_ancestor,
    merge_into,
    move_refs,
    place_of,
    require_commit,
    worktrees,
)
from workloop.runner.lineage import base_ref, branch_in_the_way, branches_of, new_branch
from workloop.runner.registry import Workspace, WorkspaceKind, drop_record, read_record, require_item_id, write_record
from workloop.runner.repository import Repository, confined, integration_tip, repository_lock
from workloop.runner.skeleton import lay_out

KEPT_REFS = "refs/workloop/kept/"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceOrder:
    """What a workspace is made for; a repair names the root's branch and the rejected SHA to start from."""

    item_id: str
    attempt: int
    title: str
    created: Instant
    dependencies: tuple[str, ...] = ()
    branch: str | None = None
    start_sha: str | None = None


class _Plan(NamedTuple):
    branch: str
    tip: str | None
    start: str | None
    base: str | None
    from_sha: str
    missing: tuple[str, ...]


def make(repository: Repository, order: WorkspaceOrder) -> Workspace:
    """Make the worktree of an attempt; raises Refusal and leaves nothing behind when that cannot be done.

    The base is the integration branch's tip with the dependencies merged in. A branch that already carries work is gone
    on from, with the base it was started from, so that nothing is lost and nothing of others counts as this work.
    """
    path = attempt_path(repository, order.item_id, order.attempt)
    with repository_lock(repository, "worktree"):
        if os.path.lexists(path):
            raise Conflict("WORKSPACE_EXISTS", f"{path} is already there", hint="go on in it, or remove it first")
        listed = _forget_missing(repository)
        plan = _plan(repository, order)
        _free_branch(repository, listed, plan.branch)
        workspace = _draft(repository, order, plan, path)
        write_record(workspace)
        _add_worktree(repository, workspace, plan.from_sha)
    try:
        git(path, "reset", "--hard", "--quiet")
        workspace = _settle_start(repository, workspace, plan, order)
        with repository_lock(repository, "worktree"):
            _take_branch(repository, workspace, plan)
        workspace = replace(workspace, ready=True)
        write_record(workspace)
        require_workspace(workspace)
    except BaseException:
        discard_worktree(repository, workspace)
        raise
    return workspace


def attempt_path(repository: Repository, item_id: str, attempt: int) -> Path:
    """Return the folder of an attempt, whether or not it has been made yet."""
    return confined(repository, repository.folder("worktrees") / f"{require_item_id(item_id)}-{attempt}")


def require_workspace(workspace: Workspace) -> Path:
    """Return the folder's own git directory; raises Refusal unless it still is its repository's registered worktree."""
    found = place_of(workspace.path) if workspace.path.is_dir() and not workspace.path.is_symlink() else None
    if found is None or found.root != workspace.path or found.common != workspace.common_dir:
        raise _misplaced(workspace, f"git finds {found.root if found is not None else 'nothing'} there")
    own = found.own
    backlink = own / "gitdir"
    if own.parent != workspace.common_dir / "worktrees" or not backlink.is_file():
        raise _misplaced(workspace, f"it uses {own}, which is not a worktree's own directory")
    if Path(os.fsdecode(backlink.read_bytes()).strip()) != workspace.path / ".git":
        raise _misplaced(workspace, f"it uses the directory of another worktree, {own}")
    planted = programs_named(own / "config.worktree") - programs_named(found.common / "config.worktree")
    if planted:
        raise Refusal(
            "WORKSPACE_SETTINGS",
            f"settings of {workspace.path} would make git run something: {', '.join(sorted(planted))[:200]}",
            hint=f"nothing was done there; see {own / 'config.worktree'}",
            path=str(workspace.path),
        )
    return own


def break_stale_locks(workspace: Workspace) -> tuple[Path, ...]:
    """Remove lock files a killed process left in this worktree and on its branch; call it once death is proven."""
    own = require_workspace(workspace)
    candidates = [own / "index.lock", own / "HEAD.lock"]
    candidates.append(workspace.common_dir / f"{HEADS}{workspace.branch}.lock")
    found = tuple(lock for lock in candidates if lock.is_file() and not lock.is_symlink())
    for lock in found:
        lock.unlink(missing_ok=True)
    return found


def clean_checkout(repository: Repository, sha: str, path: Path, *, created: Instant, item_id: str = "") -> Workspace:
    """Make a separate repository of exactly one commit: no hooks, no references, objects read from the original.

    What runs in it can move no branch of the operator's repository.
    """
    full = require_commit(repository.path, sha)
    target = confined(repository, path)
    if os.path.lexists(target):
        raise Conflict("WORKSPACE_EXISTS", f"{target} is already there", hint="choose another path")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    checkout = Workspace(
        path=target,
        branch="",
        base_sha=full,
        start_sha=full,
        repo=repository.path,
        common_dir=repository.common_dir,
        item_id=item_id,
        attempt=0,
        created=created,
        kind=WorkspaceKind.CHECKOUT,
    )
    write_record(checkout)
    lay_out(repository, full, target)
    return checkout


def discard_worktree(repository: Repository, workspace: Workspace) -> None:
    """Take away a worktree the host itself made and nobody has worked in, with its record."""
    path = confined(repository, workspace.path)
    with repository_lock(repository, "worktree"):
        removed = git(repository.path, "worktree", "remove", "--force", str(path), call=ANY_FAILURE)
        if removed.exit_code != 0 and path.is_dir():
            shutil.rmtree(path)
        _forget_missing(repository)
    drop_record(workspace)


def _forget_missing(repository: Repository) -> list[WorktreeEntry]:
    """Drop git's metadata of our own worktrees whose folders are gone, not of other people's; returns what is left."""
    left: list[WorktreeEntry] = []
    for entry in worktrees(repository.path):
        path = Path(os.path.realpath(entry.path))
        if repository.state_dir in path.parents and not os.path.lexists(path):
            git(repository.path, "worktree", "remove", "--force", str(entry.path))
        else:
            left.append(entry)
    return left


def _plan(repository: Repository, order: WorkspaceOrder) -> _Plan:
    branch = _branch_for(repository, order)
    names = (HEADS + branch, base_ref(branch), repository.integration_ref)
    tip, recorded, integration = commits_of(repository.path, *names)
    integration = integration or integration_tip(repository)
    needed = [require_commit(repository.path, sha) for sha in order.dependencies]
    start = require_commit(repository.path, order.start_sha) if order.start_sha else None
    if start is None and tip and tip != recorded and not is_ancestor(repository.path, tip, integration):
        start = tip
    missing = _not_in(repository, needed, start or integration)
    if start is None or (missing and order.start_sha is None):
        return _Plan(branch, tip, start, None, integration, tuple(_not_in(repository, needed, integration)))
    return _Plan(branch, tip, start, _base_of(repository, start, recorded, integration), start, ())


def _base_of(repository: Repository, start: str, recorded: str | None, integration: str) -> str:
    if recorded and is_ancestor(repository.path, recorded, start):
        newer = is_ancestor(repository.path, integration, start) and is_ancestor(repository.path, recorded, integration)
        return integration if newer else recorded
    found = git(repository.path, "merge-base", start, integration, call=ANY_FAILURE)
    if found.exit_code != 0:
        raise Conflict(
            "UNRELATED_HISTORY",
            f"{start} shares no commit with {repository.integration_branch}",
            hint="start the work from the integration branch",
        )
    return found.text


def _settle_start(repository: Repository, workspace: Workspace, plan: _Plan, order: WorkspaceOrder) -> Workspace:
    """Merge what the base needs in the detached worktree; return the workspace with its true base and start."""
    if plan.base is not None:
        return workspace
    merges = f"Base of {order.item_id}: verified work that has not landed"
    base = _merge_all(workspace.path, plan.missing, merges) if plan.missing else plan.from_sha
    if plan.start is None:
        return replace(workspace, base_sha=base, start_sha=base)
    git(workspace.path, "checkout", "--quiet", "--detach", plan.start)
    start = _merge_all(workspace.path, (base,), f"Bring the base of {order.item_id} up to date")
    return replace(workspace, base_sha=base, start_sha=start)


def _merge_all(worktree: Path, shas: Sequence[str], message: str) -> str:
    for sha in shas:
        merged = merge_into(worktree, sha, message)
        if merged.sha is None:
            raise Conflict(
                "MERGE_CONFLICT",
                f"{sha[:12]} does not merge: {', '.join(merged.conflicts[:10])}",
                hint="land the dependencies first, or resolve the conflict in a repair",
                sha=sha,
                files=list(merged.conflicts),
            )
    return require_commit(worktree, "HEAD")


def _take_branch(repository: Repository, workspace: Workspace, plan: _Plan) -> None:
    """Put the branch on the start and HEAD on the branch; base and branch move together, so a crash can't mix them."""
    start, tip = workspace.start_sha, plan.tip
    moves = [
        _move(repository, base_ref(plan.branch), workspace.base_sha),
        RefMove(HEADS + plan.branch, start, tip or NO_COMMIT),
    ]
    if tip and tip != start and not is_ancestor(repository.path, tip, start):
        moves.append(_move(repository, f"{KEPT_REFS}{workspace.item_id}/{workspace.attempt}", tip))
    move_refs(repository.path, moves)
    git(workspace.path, "symbolic-ref", "HEAD", HEADS + plan.branch)


def _move(repository: Repository, ref: str, new: str) -> RefMove:
    return RefMove(ref, new, commit_of(repository.path, ref) or NO_COMMIT)


def _free_branch(repository: Repository, listed: Sequence[WorktreeEntry], branch: str) -> None:
    """Detach an earlier attempt's worktree from the branch; refuse when the branch is checked out by someone else."""
    for entry in listed:
        if entry.branch != branch or entry.head is None:
            continue
        record = read_record(Path(os.path.realpath(entry.path)))
        if record is None or branch not in (record.branch, *branches_of(repository, record.item_id)):
            raise Conflict(
                "BRANCH_IN_USE",
                f"{branch} is checked out in {entry.path}",
                hint="switch that worktree to another branch",
                path=str(entry.path),
            )
        git(entry.path, "update-ref", "--no-deref", "HEAD", entry.head)


def _draft(repository: Repository, order: WorkspaceOrder, plan: _Plan, path: Path) -> Workspace:
    return Workspace(
        path=path,
        branch=plan.branch,
        base_sha=plan.base or plan.from_sha,
        start_sha=plan.from_sha,
        repo=repository.path,
        common_dir=repository.common_dir,
        item_id=order.item_id,
        attempt=order.attempt,
        created=order.created,
        ready=False,
    )


def _add_worktree(repository: Repository, workspace: Workspace, sha: str) -> None:
    try:
        git(repository.path, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(workspace.path), sha)
    except BaseException:
        drop_record(workspace)
        raise


def _branch_for(repository: Repository, order: WorkspaceOrder) -> str:
    """Return the branch that carries the item's work, else a new name; refuse one that git could not make."""
    known = branches_of(repository, order.item_id)
    if order.branch or known:
        return order.branch or known[0]
    branch = new_branch(order.item_id, order.title)
    taken = branch_in_the_way(repository, branch)
    if taken is not None:
        raise Conflict(
            "BRANCH_NAME_TAKEN",
            f"the branch {taken!r} stands where the folder of {branch!r} must be",
            hint=f"rename it: git branch -m {taken} {taken}-mine",
            branch=taken,
        )
    return branch


def _not_in(repository: Repository, shas: Sequence[str], tip: str) -> list[str]:
    return [sha for sha in shas if not is_ancestor(repository.path, sha, tip)]


def _misplaced(workspace: Workspace, found: str) -> Refusal:
    return Refusal(
        "WORKSPACE_MISPLACED",
        f"{workspace.path} is not the worktree it was: {found}",
        hint="nothing was done there; look at the folder before removing it",
        path=str(workspace.path),
    )
