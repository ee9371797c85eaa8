"""A verified commit is pushed onto the newest tip of the remote's branch, never over anybody's work."""

import os
from pathlib import Path

import pytest

from remote_bench import ITEM, RemoteBench, green
from workloop.domain.errors import Refusal
from workloop.runner.gitfacts import is_ancestor
from workloop.runner.landing import GuardVerdict, LandingOutcome
from workloop.runner.remote import RefPush, RemoteError, find_remote, push
from workloop.testing.gitrepo import ScratchRepository, scratch_repository


@pytest.fixture
def bench(tmp_path: Path) -> RemoteBench:
    """A remote, a clone and a verified commit."""
    return RemoteBench(tmp_path)


def test_e19_landed_means_that_the_remotes_branch_contains_the_commit(bench: RemoteBench) -> None:
    """E19: what the remote shows is the fact; the branch here follows it."""
    landing = bench.land()
    assert (landing.outcome, landing.tip_before) == (LandingOutcome.LANDED, bench.tip)
    assert bench.at() == landing.merge_sha
    assert bench.origin.git("log", "-1", "--format=%P %an", "main") == f"{bench.tip} {bench.sha} Workloop"
    assert (bench.operator.path / "a.txt").read_text() == "two\n"
    assert bench.operator.git("status", "--porcelain") == ""


def test_the_merge_is_made_on_the_freshly_fetched_tip(bench: RemoteBench) -> None:
    """F17: what others pushed meanwhile is in the merge, and the guards see both sides."""
    moved = bench.colleague({"b.txt": "by a colleague\n"})
    seen: list[str] = []

    def guards(merge: str) -> GuardVerdict:
        seen.append(bench.operator.git("show", f"{merge}:a.txt") + bench.operator.git("show", f"{merge}:b.txt"))
        return green(merge)

    landing = bench.land(guards=guards)
    assert (landing.outcome, landing.tip_before, seen) == (LandingOutcome.LANDED, moved, ["twoby a colleague"])
    assert is_ancestor(bench.origin.path, moved, "main")


def test_a_tip_that_moves_while_the_guards_run_is_merged_and_checked_anew(bench: RemoteBench) -> None:
    """F23: a plain push of the old merge is refused by the remote; nobody's commit is dropped."""
    merges: list[str] = []

    def guards(merge: str) -> GuardVerdict:
        merges.append(merge)
        if len(merges) == 1:
            bench.colleague({"b.txt": "by a colleague\n"})
        return green(merge)

    landing = bench.land(guards=guards)
    assert (landing.outcome, len(merges)) == (LandingOutcome.LANDED, 2)
    assert bench.at() == merges[1] == landing.merge_sha
    assert bench.origin.git("show", "main:b.txt") == "by a colleague"


def test_a_tip_that_keeps_moving_is_left_for_later(bench: RemoteBench) -> None:
    """Decision: three tries, then the next turn; what the others pushed stands."""
    runs: list[str] = []

    def guards(merge: str) -> GuardVerdict:
        runs.append(merge)
        bench.colleague({"b.txt": f"{len(runs)}\n"})
        return green(merge)

    assert bench.land(guards=guards).outcome is LandingOutcome.BRANCH_MOVED
    assert (len(runs), bench.origin.git("show", "main:b.txt")) == (3, "3")


def test_f17_a_conflict_with_what_others_pushed_names_its_files(bench: RemoteBench) -> None:
    """F17: the remote is as it was, and no guard runs."""
    tip = bench.colleague({"a.txt": "by a colleague\n"})
    landing = bench.land(guards=lambda _: pytest.fail("a guard ran"))
    assert (landing.outcome, landing.files, bench.at()) == (LandingOutcome.CONFLICT, ("a.txt",), tip)


def test_red_guards_on_the_merge_result_keep_it_off_the_remote(bench: RemoteBench) -> None:
    """E21: nothing leaves this machine before the guards have passed on the merge."""
    landing = bench.land(guards=lambda _: GuardVerdict(green=False, reason="suite"))
    assert (landing.outcome, landing.reason, bench.at()) == (LandingOutcome.GUARDS_NOT_GREEN, "suite", bench.tip)


def test_a_protected_branch_refuses_in_the_remotes_own_words(bench: RemoteBench) -> None:
    """Decision: a remote that says no is believed, its words are passed on, and nothing is forced."""
    bench.hook("pre-receive", "echo 'main is protected' >&2; exit 1")
    landing = bench.land()
    assert (landing.outcome, bench.at()) == (LandingOutcome.PUSH_REFUSED, bench.tip)
    assert "main is protected" in landing.reason
    bench.hook("pre-receive", "exit 0")
    assert bench.land().outcome is LandingOutcome.LANDED


def test_an_answer_that_was_lost_is_looked_up_on_the_remote(bench: RemoteBench) -> None:
    """E19: a push that seemed to fail has landed when the branch shows it."""
    bench.hook("post-receive", "echo gone >&2; kill -9 $PPID")
    landing = bench.land()
    assert (landing.outcome, bench.at()) == (LandingOutcome.LANDED, landing.merge_sha)


def test_a_push_that_the_remote_takes_and_drops_is_not_landed(bench: RemoteBench) -> None:
    """F02: read back before it counts; a mirror that resets its branch has not taken anything."""
    bench.hook("post-receive", f"git update-ref refs/heads/main {bench.tip}")
    landing = bench.land()
    assert (landing.outcome, bench.at()) == (LandingOutcome.UNCONFIRMED, bench.tip)


def test_what_the_remote_has_already_is_not_pushed_again(bench: RemoteBench) -> None:
    """Decision: a replay changes nothing."""
    first = bench.land()
    assert (bench.land().outcome, bench.at()) == (LandingOutcome.ALREADY_LANDED, first.merge_sha)


def test_a_remote_that_cannot_be_reached_leaves_everything_for_later(bench: RemoteBench) -> None:
    """E15: unknown is never pass; it is retryable and names the remote."""
    bench.origin.path.rename(bench.folder / "away")
    with pytest.raises(RemoteError) as away:
        bench.land()
    assert (away.value.code, away.value.retryable) == ("REMOTE_AWAY", True)
    assert "fatal: " in away.value.message
    (bench.folder / "away").rename(bench.origin.path)
    assert bench.land().outcome is LandingOutcome.LANDED


def test_a_result_that_is_no_longer_the_items_own_never_leaves_this_machine(bench: RemoteBench) -> None:
    """Fence: the claim is asked for after the guards, which take long, and just before the push."""
    calls: list[str] = []

    def guards(merge: str) -> GuardVerdict:
        calls.append("guards")
        return green(merge)

    def stands() -> bool:
        calls.append("stands")
        return False

    landing = bench.land(bench.order(stands=stands), guards)
    assert (landing.outcome, bench.at(), calls) == (LandingOutcome.CLAIM_LOST, bench.tip, ["guards", "stands"])


def test_commits_that_the_operator_has_not_pushed_are_not_published_along(bench: RemoteBench) -> None:
    """Decision: landing publishes the item's work and nothing else; the reason says what to do."""
    bench.operator.commit({"c.txt": "not for others yet\n"})
    sha = bench.work("02abc", {"d.txt": "two\n"})
    landing = bench.land(bench.order(sha, item_id="02abc"))
    assert (landing.outcome, bench.at()) == (LandingOutcome.UNPUSHED_BASE, bench.tip)
    assert "1 commits of main that origin lacks" in landing.reason
    bench.operator.git("push", "--quiet", "origin", "main")
    assert bench.land(bench.order(sha, item_id="02abc")).outcome is LandingOutcome.LANDED


def test_a_dirty_checkout_here_does_not_hold_up_a_push(bench: RemoteBench) -> None:
    """F23: the merge is made in a tree of its own; the operator's checkout is not touched, and follows later."""
    (bench.operator.path / "b.txt").write_text("half done\n")
    assert bench.land().outcome is LandingOutcome.LANDED
    assert (bench.operator.path / "b.txt").read_text() == "half done\n"
    assert bench.operator.head == bench.tip
    other = bench.work("02abc", {"c.txt": "two\n"})
    assert bench.land(bench.order(other, item_id="02abc")).outcome is LandingOutcome.LANDED


def test_a_remote_whose_address_changed_under_the_loop_gets_nothing(bench: RemoteBench) -> None:
    """Security: whoever can write the repository's configuration cannot choose where work is landed."""
    bench.operator.git("remote", "set-url", "origin", str(bench.folder / "elsewhere"))
    with pytest.raises(Refusal) as changed:
        bench.land()
    assert changed.value.code == "REMOTE_CHANGED"


def test_an_unknown_remote_is_refused_with_its_remedy(bench: RemoteBench) -> None:
    """Decision: the settings' mistake is told when the loop starts."""
    with pytest.raises(Refusal) as unknown:
        find_remote(bench.repository, "upstream", os.environ)
    assert (unknown.value.code, "git remote add upstream" in unknown.value.hint) == ("REMOTE_UNKNOWN", True)


def test_a_push_never_forces_and_takes_all_or_none(bench: RemoteBench) -> None:
    """Decision: with two references, one that is behind keeps the other back as well."""
    bench.colleague({"b.txt": "by a colleague\n"})
    tip = bench.at()
    answer = push(bench.remote, RefPush(bench.sha, "refs/heads/new"), RefPush(bench.sha, "refs/heads/main"))
    assert (answer.word, bench.at(), bench.at("refs/heads/new")) == ("behind", tip, "")


def test_work_lands_from_a_shallow_clone(tmp_path: Path) -> None:
    """Decision: a clone without history lands as any other, and stays shallow."""
    bench = RemoteBench(tmp_path, shallow=True)
    bench.colleague({"b.txt": "by a colleague\n"})
    assert bench.operator.git("rev-parse", "--is-shallow-repository") == "true"
    assert bench.land().outcome is LandingOutcome.LANDED
    assert bench.origin.git("rev-list", "--count", "main") == "5"


def test_a_submodules_new_commit_lands_as_what_it_points_to(bench: RemoteBench) -> None:
    """Decision: the pointer is merged and pushed; the submodule's own repository is nobody's business here."""
    inner = scratch_repository(bench.folder / "inner")
    tree = ScratchRepository(path=bench.repository.folder("worktrees") / f"{ITEM}-1")
    tree.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "inner")
    sha = tree.commit({}, "with a submodule")
    assert bench.land(bench.order(sha)).outcome is LandingOutcome.LANDED
    assert bench.origin.git("ls-tree", "main", "inner").split()[:3] == ["160000", "commit", inner.head]
