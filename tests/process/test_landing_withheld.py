"""What must not be published does not land, whichever way it would, and a worker hears of it at the hand-in."""

from pathlib import Path

import pytest

from remote_bench import RemoteBench, green
from workloop.domain.clock import Instant
from workloop.driver.gitlanding import landed
from workloop.driver.workshop import LandingWord
from workloop.runner.candidate import candidate_facts
from workloop.runner.landing import LandingOutcome, LandingPolicy, PullRequests, Ways, land
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository

TOKEN = "ghp_" + "a1B2" * 9
BIG = "x" * (5 * 1024 * 1024 + 1)
FORGE = ("sh", "-c", "echo '[]'")
BAD = [
    ({".env": "X=1\n"}, ".env looks like a secret by its name"),
    ({"notes.txt": f"token {TOKEN}\n"}, "notes.txt looks like a secret by its content"),
    ({"big.bin": BIG}, "big.bin is too big"),
]


@pytest.fixture
def bench(tmp_path: Path) -> RemoteBench:
    """A remote, a clone and a verified commit."""
    return RemoteBench(tmp_path)


def leaking(bench: RemoteBench, files: dict[str, str | None]) -> str:
    """Commit files, and take them out again in a later commit: the history still has them."""
    bench.work("02abc", files)
    path = make(bench.repository, WorkspaceOrder(item_id="02abc", attempt=2, title="thing", created=Instant(2))).path
    return ScratchRepository(path=path).commit({**dict.fromkeys(files), "c.txt": "work\n"})


@pytest.mark.parametrize("policy", [LandingPolicy.LOCAL_MERGE, LandingPolicy.PUSH, LandingPolicy.PR])
def test_a_secret_in_the_history_lands_no_way_and_no_guard_runs(bench: RemoteBench, policy: LandingPolicy) -> None:
    """Security: refused for good, with the path and never the content; the remote has no trace of it."""
    sha = leaking(bench, {"notes.txt": f"token {TOKEN}\n"})
    bench.policy = policy
    ways = Ways(remote=bench.remote, pulls=PullRequests(find=FORGE, open=FORGE, merge=FORGE))
    refs, main = bench.origin.git("for-each-ref"), bench.operator.head
    order = bench.order(sha, item_id="02abc")
    landing = land(bench.repository, order, lambda _: pytest.fail("a guard ran"), ways)
    assert (landing.outcome, landing.files) == (LandingOutcome.WITHHELD, (BAD[1][1],))
    assert (bench.origin.git("for-each-ref"), bench.operator.head) == (refs, main)
    told = landed(landing, order.branch)
    assert (told.word, told.outcome, told.reason) == (LandingWord.REFUSED, "withheld", BAD[1][1])


@pytest.mark.parametrize(("files", "reason"), BAD)
def test_a_worker_hears_at_the_hand_in_what_must_not_be_published(
    bench: RemoteBench, files: dict[str, str | None], reason: str
) -> None:
    """Security: it can mend it while it holds the claim; what was taken out again is in the history all the same."""
    order = WorkspaceOrder(item_id="03abc", attempt=1, title="thing", created=Instant(3))
    workspace = make(bench.repository, order)
    there = ScratchRepository(path=workspace.path)
    there.commit(files)
    sha = there.commit({**dict.fromkeys(files), "c.txt": "work\n"})
    (problem,) = candidate_facts(bench.repository, workspace, sha).problems
    assert (problem.code, problem.message) == ("WITHHELD", f"this must not be published: {reason}")
    there.git("reset", "--quiet", "--soft", workspace.base_sha)
    mended = there.commit({"d.txt": "work\n"})
    assert candidate_facts(bench.repository, workspace, mended).problems == ()


def test_only_what_is_new_against_the_branch_counts(bench: RemoteBench) -> None:
    """Decision: fixtures that are there already, moved or edited under their known names, are not the worker's."""
    bench.colleague({"credentials.py": "A = 1\n", "fixture.txt": f"{TOKEN}\n", "big.bin": BIG})
    bench.operator.git("pull", "--quiet", "--ff-only")
    sha = bench.work("04abc", {"credentials.py": "A = 2\n", "moved.txt": f"{TOKEN}\n", "fixture.txt": None})
    assert bench.land(bench.order(sha, item_id="04abc"), green).outcome is LandingOutcome.LANDED
