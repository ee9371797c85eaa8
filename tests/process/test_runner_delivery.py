"""What a claim made reaches its branch on the remote while the claim stands, and is set aside when it was lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from remote_bench import ITEM, RemoteBench
from workloop.runner.delivery import Delivery, DeliveryOrder, DeliveryWord, push_result


@pytest.fixture
def bench(tmp_path: Path) -> RemoteBench:
    """A remote, a clone and a worker's commit."""
    return RemoteBench(tmp_path)


def deliver(bench: RemoteBench, *answers: bool, sha: str = "", attempt: int = 1) -> Delivery:
    """Deliver the commit of a claim that stands, or not, each time it is asked for."""
    left: Iterator[bool] = iter(answers)
    order = DeliveryOrder(
        item_id=ITEM, attempt=attempt, sha=sha or bench.sha, branch=bench.branch, stands=lambda: next(left)
    )
    return push_result(bench.remote, order)


def test_a_standing_claims_commit_is_read_back_from_its_branch(bench: RemoteBench) -> None:
    """E01: submitted is what the remote shows."""
    found = deliver(bench, True, True)
    assert (found.word, found.ref) == (DeliveryWord.DELIVERED, f"refs/heads/{bench.branch}")
    assert bench.at(found.ref) == bench.sha


def test_a_lost_claims_commit_lands_beside_the_branches(bench: RemoteBench) -> None:
    """Fence: whoever lost the claim cannot move the item's branch, and the work is not lost."""
    found = deliver(bench, False)
    assert (found.word, found.ref) == (DeliveryWord.SET_ASIDE, f"refs/workloop/wip/{ITEM}/1")
    assert (bench.at(found.ref), bench.at(f"refs/heads/{bench.branch}")) == (bench.sha, "")


def test_a_claim_that_was_lost_during_the_push_does_not_count_as_delivered(bench: RemoteBench) -> None:
    """Fence: the store is asked again once the remote has it."""
    found = deliver(bench, True, False)
    assert (found.word, bench.at(found.ref)) == (DeliveryWord.SET_ASIDE, bench.sha)


def test_a_lost_claim_never_replaces_what_its_successor_pushed(bench: RemoteBench) -> None:
    """A07: two attempts from one base; the later one's branch stands, both commits are kept."""
    bench.operator.git("switch", "--quiet", "--create", "next", bench.tip)
    newer = bench.operator.commit({"a.txt": "three\n"})
    deliver(bench, True, True, sha=newer, attempt=2)
    stale = deliver(bench, True)
    assert (stale.word, bench.at(f"refs/heads/{bench.branch}")) == (DeliveryWord.DIVERGED, newer)
    assert deliver(bench, False).word is DeliveryWord.SET_ASIDE
    assert bench.at(f"refs/workloop/wip/{ITEM}/1") == bench.sha


def test_a_remote_that_takes_no_such_branch_says_why(bench: RemoteBench) -> None:
    """E02: the reason is the remote's own."""
    bench.hook("update", "echo 'no new branches here' >&2; exit 1")
    found = deliver(bench, True)
    assert (found.word, bench.at(found.ref)) == (DeliveryWord.REFUSED, "")
    assert "no new branches here" in found.reason


def test_a_push_whose_answer_was_lost_is_delivered_when_the_branch_shows_it(bench: RemoteBench) -> None:
    """A33: what the remote has decides, not how the connection ended."""
    bench.hook("post-receive", "kill -9 $PPID")
    assert deliver(bench, True, True).word is DeliveryWord.DELIVERED


def test_a_branch_that_the_remote_drops_again_is_not_delivered(bench: RemoteBench) -> None:
    """E01: a push report is not a branch."""
    bench.hook("post-receive", f"git update-ref -d refs/heads/{bench.branch}")
    assert deliver(bench, True).word is DeliveryWord.UNCONFIRMED
