"""What the host itself can see of a candidate: that it exists, belongs to the attempt, and changes something."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from workloop.domain.checks import matching_paths
from workloop.domain.standins import named, stand_ins
from workloop.runner.git import printables
from workloop.runner.gitfacts import (
    HEADS,
    changed_paths,
    commit_of,
    commits_between,
    dirty_paths,
    is_ancestor,
    tree_of,
    tree_paths,
)
from workloop.runner.leaks import leaks, shown
from workloop.runner.registry import Workspace
from workloop.runner.repository import Repository, integration_tip
from workloop.runner.workspace import require_workspace

FULL_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
UNCOUNTED = (".workloop",)


class Problem(NamedTuple):
    """One reason why a candidate is not acceptable, and how to finish."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFacts:
    """Facts about one commit; the host read every one of them from git."""

    sha: str
    full: bool
    exists: bool
    is_descendant_of_base: bool = False
    reachable: bool = False
    commits_over_base: int = 0
    commits_over_start: int = 0
    diff_is_empty: bool = True
    already_integrated: bool = False
    head_sha: str | None = None
    changed_paths: tuple[str, ...] = ()
    dirty_paths: tuple[str, ...] = ()
    changed_protected_paths: tuple[str, ...] = ()
    stand_in_paths: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return why it cannot stand as a candidate; empty when it can. Dirty paths are told, not refused."""
        if not self.full:
            return (
                Problem(
                    "SHA_NOT_FULL", f"{self.sha!r} is not a full commit SHA", "bring what git rev-parse HEAD prints"
                ),
            )
        if not self.exists:
            return (
                Problem(
                    "COMMIT_UNKNOWN", f"no commit {self.sha} exists here", "commit the work in this worktree first"
                ),
            )
        found: list[Problem] = []
        if not self.is_descendant_of_base:
            found.append(
                Problem("NOT_FROM_BASE", "the commit does not descend from the base", "commit on the item's branch")
            )
        if not self.reachable:
            found.append(
                Problem("NOT_ON_BRANCH", "the commit is not on the item's branch", "commit on the item's branch")
            )
        if self.diff_is_empty:
            found.append(Problem("EMPTY_DIFF", "the commit changes nothing over the base", self._empty_hint()))
        if self.changed_protected_paths:
            paths = ", ".join(self.changed_protected_paths[:10])
            found.append(
                Problem("PROTECTED_CHANGED", f"protected paths were changed: {paths}", "restore them from the base")
            )
        if self.stand_in_paths:
            paths = ", ".join(self.stand_in_paths[:10])
            hint = "rename or remove them; where they are meant, a person adds !PATH to what the contract protects"
            found.append(Problem("STANDS_IN", f"these would be loaded in place of a test or its runner: {paths}", hint))
        if self.leaks:
            hint = "take them out of the branch's history, not only of its last commit, and complete with the new SHA"
            found.append(Problem("WITHHELD", f"this must not be published: {'; '.join(shown(self.leaks))}", hint))
        return tuple(found)

    def _empty_hint(self) -> str:
        if self.dirty_paths:
            return "the work is not committed yet: commit it, then complete with the new SHA"
        return "do the work and commit it; if nothing needs doing, settle another way than by a commit"


def candidate_facts(
    repository: Repository,
    workspace: Workspace,
    sha: str,
    *,
    protected: tuple[str, ...] = (),
    uncounted: tuple[str, ...] = UNCOUNTED,
) -> CandidateFacts:
    """Read the facts of a commit named as an attempt's result; uncounted paths do not make a diff non-empty."""
    require_workspace(workspace)
    head = commit_of(workspace.path, "HEAD")
    dirty = printables(dirty_paths(workspace.path))
    full = FULL_SHA.fullmatch(sha) is not None
    if not full or commit_of(repository.path, sha) != sha:
        return CandidateFacts(sha=sha, full=full, exists=False, head_sha=head, dirty_paths=dirty)
    integration = integration_tip(repository)
    changed = changed_paths(repository.path, workspace.base_sha, sha)
    counted = set(changed) - set(matching_paths(changed, uncounted))
    return CandidateFacts(
        sha=sha,
        full=True,
        exists=True,
        is_descendant_of_base=is_ancestor(repository.path, workspace.base_sha, sha),
        reachable=_reachable(workspace, sha, head),
        commits_over_base=commits_between(repository.path, workspace.base_sha, sha),
        commits_over_start=commits_between(repository.path, workspace.start_sha, sha),
        diff_is_empty=not counted or _only_others_work(repository, sha, integration),
        already_integrated=is_ancestor(repository.path, sha, integration),
        head_sha=head,
        changed_paths=printables(changed),
        dirty_paths=dirty,
        changed_protected_paths=printables(matching_paths(changed, named(protected))),
        stand_in_paths=printables(stand_ins(changed, tree_paths(repository.path, workspace.base_sha), protected)),
        leaks=leaks(repository, sha, workspace.base_sha, integration),
    )


def _reachable(workspace: Workspace, sha: str, head: str | None) -> bool:
    tips = (commit_of(workspace.repo, HEADS + workspace.branch), head)
    return any(tip is not None and is_ancestor(workspace.repo, sha, tip) for tip in tips)


def _only_others_work(repository: Repository, sha: str, integration: str) -> bool:
    """Say whether the commit merely merged the integration branch and brings that branch's own content."""
    if integration == sha or not is_ancestor(repository.path, integration, sha):
        return False
    return tree_of(repository.path, integration) == tree_of(repository.path, sha)
