"""How a verified commit gets onto the integration branch without the operator's checkout being worked in."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, assert_never

from workloop.domain.clock import Instant
from workloop.runner.git import ANY_FAILURE, RefMovedError, git, printables
from workloop.runner.gitfacts import (
    HEADS,
    dirty_paths,
    is_ancestor,
    merge_into,
    move_ref,
    operation_under_way,
    require_commit,
    worktrees,
)
from workloop.runner.registry import Workspace, WorkspaceKind, require_item_id, write_record
from workloop.runner.repository import Repository, confined, integration_tip, repository_lock
from workloop.runner.workspace import discard_worktree

LANDING_WAIT_SECONDS = 0.0


class LandingPolicy(StrEnum):
    """What happens to a verified commit."""

    NONE = "none"
    LOCAL_MERGE = "local-merge"


class LandingOutcome(StrEnum):
    """How a landing ended; only landed and already_landed mean that the branch contains the commit."""

    LANDED = "landed"
    ALREADY_LANDED = "already_landed"
    NOT_WANTED = "not_wanted"
    CONFLICT = "conflict"
    GUARDS_NOT_GREEN = "guards_not_green"
    CHECKOUT_DIRTY = "checkout_dirty"
    BRANCH_MOVED = "branch_moved"


class GuardVerdict(NamedTuple):
    """What the guard checks said of the merge result."""

    green: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingOrder:
    """Which commit to land, for which item; attempt makes the merge's folder unique."""

    item_id: str
    attempt: int
    sha: str
    title: str
    now: Instant
    policy: LandingPolicy = LandingPolicy.LOCAL_MERGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """The end of a landing: the merge commit when there is one, the branch's tip before, the paths in the way."""

    outcome: LandingOutcome
    sha: str
    tip_before: str
    merge_sha: str | None = None
    files: tuple[str, ...] = ()
    reason: str = ""


Guards = Callable[[str], GuardVerdict]


def land(repository: Repository, order: LandingOrder, guards: Guards) -> Landing:
    """Merge a commit into the integration branch, after the guards have passed on the merge result.

    Raises Conflict REPOSITORY_BUSY, retryable, while another landing of the repository is under way.
    """
    sha = require_commit(repository.path, order.sha)
    match order.policy:
        case LandingPolicy.NONE:
            tip = integration_tip(repository)
            return Landing(outcome=LandingOutcome.NOT_WANTED, sha=sha, tip_before=tip)
        case LandingPolicy.LOCAL_MERGE:
            with repository_lock(repository, "landing", seconds=LANDING_WAIT_SECONDS):
                return _local_merge(repository, order, sha, guards)
        case _:
            assert_never(order.policy)


def has_landed(repository: Repository, sha: str) -> bool:
    """Say whether the integration branch contains a commit; this alone is the fact of landing."""
    return is_ancestor(repository.path, sha, repository.integration_ref)


def _local_merge(repository: Repository, order: LandingOrder, sha: str, guards: Guards) -> Landing:
    tip = integration_tip(repository)
    if is_ancestor(repository.path, sha, tip):
        return Landing(outcome=LandingOutcome.ALREADY_LANDED, sha=sha, tip_before=tip)
    in_the_way = _dirty_checkouts(repository)
    if in_the_way:
        return _dirty(sha, tip, in_the_way)
    with _merge_tree(repository, order, tip) as tree:
        merged = merge_into(tree.path, sha, f"Land {order.title}\n\nItem {order.item_id}, verified at {sha}.")
        if merged.sha is None:
            return Landing(outcome=LandingOutcome.CONFLICT, sha=sha, tip_before=tip, files=merged.conflicts)
        verdict = guards(merged.sha)
        if not verdict.green:
            return Landing(
                outcome=LandingOutcome.GUARDS_NOT_GREEN,
                sha=sha,
                tip_before=tip,
                merge_sha=merged.sha,
                reason=verdict.reason,
            )
        return _advance(repository, sha, tip, merged.sha)


def _advance(repository: Repository, sha: str, tip: str, merge_sha: str) -> Landing:
    """Move the branch from the tip to the merge, through the checkout that has it checked out, if one has."""
    in_the_way = _dirty_checkouts(repository)
    if in_the_way:
        return _dirty(sha, tip, in_the_way, merge_sha)
    checkouts = _checkouts(repository)
    if checkouts:
        forwarded = git(checkouts[0], "merge", "--ff-only", "--quiet", merge_sha, call=ANY_FAILURE)
        if forwarded.exit_code != 0 and integration_tip(repository) == tip:
            return _dirty(sha, tip, (), merge_sha, reason=forwarded.error.strip()[-400:])
    else:
        try:
            move_ref(repository.path, repository.integration_ref, merge_sha, tip)
        except RefMovedError as moved:
            return Landing(outcome=LandingOutcome.BRANCH_MOVED, sha=sha, tip_before=tip, reason=moved.message)
    if not has_landed(repository, sha):
        reason = f"{repository.integration_branch} moved while the merge was checked"
        return Landing(outcome=LandingOutcome.BRANCH_MOVED, sha=sha, tip_before=tip, reason=reason)
    return Landing(outcome=LandingOutcome.LANDED, sha=sha, tip_before=tip, merge_sha=merge_sha)


@contextmanager
def _merge_tree(repository: Repository, order: LandingOrder, tip: str) -> Generator[Workspace]:
    """Make a worktree for the merge, detached at the tip, and take it away afterwards."""
    name = f"{require_item_id(order.item_id)}-{order.attempt}"
    tree = Workspace(
        path=confined(repository, repository.folder("landings") / name),
        branch="",
        base_sha=tip,
        start_sha=tip,
        repo=repository.path,
        common_dir=repository.common_dir,
        item_id=order.item_id,
        attempt=order.attempt,
        created=order.now,
        kind=WorkspaceKind.LANDING,
    )
    # A killed landing left this folder; the landing lock proves that nobody works in it.
    discard_worktree(repository, tree)
    write_record(tree)
    try:
        with repository_lock(repository, "worktree"):
            git(repository.path, "worktree", "add", "--quiet", "--detach", str(tree.path), tip)
        yield tree
    finally:
        discard_worktree(repository, tree)


def _checkouts(repository: Repository) -> list[Path]:
    """Return the worktrees that have the integration branch checked out."""
    on_it = [entry for entry in worktrees(repository.path) if entry.branch == repository.integration_branch]
    return [entry.path for entry in on_it if not entry.is_bare and entry.path.is_dir()]


def _dirty_checkouts(repository: Repository) -> tuple[str, ...]:
    """Return the changes that stand in the way; untracked files do only when the merge would overwrite them."""
    found: list[str] = []
    for entry in worktrees(repository.path):
        if entry.is_bare or not entry.path.is_dir():
            continue
        if _rebases(entry.path, repository.integration_branch):
            found.append(f"{entry.path} rebases {repository.integration_branch}")
        elif entry.branch == repository.integration_branch:
            found.extend(dirty_paths(entry.path, untracked=False))
            under_way = operation_under_way(entry.path)
            found.extend([f"{under_way} in {entry.path}"] if under_way else [])
    return printables(found)


def _rebases(worktree: Path, branch: str) -> bool:
    directory = Path(git(worktree, "rev-parse", "--absolute-git-dir").text)
    names = (directory / folder / "head-name" for folder in ("rebase-merge", "rebase-apply"))
    return any(name.is_file() and os.fsdecode(name.read_bytes()).strip() == HEADS + branch for name in names)


def _dirty(sha: str, tip: str, files: tuple[str, ...], merge_sha: str | None = None, reason: str = "") -> Landing:
    return Landing(
        outcome=LandingOutcome.CHECKOUT_DIRTY,
        sha=sha,
        tip_before=tip,
        merge_sha=merge_sha,
        files=files,
        reason=reason or "the integration branch is checked out and has changes that are not committed",
    )
