"""The work trees of workers: each begins at a full commit on a branch of its own, and what it leaves is never lost."""

from dataclasses import dataclass
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.domain.errors import WorkloopError
from workloop.runner.gitfacts import HEADS, commit_of
from workloop.runner.registry import Workspace, leftovers
from workloop.runner.removal import remove
from workloop.runner.repository import Repository
from workloop.runner.salvage import salvage
from workloop.runner.sandbox.receiving import receive
from workloop.runner.workspace import WorkspaceOrder, break_stale_locks, make


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTree:
    """One worker's tree, and the full commit that it began from."""

    repository: Repository
    workspace: Workspace
    base: str

    @property
    def path(self) -> Path:
        """Return where it is."""
        return self.workspace.path

    @property
    def candidate(self) -> str | None:
        """Return the commit that its branch stands on now, or None when that is where it began."""
        tip = commit_of(self.repository.path, HEADS + self.workspace.branch)
        return None if tip == self.base else tip


def open_tree(repository: Repository, name: str, title: str, base: str, now: Instant) -> WorkTree:
    """Make a work tree at a commit; the name is new in the repository."""
    order = WorkspaceOrder(item_id=name, attempt=1, title=title, created=now, start_sha=base)
    return WorkTree(repository=repository, workspace=make(repository, order), base=base)


def put_away(tree: WorkTree) -> str:
    """Save what a dead worker left uncommitted to a side reference and remove its tree; says what stands of it."""
    try:
        receive(tree.path, ended=True)
        break_stale_locks(tree.workspace)
        saved = salvage(tree.workspace, reason="the worker of a bench run has ended")
        remove(tree.repository, tree.workspace, saved)
    except (WorkloopError, OSError) as failed:
        return f"{tree.path} stays: {failed}"
    return f"what was not committed is at {saved.ref}" if saved.sha is not None else ""


def put_away_left(repository: Repository) -> tuple[str, ...]:
    """Put the trees of runs away whose process is gone, as those runs would have; returns the names of those trees.

    A tree that was never made to the end holds nothing, and what cannot be put away stays for a person to look at.
    """
    names: list[str] = []
    for left in leftovers(repository.state_dir):
        workspace = left.workspace
        if left.maker_runs or left.made_here or workspace.repo != repository.path:
            continue
        if workspace.ready and left.present:
            put_away(WorkTree(repository=repository, workspace=workspace, base=workspace.start_sha))
        else:
            remove(repository, workspace)
        names.append(workspace.item_id)
    return tuple(names)
