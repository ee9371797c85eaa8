"""What the host sees in git when somebody says that a commit is an item's result."""

from dataclasses import dataclass
from pathlib import Path

from workloop.domain.ids import ItemId
from workloop.runner.candidate import candidate_facts
from workloop.runner.git import ANY_FAILURE, git
from workloop.runner.gitfacts import commit_of, tree_of
from workloop.runner.registry import Workspace
from workloop.runner.repository import Repository
from workloop.runner.sandbox.receiving import receive


@dataclass(frozen=True, slots=True)
class WorkspaceProbe:
    """Looks at a session's own worktree."""

    repository: Repository
    workspace: Workspace
    protected: tuple[str, ...]

    def refuse(self, item_id: ItemId, sha: str) -> tuple[str, str] | None:
        """Return the first reason why the commit cannot stand as this attempt's result.

        What the session has brought so far, behind walls, is looked at first and taken over.
        """
        receive(self.workspace.path)
        facts = candidate_facts(self.repository, self.workspace, sha, protected=self.protected)
        for problem in facts.problems:
            return problem.code, f"{problem.message}; {problem.hint}"
        return None


@dataclass(frozen=True, slots=True)
class RepositoryProbe:
    """Looks at a repository by itself, for people and programs that work without the loop's worktrees."""

    path: Path
    integration_branch: str | None = None

    def refuse(self, item_id: ItemId, sha: str) -> tuple[str, str] | None:
        """Return a reason when the commit is unknown, or brings nothing that the integration branch lacks."""
        if commit_of(self.path, sha) != sha:
            return "COMMIT_UNKNOWN", f"no commit {sha} exists in {self.path}; commit the work there first"
        branch = self.integration_branch or "HEAD"
        base = git(self.path, "merge-base", branch, sha, call=ANY_FAILURE)
        if (
            base.exit_code == 0
            and self.integration_branch is not None
            and tree_of(self.path, base.text) == tree_of(self.path, sha)
        ):
            return "EMPTY_DIFF", f"the commit changes nothing over {branch}; do the work and commit it"
        return None
