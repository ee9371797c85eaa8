"""A workshop without git: branches, trees and commits as facts, with the same refusals and the same losses."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from world import Life, World

from workloop.domain.campaign import Landing
from workloop.domain.checks import Check, CheckKind, CheckOutcome, CheckResult, judge_check
from workloop.domain.clock import Instant
from workloop.domain.ids import ItemId
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
from workloop.runner.sandbox.enclosure import Rooms


@dataclass(frozen=True)
class Commit:
    """One commit: what it stands on, for which item it was made, and whether that item's check would pass."""

    sha: str
    parent: str
    root: str
    good: bool


@dataclass
class Tree:
    """A work tree on one host's disk."""

    order: WorkOrder
    tree: WorkTree
    dirty: int = 0
    kept: bool = False
    touched: float = -1.0


@dataclass
class Origin:
    """What every host sees of the repository."""

    world: World
    commits: dict[str, Commit] = field(default_factory=dict[str, Commit])
    branches: dict[str, str] = field(default_factory=dict[str, str])
    saved: list[str] = field(default_factory=list[str])
    main: str = ""
    soils: int = 0
    troubles: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.main = self.commit("", "", good=True).sha

    def commit(self, parent: str, root: str, *, good: bool) -> Commit:
        """Make a commit."""
        sha = f"{len(self.commits) + 1:040x}"
        self.commits[sha] = Commit(sha, parent, root, good)
        return self.commits[sha]

    def descends(self, sha: str, base: str) -> bool:
        """Tell whether a commit stands on another."""
        while sha and sha != base:
            sha = self.commits[sha].parent
        return sha == base

    def lost(self) -> list[str]:
        """Return the commits that nothing leads to any more."""
        reached: set[str] = set()
        for tip in (self.main, *self.branches.values(), *self.saved):
            while tip and tip not in reached:
                reached.add(tip)
                tip = self.commits[tip].parent
        return [sha for sha in self.commits if sha not in reached]


@dataclass(frozen=True)
class SimProbe:
    """Looks at what a session calls its result."""

    shop: "SimWorkshop"
    path: Path

    def refuse(self, item_id: ItemId, sha: str) -> tuple[str, str] | None:
        """Return a code and a sentence when the commit is no candidate, else None."""
        del item_id
        problem = self.shop.problem(self.shop.trees[self.path].tree, sha, ())
        return ("NOT_A_CANDIDATE", problem) if problem else None


class SimWorkshop:
    """The repository as one host works in it; its trees outlive the host's deaths."""

    def __init__(self, life: Life, origin: Origin, trees: dict[Path, Tree]) -> None:
        self.life = life
        self.origin = origin
        self.trees = trees

    def make(self, order: WorkOrder) -> WorkTree:
        """Make a tree that goes on from its branch's tip, or from the commit that a repair names."""
        self.life.require()
        branch = f"workloop/{order.root_id}/thing"
        for left in [tree for tree in self.trees.values() if tree.order.root_id == order.root_id]:
            if not left.kept and left.touched < anyio.current_time():
                self.origin.troubles.append(f"{left.tree.path.name} was never put away")
            self.put_away(left.tree, "an earlier attempt")
        start = order.start or self.origin.branches.get(branch) or self.origin.main
        path = self.life.world.folder / self.life.name / f"{order.root_id}-{order.attempt}-{len(self.origin.commits)}"
        path.mkdir(parents=True, exist_ok=True)
        base = self.origin.branches.setdefault(f"base/{order.root_id}", self.origin.main)
        tree = WorkTree(path=path, branch=branch, base=base, start=start)
        before = self.origin.branches.get(branch, start)
        if not self.origin.descends(start, before):
            self.origin.saved.append(before)
        self.origin.branches[branch] = start
        self.trees[path] = Tree(order, tree)
        return tree

    def reopen(self, path: Path) -> WorkTree | None:
        """Return a tree that was kept."""
        self.life.require()
        known = self.trees.get(path)
        if known is None:
            return None
        known.kept = False
        return known.tree

    def soil(self, tree: Tree) -> None:
        """Leave something uncommitted in a tree."""
        self.life.require()
        self.origin.soils += 1
        tree.dirty = self.origin.soils

    def put_away(self, tree: WorkTree, reason: str, *, keep: bool = False) -> PutAway:
        """Save what is not committed and forget the tree, unless somebody goes on in it."""
        self.life.require()
        known = self.trees.get(tree.path)
        if known is None:
            return PutAway(path=tree.path, stays="a newer attempt put it away")
        saved = None
        if known.dirty:
            saved = self.origin.commit(self.tip(tree) or "", known.order.root_id, good=False).sha
            self.origin.saved.append(saved)
            known.dirty = 0
        known.kept = keep
        if not keep:
            del self.trees[tree.path]
        return PutAway(path=tree.path, saved=saved, files=("work.txt",) if saved else (), stays=reason if keep else "")

    def rooms(self, tree: Path) -> Rooms:
        """Return nothing: no process is started."""
        del tree
        return Rooms()

    def receive(self, tree: Path) -> tuple[str, ...]:
        """Refuse nothing."""
        del tree
        return ()

    def tip(self, tree: WorkTree) -> str | None:
        """Return the commit that stands checked out."""
        return self.origin.branches.get(tree.branch, tree.start)

    def advanced(self, tree: WorkTree, since: str) -> bool:
        """Tell whether there is a new commit since that one."""
        return self.tip(tree) != since

    def probe(self, tree: WorkTree, protected: tuple[str, ...]) -> SimProbe:
        """Return what looks at results."""
        del protected
        return SimProbe(self, tree.path)

    def problem(self, tree: WorkTree, sha: str, protected: tuple[str, ...]) -> str:
        """Return why a commit cannot be the result."""
        del protected
        if sha not in self.origin.commits:
            return f"there is no commit {sha}"
        if sha == tree.base:
            return f"{sha} changes nothing"
        return "" if self.origin.descends(self.tip(tree) or "", sha) else f"{sha} is not on {tree.branch}"

    def unlanded(self, shas: tuple[str, ...]) -> tuple[str, ...]:
        """Return the commits that the main branch does not contain."""
        return tuple(
            sha for sha in shas if sha in self.origin.commits and not self.origin.descends(self.origin.main, sha)
        )

    def examine(self, order: CheckOrder, stop: threading.Event) -> Examined:
        """Run the checks: what proves is red on the base, and green where the work is good."""
        self.life.require()
        del stop
        commit = self.origin.commits.get(order.sha)
        if commit is None or commit.root != order.root_id:
            return Examined(problems=(f"{order.sha} is no work of {order.root_id}",))
        results = tuple(result(check, order, good=commit.good) for check in order.checks)
        return Examined(base=self.origin.branches.get(f"base/{order.root_id}", self.origin.main), results=results)

    def checkout(self, sha: str | None, name: str, now: Instant) -> WorkTree:
        """Make a clean checkout."""
        self.life.require()
        del now
        path = self.life.world.folder / self.life.name / f"checkout-{name.replace('/', '-')}"
        path.mkdir(parents=True, exist_ok=True)
        at = sha or self.origin.main
        return WorkTree(path=path, branch="", base=at, start=at)

    def sweep(self, over: Callable[[str], bool]) -> tuple[PutAway, ...]:
        """Leave every tree: none of them takes room."""
        self.life.require()
        return ()

    def room(self) -> str:
        """Have room."""
        self.life.require()
        return ""

    def collect(self, now: Instant) -> tuple[PutAway, ...]:
        """Leave every tree: none of them takes room."""
        del now
        return self.sweep(lambda _: True)

    def discard(self, checkout: WorkTree) -> None:
        """Forget a checkout."""
        self.life.require()

    def land(self, order: LandOrder, stop: threading.Event) -> Landed:
        """Merge a commit, when it is good."""
        self.life.require()
        del stop
        if not self.origin.commits[order.sha].good:
            return Landed(word=LandingWord.REFUSED, outcome="guards_not_green", sha=order.sha, reason="red")
        self.origin.main = self.origin.commit(self.origin.main, "", good=True).sha
        return Landed(word=LandingWord.LANDED, outcome="landed", sha=order.sha)

    def arrived(self, landing: Landing) -> str:
        """Return where the main branch is."""
        self.life.require()
        return self.origin.main

    def missing(self, tip: str, commits: tuple[str, ...]) -> str:
        """Find everything that landed: main only grows here."""
        del tip, commits
        self.life.require()
        return ""

    def recheck(self, order: CheckOrder, base: str, stop: threading.Event) -> tuple[CheckResult, ...]:
        """Run checks on the main branch, where everything holds."""
        self.life.require()
        return tuple(result(check, order, good=True) for check in order.checks)

    def end_session(self, session_dir: Path) -> tuple[int, ...]:
        """Return nothing: a dead host's sessions died with it."""
        self.life.require()
        return ()

    def recover(self, spared: frozenset[Path]) -> tuple[PutAway, ...]:
        """Save and remove what a dead life of this host left."""
        self.life.require()
        return tuple(
            self.put_away(left.tree, "the loop was killed", keep=left.tree.path in spared)
            for left in list(self.trees.values())
        )


def result(check: Check, order: CheckOrder, *, good: bool) -> CheckResult:
    """Return the receipt of one check: what proves is red on the base, and all is green where the work is good."""
    on_base = CheckOutcome.FAILED if check.kind is CheckKind.PROVES else CheckOutcome.PASSED
    outcome = CheckOutcome.PASSED if good else CheckOutcome.FAILED
    green, reason = judge_check(check, on_base, outcome)
    return CheckResult(
        check_id=check.id,
        kind=check.kind,
        outcome_on_base=on_base,
        outcome_on_candidate=outcome,
        exit_code=0 if good else 1,
        duration_us=1_000_000,
        output_tail=order.run,
        output_digest="0" * 64,
        green=green,
        reason=reason,
    )
