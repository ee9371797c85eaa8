"""How the loop's wishes are done with git: the one module that turns them into work trees, checkouts and merges."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.domain.errors import IntegrityFault, WorkloopError
from workloop.driver.workshop import (
    CheckOrder,
    Examined,
    Landed,
    LandingWord,
    LandOrder,
    PutAway,
    WorkOrder,
    WorkTree,
)
from workloop.runner.candidate import candidate_facts
from workloop.runner.checks import CheckPlan, run_checks
from workloop.runner.gitfacts import changed_paths, commit_of, head_branch, is_ancestor
from workloop.runner.landing import GuardVerdict, Landing, LandingOrder, LandingOutcome, has_landed, land
from workloop.runner.lineage import base_of
from workloop.runner.orphans import end_orphans
from workloop.runner.pidfile import end_leftovers
from workloop.runner.probe import WorkspaceProbe
from workloop.runner.registry import Leftover, Workspace, WorkspaceKind, leftovers, read_record
from workloop.runner.removal import discard_checkout, remove
from workloop.runner.repository import Repository, integration_tip
from workloop.runner.salvage import salvage
from workloop.runner.sandbox.enclosure import Rooms, git_rooms
from workloop.runner.workspace import WorkspaceOrder, break_stale_locks, clean_checkout, make, require_workspace

LANDED = frozenset({LandingOutcome.LANDED, LandingOutcome.ALREADY_LANDED})
REFUSED = frozenset({LandingOutcome.CONFLICT, LandingOutcome.GUARDS_NOT_GREEN})
NEWER_ATTEMPT = "a newer attempt at the same item began"
ITEM_OVER = "its item is over"
LOOP_KILLED = "the loop that ran it was killed"
TREES_AT_ONCE = 8
KEPT = ".kept"


@dataclass(frozen=True, slots=True)
class GitShop:
    """A workshop in one git repository."""

    repository: Repository

    def make(self, order: WorkOrder) -> WorkTree:
        """Make the work tree of an attempt, once the trees that earlier ones left are put away."""
        for left in self.kept_of(order.root_id):
            self.put_by(left, NEWER_ATTEMPT)
        made = make(
            self.repository,
            WorkspaceOrder(
                item_id=order.root_id,
                attempt=order.attempt,
                title=order.title,
                created=order.created,
                dependencies=order.dependencies,
                start_sha=order.start,
            ),
        )
        return tree_of(made)

    def kept_of(self, root_id: str) -> list[Workspace]:
        """Return the work trees that earlier attempts left for whoever resumes them; none of them is in use."""
        if not any(self.repository.folder("worktrees").glob(f"{root_id}-*{KEPT}")):
            return []
        here = [one.workspace for one in leftovers(self.repository.state_dir) if one.present and not one.maker_runs]
        mine = [one for one in here if one.item_id == root_id and one.common_dir == self.repository.common_dir]
        return [one for one in mine if kept_mark(one).exists()]

    def sweep(self, over: Callable[[str], bool]) -> tuple[PutAway, ...]:
        """Put away the kept trees of roots that are over; one that must stay waits for nobody any more."""
        marks = self.repository.folder("worktrees").glob(f"*{KEPT}")
        roots = sorted({mark.name.removesuffix(KEPT).rpartition("-")[0] for mark in marks})
        found = [one for root_id in roots if over(root_id) for one in self.kept_of(root_id)]
        for one in found:
            kept_mark(one).unlink(missing_ok=True)
        return tuple(self.put_by(one, ITEM_OVER) for one in found)

    def reopen(self, path: Path) -> WorkTree | None:
        """Return an earlier attempt's work tree if it is registered, whole and on its branch."""
        workspace = read_record(path)
        if workspace is None or not workspace.ready or workspace.kind is not WorkspaceKind.ATTEMPT:
            return None
        try:
            require_workspace(workspace)
            if head_branch(workspace.path) != workspace.branch:
                return None
        except WorkloopError:
            return None
        kept_mark(workspace).unlink(missing_ok=True)
        return tree_of(workspace)

    def put_away(self, tree: WorkTree, reason: str, *, keep: bool = False) -> PutAway:
        """Save what is not committed, then remove the tree when nothing would be lost."""
        workspace = read_record(tree.path)
        if workspace is None:
            return PutAway(path=tree.path, stays="it has no record of the loop")
        return self.put_by(workspace, reason, keep=keep)

    def put_by(self, workspace: Workspace, reason: str, *, keep: bool = False) -> PutAway:
        """Save and remove a recorded work tree; what cannot be removed stays and is told."""
        path = workspace.path
        try:
            break_stale_locks(workspace)
            saved = salvage(workspace, reason=reason)
        except WorkloopError as unknown:
            return PutAway(path=path, stays=str(unknown))
        try:
            if keep:
                kept_mark(workspace).touch()
                return PutAway(path=path, saved=saved.ref, files=saved.files)
            remove(self.repository, workspace)
            kept_mark(workspace).unlink(missing_ok=True)
        except WorkloopError as refused:
            return PutAway(path=path, saved=saved.ref, files=saved.files, stays=str(refused))
        return PutAway(path=path, saved=saved.ref, files=saved.files)

    def rooms(self, tree: Path) -> Rooms:
        """Return the tree and what git must write for its commits; a checkout only reads the objects it shares."""
        if (tree / ".git").is_dir():
            return Rooms(writable=(tree,), readable=(self.repository.common_dir / "objects",))
        return git_rooms(tree)

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

    def land(self, order: LandOrder, stop: threading.Event) -> Landed:
        """Merge a verified commit into the integration branch."""

        def guards(merge_sha: str) -> GuardVerdict:
            if not order.guards:
                return GuardVerdict(green=True, reason="the contract names no guards")
            check = CheckOrder(
                run=f"landing-{order.item_id}-{merge_sha[:12]}",
                root_id=order.item_id,
                item_id=order.item_id,
                sha=merge_sha,
                now=order.now,
                checks=order.guards,
                environment=order.environment,
                enclosure=order.enclosure,
                rooms=order.rooms,
            )
            report = run_checks(self.repository, plan_of(check, integration_tip(self.repository)), stop=stop)
            red = [result.check_id for result in report.results if not result.green]
            return GuardVerdict(green=not red, reason=", ".join(red) or "all guards passed")

        wanted = LandingOrder(
            item_id=order.item_id, attempt=order.attempt, sha=order.sha, title=order.title, now=order.now
        )
        return landed(land(self.repository, wanted, guards))

    def end_session(self, session_dir: Path) -> tuple[int, ...]:
        """Kill what a session of a dead loop left running."""
        return tuple(left.pid for left in end_leftovers(session_dir) if not left.dead)

    def recover(self, spared: frozenset[Path]) -> tuple[PutAway, ...]:
        """Put away every folder that a dead loop left, its checks ended."""
        left = [one for one in leftovers(self.repository.state_dir) if not one.maker_runs]
        with ThreadPoolExecutor(TREES_AT_ONCE) as threads:
            return tuple(threads.map(self.recovered, left, repeat(spared)))

    def recovered(self, left: Leftover, spared: frozenset[Path]) -> PutAway:
        """Put one folder of a dead loop away."""
        workspace = left.workspace
        if workspace.kind is WorkspaceKind.ATTEMPT and workspace.ready and left.present:
            waits = workspace.path in spared or kept_mark(workspace).exists()
            return self.put_by(workspace, LOOP_KILLED, keep=waits)
        try:
            if workspace.kind is not WorkspaceKind.ATTEMPT:
                require_dead(workspace.path, end_orphans(workspace.path))
            remove(self.repository, workspace)
        except WorkloopError as refused:
            return PutAway(path=workspace.path, stays=str(refused))
        return PutAway(path=workspace.path)


def kept_mark(workspace: Workspace) -> Path:
    """Return the file whose being there says that a work tree waits to be gone on with."""
    return workspace.path.with_name(workspace.path.name + KEPT)


def tree_of(workspace: Workspace) -> WorkTree:
    """Return what the loop may know of a recorded folder."""
    return WorkTree(path=workspace.path, branch=workspace.branch, base=workspace.base_sha, start=workspace.start_sha)


def plan_of(order: CheckOrder, base: str) -> CheckPlan:
    """Return the plan of one round of checks against a base."""
    return CheckPlan(
        run=order.run,
        item_id=order.item_id,
        base_sha=base,
        candidate_sha=order.sha,
        checks=order.checks,
        now=order.now,
        protected=order.protected,
        overlay_dir=order.overlay,
        environment=order.environment,
        enclosure=order.enclosure,
        rooms=order.rooms,
    )


def landed(landing: Landing) -> Landed:
    """Return what a landing means for the item."""
    if landing.outcome in LANDED:
        return Landed(word=LandingWord.LANDED, outcome=landing.outcome.value, sha=landing.merge_sha or landing.sha)
    word = LandingWord.REFUSED if landing.outcome in REFUSED else LandingWord.LATER
    reason = ", ".join(landing.files) or landing.reason
    return Landed(word=word, outcome=landing.outcome.value, sha=landing.sha, reason=reason)


def require_dead(folder: Path, survivors: tuple[int, ...]) -> None:
    """Raise IntegrityFault naming the processes that still run in a folder."""
    if survivors:
        raise IntegrityFault("CHECK_ALIVE", f"processes {list(survivors)} survive in {folder}", hint="end them by hand")
