"""How the loop's wishes are done with git: the one module that turns them into work trees, checkouts and merges."""

import threading
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.domain.errors import IntegrityFault
from workloop.driver.gitlanding import GitLandings, plan_of
from workloop.driver.gittrees import tree_of
from workloop.driver.workshop import CheckOrder, Examined, WorkTree
from workloop.runner.candidate import candidate_facts
from workloop.runner.checks import run_checks
from workloop.runner.gitfacts import changed_paths, commit_of, is_ancestor
from workloop.runner.landing import has_landed
from workloop.runner.lineage import base_of
from workloop.runner.pidfile import end_leftovers
from workloop.runner.probe import WorkspaceProbe
from workloop.runner.registry import Workspace, read_record
from workloop.runner.removal import discard_checkout
from workloop.runner.repository import integration_tip
from workloop.runner.workspace import clean_checkout


@dataclass(frozen=True, slots=True)
class GitShop(GitLandings):
    """A workshop in one git repository."""

    def tip(self, tree: WorkTree) -> str | None:
        """Return the commit that stands checked out."""
        return commit_of(tree.path, "HEAD")

    def advanced(self, tree: WorkTree, since: str) -> bool:
        """Tell whether HEAD is another commit than then, with another content."""
        tip = self.tip(tree)
        return tip is not None and tip != since and bool(changed_paths(tree.path, since, tip))

    def probe(self, tree: WorkTree, protected: tuple[str, ...]) -> WorkspaceProbe:
        """Return what looks at the commits that this tree's session calls its result."""
        return WorkspaceProbe(self.repository, self.recorded(tree), protected)

    def problem(self, tree: WorkTree, sha: str, protected: tuple[str, ...]) -> str:
        """Return the first reason why a commit cannot stand as this attempt's result."""
        problems = candidate_facts(self.repository, self.recorded(tree), sha, protected=protected).problems
        return problems[0].message if problems else ""

    def recorded(self, tree: WorkTree) -> Workspace:
        """Return the record of a work tree."""
        workspace = read_record(tree.path)
        if workspace is None:
            raise IntegrityFault("WORKSPACE_UNRECORDED", f"{tree.path} has no record", hint="run workloop doctor")
        return workspace

    def unlanded(self, shas: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the commits that exist and have not landed."""
        known = [sha for sha in shas if commit_of(self.repository.path, sha) == sha]
        return tuple(sha for sha in known if not has_landed(self.repository, sha))

    def examine(self, order: CheckOrder, stop: threading.Event) -> Examined:
        """Look at a commit and run its checks in clean checkouts."""
        sha = order.sha
        if commit_of(self.repository.path, sha) != sha:
            return Examined(problems=(f"commit {sha} does not exist in {self.repository.path}",))
        base = base_of(self.repository, order.root_id, sha)
        problems = self.against(base, sha)
        if problems or not (order.checks or order.protected):
            return Examined(base=base, problems=problems)
        report = run_checks(self.repository, plan_of(order, base), stop=stop)
        return Examined(base=base, results=report.results, violations=report.violations)

    def against(self, base: str, sha: str) -> tuple[str, ...]:
        """Return why a commit cannot be a result, from git alone."""
        if not is_ancestor(self.repository.path, base, sha):
            return (f"{sha} does not descend from its base {base}",)
        if not changed_paths(self.repository.path, base, sha):
            return (f"{sha} changes nothing over its base {base}",)
        return ()

    def checkout(self, sha: str | None, name: str, now: Instant) -> WorkTree:
        """Make a clean checkout of a commit, or of the integration branch."""
        path = self.repository.folder("verify") / name
        return tree_of(clean_checkout(self.repository, sha or integration_tip(self.repository), path, created=now))

    def discard(self, checkout: WorkTree) -> None:
        """Delete a clean checkout."""
        discard_checkout(self.repository, self.recorded(checkout))

    def end_session(self, session_dir: Path) -> tuple[int, ...]:
        """Kill what a session of a dead loop left running."""
        return tuple(left.pid for left in end_leftovers(session_dir) if not left.dead)
