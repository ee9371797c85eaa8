"""How the integration branch of the operator's own repository is moved, without anybody's checkout being worked in."""

import os
from pathlib import Path

from workloop.runner.git import ANY_FAILURE, RefMovedError, git, printables
from workloop.runner.gitfacts import (
    HEADS,
    dirty_paths,
    git_dir,
    is_ancestor,
    move_ref,
    operation_under_way,
    worktrees,
)
from workloop.runner.landing.merging import checked_merge
from workloop.runner.landing.order import Guards, Landing, LandingOrder, LandingOutcome
from workloop.runner.repository import Repository, integration_tip


def has_landed(repository: Repository, sha: str) -> bool:
    """Say whether the integration branch contains a commit; this alone is the fact of landing."""
    return is_ancestor(repository.path, sha, repository.integration_ref)


def local_merge(repository: Repository, order: LandingOrder, sha: str, guards: Guards) -> Landing:
    """Merge a commit into the integration branch here, once the guards are green on the merge."""
    tip = integration_tip(repository)
    if is_ancestor(repository.path, sha, tip):
        return Landing(outcome=LandingOutcome.ALREADY_LANDED, sha=sha, tip_before=tip)
    in_the_way = _dirty_checkouts(repository)
    if in_the_way:
        return _dirty(sha, tip, in_the_way)
    merged = checked_merge(repository, order, sha, tip, guards)
    if isinstance(merged, Landing):
        return merged
    if not order.stands():
        return Landing(outcome=LandingOutcome.CLAIM_LOST, sha=sha, tip_before=tip, merge_sha=merged)
    return advance(repository, sha, tip, merged)


def advance(repository: Repository, sha: str, tip: str, merge_sha: str) -> Landing:
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
    directory = git_dir(worktree)
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
