"""How an interrupted session is gone on with by a later attempt, and when it is not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from trio.testing import MockClock

from attempt_bench import WORKED, AttemptBench, PlayedHarness, Stage, let_pass
from workloop.domain.clock import Instant, later
from workloop.domain.gate import GateKey
from workloop.domain.session import SessionClass, SessionReport, Tokens
from workloop.driver.attempt.concluding import LIMIT_FURTHEST_US
from workloop.driver.gitshop import GitShop
from workloop.driver.turn.keeping import sweep
from workloop.driver.turn.recovery import recover
from workloop.driver.workshop import PutAway, WorkTree
from workloop.runner.harness.port import Capabilities
from workloop.testing.clocks import BEGINNING

pytestmark = pytest.mark.anyio
HOUR = 3600
RESET = later(BEGINNING, HOUR * 1_000_000)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def bench(tmp_path: Path) -> AttemptBench:
    return AttemptBench(tmp_path)


def half_then(kind: SessionClass, *, reset_at: Instant | None = None) -> Callable[[Stage], SessionReport]:
    """Leave a file that is not committed, and end so."""

    def play(stage: Stage) -> SessionReport:
        (stage.request.cwd / "half.txt").write_text("half\n")
        return stage.report(kind, reset_at=reset_at)

    return play


class DeadHands(GitShop):
    """What a loop that was killed does at the end of an attempt."""

    def put_away(self, tree: WorkTree, reason: str, *, keep: bool = False) -> PutAway:
        """Do nothing."""
        return PutAway(path=tree.path)


def completes(stage: Stage) -> None:
    stage.complete()


async def test_limited_session_is_gone_on_with_after_the_reset_in_the_same_tree(bench: AttemptBench) -> None:
    """L05, L07, D21: whose conversation, where and from which commit is kept on the claim, not in any session."""
    bench.add()
    bench.play(half_then(SessionClass.LIMITED, reset_at=RESET), completes)
    await bench.attempt()
    (report,) = bench.reports()
    assert (bench.ends(), bench.show()["infra"], bench.show()["attempts"]) == (["infra"], 1, 0)
    assert report["resume_harness"] == "played"
    assert report["resume_account"] == "home"
    assert report["resume_path"] == str(bench.requests[0].cwd)
    assert report["resume_session"] == bench.requests[0].session_id
    assert report["resume_sha"] == bench.repository.git("rev-parse", "main")
    assert not bench.claimable()
    await let_pass(HOUR)
    await bench.attempt()
    first, second = bench.requests
    assert (second.resume_id, second.cwd) == ("talk-1", first.cwd)
    assert "You were interrupted" in second.prompt
    assert bench.ends() == ["infra", "complete"]
    assert bench.repository.git("show", f"{bench.show()['candidate']}:half.txt") == "half"
    assert len(bench.repository.git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("kind", [SessionClass.LIMITED, SessionClass.STOPPED])
async def test_another_account_begins_with_the_brief_in_the_tree_that_was_left(
    bench: AttemptBench, kind: SessionClass
) -> None:
    """L09: the work moves to another agent with the contract and its tree, never with a vendor's transcript."""
    bench.add()
    bench.play(half_then(kind, reset_at=RESET), completes)
    await bench.attempt()
    await let_pass(HOUR)
    await bench.attempt(gate=GateKey(harness="played", account="other"))
    first, second = bench.requests
    assert (second.resume_id, second.cwd) == (None, first.cwd)
    assert second.prompt.startswith("# One item of work")


async def test_tree_that_nobody_will_resume_any_more_is_removed_by_the_upkeep(bench: AttemptBench) -> None:
    bench.add()
    bench.play(half_then(SessionClass.LIMITED, reset_at=RESET))
    await bench.attempt()
    tree = bench.requests[0].cwd
    sweep(bench.project)
    assert tree.exists()
    bench.client("cancel", key="a", reason="not any more")
    sweep(bench.project)
    assert not tree.exists()
    assert bench.repository.git("for-each-ref", "refs/workloop/wip/") != ""
    assert list(tree.parent.iterdir()) == []


async def test_agent_that_cannot_resume_leaves_no_tree_behind(bench: AttemptBench) -> None:
    bench.add()
    bench.play(half_then(SessionClass.LIMITED, reset_at=RESET))
    await bench.attempt(harness=PlayedHarness(capabilities=Capabilities()))
    assert "resume_path" not in bench.reports()[0]
    assert not bench.requests[0].cwd.exists()
    assert bench.repository.git("for-each-ref", "refs/workloop/wip/") != ""


async def test_conversation_that_is_gone_after_the_reset_is_begun_anew(bench: AttemptBench) -> None:
    def gone(stage: Stage) -> SessionReport:
        return stage.report(SessionClass.CONFIG, event_counts={}, tokens=Tokens(), usage_reported=False)

    bench.add()
    bench.play(half_then(SessionClass.LIMITED, reset_at=RESET), gone, completes)
    await bench.attempt()
    await let_pass(HOUR)
    await bench.attempt()
    assert [request.resume_id for request in bench.requests] == [None, "talk-1", None]
    assert bench.ends() == ["infra", "complete"]


async def test_tree_that_was_left_is_put_away_when_a_new_attempt_cannot_use_it(bench: AttemptBench) -> None:
    bench.add()
    bench.play(half_then(SessionClass.STOPPED), completes)
    await bench.attempt()
    left = bench.requests[0].cwd
    bench.repository.git("-C", str(left), "checkout", "-q", "--detach")
    await bench.attempt()
    assert bench.requests[1].cwd != left
    assert not left.exists()
    assert bench.requests[1].resume_id is None
    assert bench.ends() == ["infra", "complete"]


async def test_resumption_in_vain_is_not_repeated_at_once_and_not_for_ever(bench: AttemptBench) -> None:
    def nothing(stage: Stage) -> SessionReport:
        return stage.report(SessionClass.STOPPED, event_counts={}, tokens=Tokens(), resume_id="talk-1")

    bench.add()
    bench.play(half_then(SessionClass.STOPPED), nothing, nothing, completes)
    await bench.attempt()
    await bench.attempt()
    assert bench.reports()[-1]["resume_vain"] == 1
    await bench.attempt()
    assert [request.resume_id for request in bench.requests] == [None, "talk-1", None]
    assert bench.requests[2].cwd == bench.requests[0].cwd


async def test_reset_beyond_belief_is_cut_short(bench: AttemptBench) -> None:
    bench.add()
    far = later(BEGINNING, 400 * 86_400 * 1_000_000)
    bench.play(half_then(SessionClass.LIMITED, reset_at=far), completes)
    await bench.attempt()
    await let_pass(LIMIT_FURTHEST_US / 1e6)
    assert bench.claimable()


async def test_operators_stop_counts_nothing_and_leaves_a_hint(bench: AttemptBench) -> None:
    bench.add()
    bench.play(half_then(SessionClass.STOPPED), completes)
    await bench.attempt()
    assert (bench.ends(), bench.show()["attempts"], bench.claimable()) == (["infra"], 0, True)
    await bench.attempt()
    assert bench.requests[1].resume_id == "talk-1"


async def test_loop_that_was_killed_leaves_enough_to_go_on_by_session_id_in_the_same_tree(bench: AttemptBench) -> None:
    """The note is written when the program has named itself, so a loop that dies at any later time leaves it."""

    def killed(stage: Stage) -> SessionReport:
        (stage.request.cwd / "half.txt").write_text("half\n")
        raise KeyboardInterrupt

    bench.add()
    bench.play(killed, completes)
    alive, bench.project = bench.project, replace(bench.project, workshop=DeadHands(bench.shop.repository))
    with pytest.raises(BaseExceptionGroup):
        await bench.attempt()
    bench.project = alive
    assert bench.ends() == [None]
    assert recover(bench.project) == 1
    assert bench.ends() == ["infra"]
    assert [told["key"] for told in bench.named("recovered")] == ["a"]
    await bench.attempt()
    first, second = bench.requests
    assert (second.resume_id, second.cwd) == ("talk-1", first.cwd)
    assert bench.repository.git("show", f"{bench.show()['candidate']}:half.txt") == "half"


async def test_l03_where_the_work_stands_is_kept_however_the_claim_ends(bench: AttemptBench) -> None:
    """L03: branch and commit are on every ended claim once there is work: released, retried, limited or crashed."""

    def commits(kind: SessionClass) -> Callable[[Stage], SessionReport]:
        def play(stage: Stage) -> SessionReport:
            stage.tree.commit({"thing.txt": f"{stage.number}\n"})
            return stage.report(kind, event_counts=WORKED)

        return play

    def releases(stage: Stage) -> None:
        stage.tree.commit({"thing.txt": f"{stage.number}\n"})
        stage.act("release", reason="not today")

    bench.add()
    bench.play(commits(SessionClass.CRASHED), releases, commits(SessionClass.LIMITED))
    for _ in range(3):
        await bench.attempt()
    reports = bench.reports()
    assert [report["branch"].startswith("workloop/") for report in reports] == [True] * 3
    assert len({report["sha"] for report in reports}) == 3
    assert reports[-1]["sha"] == bench.repository.git("rev-parse", reports[-1]["branch"])
    assert [report["progress"] for report in reports] == [True] * 3


async def test_c02_session_that_never_named_itself_is_never_gone_on_with(bench: AttemptBench) -> None:
    """C02: an empty identity is nobody's; neither a nudge, nor a retry, nor a later attempt takes it for its own."""

    def nameless(kind: SessionClass) -> Callable[[Stage], SessionReport]:
        return lambda stage: stage.report(kind, resume_id=None, event_counts={**WORKED, "error": 1})

    bench.add()
    bench.play(nameless(SessionClass.TRANSIENT), nameless(SessionClass.STOPPED), completes)
    await bench.attempt()
    await bench.attempt()
    assert [request.resume_id for request in bench.requests] == [None] * 3
    assert "resume_path" not in bench.reports()[0]
