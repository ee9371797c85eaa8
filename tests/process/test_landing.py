"""A verified commit lands by a merge that nobody's checkout is used for."""

import subprocess
import threading
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict, Refusal
from workloop.runner.gitfacts import is_ancestor, worktrees
from workloop.runner.landing import (
    GuardVerdict,
    Landing,
    LandingOrder,
    LandingOutcome,
    LandingPolicy,
    has_landed,
    land,
)
from workloop.runner.registry import leftovers
from workloop.runner.repository import Repository, open_repository
from workloop.runner.workspace import WorkspaceOrder, clean_checkout, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

GREEN = GuardVerdict(green=True, reason="")


class Bench:
    """A repository whose operator works on main, and a verified commit on an item's branch."""

    def __init__(self, folder: Path) -> None:
        self.operator: ScratchRepository = scratch_repository(folder / "my repo", {"a.txt": "one\n", "b.txt": "one\n"})
        self.repository: Repository = open_repository(self.operator.path, folder / "state")
        self.tip = self.operator.head
        self.sha = self.work("01abc", {"a.txt": "two\n"})

    def work(self, item_id: str, files: dict[str, str | None]) -> str:
        """Commit files on an item's branch."""
        order = WorkspaceOrder(item_id=item_id, attempt=1, title="thing", created=Instant(1))
        return ScratchRepository(path=make(self.repository, order).path).commit(files)

    def order(self, sha: str | None = None, policy: LandingPolicy = LandingPolicy.LOCAL_MERGE) -> LandingOrder:
        """Order a landing."""
        return LandingOrder(
            item_id="01abc", attempt=1, sha=sha or self.sha, title="a thing", now=Instant(2), policy=policy
        )

    def land(self, sha: str | None = None) -> Landing:
        """Land with green guards and see that no merge tree stays behind."""
        landing = land(self.repository, self.order(sha), lambda _: GREEN)
        self.is_tidy()
        return landing

    def is_tidy(self) -> None:
        """See that nothing of a landing is left."""
        assert list(self.repository.folder("landings").iterdir()) == []
        assert not [one for one in leftovers(self.repository.state_dir) if one.workspace.kind == "landing"]
        assert not [entry for entry in worktrees(self.repository.path) if "landings" in entry.path.parts]

    @property
    def main(self) -> str:
        """Return where main is."""
        return self.operator.git("rev-parse", "refs/heads/main")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench in an empty folder."""
    return Bench(tmp_path)


def test_e19_landed_means_that_the_branch_contains_the_commit(bench: Bench) -> None:
    """E19: an intent is not a fact; ancestry is."""
    assert not has_landed(bench.repository, bench.sha)
    landing = bench.land()
    assert (landing.outcome, landing.tip_before) == (LandingOutcome.LANDED, bench.tip)
    assert has_landed(bench.repository, bench.sha)
    assert bench.main == landing.merge_sha
    assert bench.operator.git("log", "-1", "--format=%P %an") == f"{bench.tip} {bench.sha} Workloop"
    assert bench.sha in bench.operator.git("log", "-1", "--format=%B")


def test_a_clean_checkout_of_the_branch_is_brought_up_to_date(bench: Bench) -> None:
    """Decision: the operator sees the new files, and what is not tracked stays."""
    (bench.operator.path / "notes.txt").write_text("mine\n")
    assert bench.land().outcome is LandingOutcome.LANDED
    assert (bench.operator.path / "a.txt").read_text() == "two\n"
    assert bench.operator.git("status", "--porcelain") == "?? notes.txt"


@pytest.mark.parametrize("staged", [True, False])
def test_f23_a_dirty_checkout_of_the_branch_is_refused_and_left_alone(bench: Bench, staged: bool) -> None:
    """F23: no stash, no reset; the paths in the way are named and nothing moves."""
    (bench.operator.path / "b.txt").write_text("half done\n")
    if staged:
        bench.operator.git("add", "b.txt")
    landing = bench.land()
    assert (landing.outcome, landing.files) == (LandingOutcome.CHECKOUT_DIRTY, ("b.txt",))
    assert bench.main == bench.tip
    assert (bench.operator.path / "b.txt").read_text() == "half done\n"


def test_f23_a_checkout_that_became_dirty_while_the_guards_ran_is_refused(bench: Bench) -> None:
    """F23: it is looked at again just before the branch moves."""

    def guards(_: str) -> GuardVerdict:
        (bench.operator.path / "b.txt").write_text("half done\n")
        return GREEN

    assert land(bench.repository, bench.order(), guards).outcome is LandingOutcome.CHECKOUT_DIRTY
    assert bench.main == bench.tip


def test_an_untracked_file_the_merge_would_overwrite_stops_the_landing(bench: Bench) -> None:
    """F23: a person's new file is worth more than a landing."""
    sha = bench.work("02abc", {"notes.txt": "theirs\n"})
    (bench.operator.path / "notes.txt").write_text("mine\n")
    landing = bench.land(sha)
    assert landing.outcome is LandingOutcome.CHECKOUT_DIRTY
    assert "notes.txt" in landing.reason
    assert (bench.operator.path / "notes.txt").read_text() == "mine\n"
    assert bench.main == bench.tip


def test_a_rebase_or_merge_of_the_operator_under_way_stops_the_landing(bench: Bench) -> None:
    """F23: a rebase takes the branch off HEAD and puts it back at its end."""
    bench.operator.git("branch", "other")
    bench.operator.commit({"a.txt": "mine\n"})
    bench.operator.git("switch", "--quiet", "other")
    bench.operator.commit({"a.txt": "other\n"})
    bench.operator.git("switch", "--quiet", "main")
    with pytest.raises(subprocess.CalledProcessError):
        bench.operator.git("rebase", "other")
    tip = bench.main
    landing = bench.land()
    assert landing.outcome is LandingOutcome.CHECKOUT_DIRTY
    assert "rebases main" in landing.files[0]
    assert bench.main == tip


def test_a_branch_that_is_checked_out_nowhere_is_moved_by_compare_and_set(bench: Bench) -> None:
    """Decision: the operator works on another branch, and that checkout is not touched, however dirty."""
    bench.operator.git("switch", "--quiet", "--create", "feature")
    (bench.operator.path / "a.txt").write_text("half done\n")
    before = bench.operator.git("status", "--porcelain")
    landing = bench.land()
    assert (landing.outcome, bench.main) == (LandingOutcome.LANDED, landing.merge_sha)
    assert bench.operator.git("status", "--porcelain") == before
    assert (bench.operator.path / "a.txt").read_text() == "half done\n"


@pytest.mark.parametrize("checked_out", [True, False])
def test_a_branch_that_moved_while_the_guards_ran_is_not_overwritten(bench: Bench, checked_out: bool) -> None:
    """F23: compare and set; the caller tries again on the new tip, and nobody's commit is dropped."""
    moved: list[str] = []
    if not checked_out:
        bench.operator.git("switch", "--quiet", "--create", "feature")

    def guards(_: str) -> GuardVerdict:
        moved.append(bench.operator.commit({"b.txt": "by a person\n"}))
        if not checked_out:
            bench.operator.git("update-ref", "refs/heads/main", moved[0])
        return GREEN

    landing = land(bench.repository, bench.order(), guards)
    bench.is_tidy()
    assert landing.outcome is LandingOutcome.BRANCH_MOVED
    assert bench.main == moved[0]
    again = bench.land()
    assert again.outcome is LandingOutcome.LANDED
    assert is_ancestor(bench.repository.path, moved[0], bench.main)


def test_e21_guards_see_the_merge_result_and_red_ones_stop_it(bench: Bench) -> None:
    """E21: what each side passed alone can fail together; the result is checked before the branch moves."""
    tip = bench.operator.commit({"b.txt": "two\n"})
    seen: list[tuple[str, str]] = []

    def guards(merge_sha: str) -> GuardVerdict:
        path = bench.repository.folder("checkouts") / "merge"
        checkout = clean_checkout(bench.repository, merge_sha, path, created=Instant(3))
        seen.append(((checkout.path / "a.txt").read_text(), (checkout.path / "b.txt").read_text()))
        return GuardVerdict(green=False, reason="guard unit-tests failed")

    landing = land(bench.repository, bench.order(), guards)
    bench.is_tidy()
    assert seen == [("two\n", "two\n")]
    assert (landing.outcome, landing.reason) == (LandingOutcome.GUARDS_NOT_GREEN, "guard unit-tests failed")
    assert bench.main == tip


def test_f17_a_conflict_names_its_files_and_leaves_everything_clean(bench: Bench) -> None:
    """F17: the conflict goes back to the item; no half merge stays anywhere, and no guard runs."""
    tip = bench.operator.commit({"a.txt": "by a person\n"})
    refs = bench.operator.refs()
    called: list[str] = []

    def guards(merge_sha: str) -> GuardVerdict:
        called.append(merge_sha)
        return GREEN

    landing = land(bench.repository, bench.order(), guards)
    bench.is_tidy()
    assert (landing.outcome, landing.files, called) == (LandingOutcome.CONFLICT, ("a.txt",), [])
    assert (bench.main, bench.operator.refs()) == (tip, refs)
    assert bench.operator.git("status", "--porcelain") == ""


def test_what_the_branch_contains_already_is_not_merged_again(bench: Bench) -> None:
    """Decision: a replay of a landing changes nothing."""
    first = bench.land()
    again = bench.land()
    assert (again.outcome, bench.main) == (LandingOutcome.ALREADY_LANDED, first.merge_sha)


def test_without_a_landing_policy_nothing_moves(bench: Bench) -> None:
    """Decision: landing = none leaves it to people."""
    landing = land(bench.repository, bench.order(policy=LandingPolicy.NONE), lambda _: GREEN)
    assert (landing.outcome, bench.main) == (LandingOutcome.NOT_WANTED, bench.tip)


def test_one_landing_at_a_time(bench: Bench) -> None:
    """Decision: a second one is told to come back, and the two really overlapped."""
    second = bench.work("02abc", {"c.txt": "x\n"})
    inside, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> GuardVerdict:
        inside.set()
        assert go_on.wait(90)
        return GREEN

    outcomes: list[LandingOutcome] = []
    first = threading.Thread(target=lambda: outcomes.append(land(bench.repository, bench.order(), slow).outcome))
    first.start()
    assert inside.wait(90)
    with pytest.raises(Conflict) as busy:
        land(bench.repository, bench.order(second), lambda _: GREEN)
    go_on.set()
    first.join(90)
    assert (busy.value.code, busy.value.retryable, outcomes) == ("REPOSITORY_BUSY", True, [LandingOutcome.LANDED])
    assert bench.land(second).outcome is LandingOutcome.LANDED


def test_guards_that_raise_leave_nothing_behind(bench: Bench) -> None:
    """F29: a failing safety step stops the caller; the branch has not moved."""

    def guards(_: str) -> GuardVerdict:
        raise Refusal("CHECKS_STOPPED", "stopped")

    with pytest.raises(Refusal):
        land(bench.repository, bench.order(), guards)
    bench.is_tidy()
    assert bench.main == bench.tip


def test_what_a_killed_landing_left_does_not_stop_the_next(bench: Bench) -> None:
    """F05: the folder of the same attempt is cleared, because the lock proves that nobody works in it."""
    left = bench.repository.folder("landings") / "01abc-1"
    bench.operator.git("worktree", "add", "--quiet", "--detach", str(left), bench.tip)
    (left / "a.txt").write_text("half merged\n")
    assert bench.land().outcome is LandingOutcome.LANDED
