"""How a merge is made and checked in a tree of its own, so that no checkout of the operator's is worked in."""

from collections.abc import Generator
from contextlib import contextmanager

from workloop.runner.git import git
from workloop.runner.gitfacts import merge_into
from workloop.runner.landing.order import Guards, Landing, LandingOrder, LandingOutcome
from workloop.runner.leaks import leaks, shown
from workloop.runner.registry import Workspace, WorkspaceKind, require_item_id, write_record
from workloop.runner.repository import Repository, confined, repository_lock
from workloop.runner.workspace import discard_worktree


def checked_merge(repository: Repository, order: LandingOrder, sha: str, tip: str, guards: Guards) -> Landing | str:
    """Merge a commit into a tip and ask the guards; returns the merge, or how the landing ended without one."""
    held = withheld(repository, sha, tip)
    if held is not None:
        return held
    with merge_tree(repository, order, tip) as tree:
        merged = merge_into(tree.path, sha, f"Land {order.title}\n\nItem {order.item_id}, verified at {sha}.")
        if merged.sha is None:
            return Landing(outcome=LandingOutcome.CONFLICT, sha=sha, tip_before=tip, files=merged.conflicts)
        verdict = guards(merged.sha)
    if verdict.green:
        return merged.sha
    return Landing(
        outcome=LandingOutcome.GUARDS_UNCLEAR if verdict.unclear else LandingOutcome.GUARDS_NOT_GREEN,
        sha=sha,
        tip_before=tip,
        merge_sha=merged.sha,
        reason=verdict.reason,
    )


def withheld(repository: Repository, sha: str, tip: str) -> Landing | None:
    """Return how a landing ends whose commits would publish secrets or huge files; None when they may leave."""
    found = leaks(repository, sha, tip)
    return Landing(outcome=LandingOutcome.WITHHELD, sha=sha, tip_before=tip, files=shown(found)) if found else None


@contextmanager
def merge_tree(repository: Repository, order: LandingOrder, tip: str) -> Generator[Workspace]:
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
