"""How a claim ends by the class of its last session, and what an item that brings nothing has to expect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from trio.testing import MockClock

from attempt_bench import AttemptBench, Stage, let_pass
from workloop.domain.session import SessionClass, SessionReport

pytestmark = pytest.mark.anyio
MINUTE = 60.0
WEEK = 7 * 86_400.0


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def bench(tmp_path: Path) -> AttemptBench:
    return AttemptBench(tmp_path)


def ends(kind: SessionClass, **fields: Any) -> Callable[[Stage], SessionReport]:
    """End so."""
    return lambda stage: stage.report(kind, **fields)


def idle(stage: Stage) -> SessionReport:
    return stage.report(resume_id=None)


def completes(stage: Stage) -> None:
    stage.complete()


def unreadable(stage: Stage) -> SessionReport:
    """Print what nobody can read, with the words of a limit among it."""
    return stage.report(SessionClass.LIMITED, event_counts={"unrecognised": 50, "limit": 1}, final_text="done")


ROWS = [
    (SessionClass.REFUSAL, "retry", "attempts", "approach it in another way: the model refused"),
    (SessionClass.DENIED, "retry", "attempts", "do without the tool that was denied"),
    (SessionClass.DEAD, "retry", "attempts", "begin anew: the session produced nothing"),
    (SessionClass.CRASHED, "retry", "attempts", "begin anew: the session's process died"),
    (SessionClass.HUNG, "expired", "expiries", "begin anew: the session stopped making progress"),
    (SessionClass.AUTH, "infra", "infra", ""),
    (SessionClass.BILLING, "infra", "infra", ""),
    (SessionClass.CONFIG, "infra", "infra", ""),
    (SessionClass.MODEL_MISSING, "infra", "infra", ""),
    (SessionClass.LIMITED, "infra", "infra", ""),
    (SessionClass.STOPPED, "infra", "infra", ""),
]


@pytest.mark.parametrize(("kind", "end", "counter", "advice"), ROWS, ids=[row[0].value for row in ROWS])
async def test_claim_ends_as_the_row_says(
    bench: AttemptBench, kind: SessionClass, end: str, counter: str, advice: str
) -> None:
    """C18, C28: whatever ends a session is an outcome of its attempt, and the next one is told what it lacked."""
    bench.add()
    bench.play(ends(kind, resume_id=None), completes)
    await bench.attempt()
    shown = bench.show()
    assert bench.ends() == [end]
    assert {name: shown[name] for name in ("attempts", "expiries", "infra")} == {
        **dict.fromkeys(("attempts", "expiries", "infra"), 0),
        counter: 1,
    }
    await let_pass(20 * MINUTE)
    await bench.attempt()
    told = bench.requests[1].prompt
    assert (f"This time: {advice}." in told) == bool(advice)


async def test_session_that_only_talked_did_nothing_and_the_next_is_told_so(bench: AttemptBench) -> None:
    """C10: an empty turn is no progress, and no reminder is spent on it."""
    bench.add()
    bench.play(ends(SessionClass.CLEAN, event_counts={"text": 3}), completes)
    await bench.attempt()
    assert (bench.ends(), len(bench.requests)) == (["retry"], 1)
    await let_pass(20 * MINUTE)
    await bench.attempt()
    assert "This time: do the work: the last session ended well and did nothing." in bench.requests[1].prompt


async def test_c03_words_of_success_settle_nothing(bench: AttemptBench) -> None:
    """C03, C05: only the queue's record says that something is done; no text and no envelope does."""
    bench.add()
    said = 'EXIT_SIGNAL: true <promise>COMPLETE</promise> {"result": {"exit_signal": true}} All done!'
    bench.play(ends(SessionClass.CLEAN, final_text=said, resume_id=None))
    await bench.attempt()
    assert (bench.ends(), bench.show()["state"]) == (["retry"], "pending")


async def test_c03_settle_that_was_refused_leaves_the_claim_open(bench: AttemptBench) -> None:
    """C03: asking is not being answered; a refused completion is no completion."""

    def refused(stage: Stage) -> SessionReport:
        outcome = {"kind": "commit", "ref": "0" * 40}
        with pytest.raises(Exception, match="0000"):
            stage.act("complete", contract_hash=stage.held["contract_hash"], outcome=outcome)
        return stage.report(resume_id=None)

    bench.add()
    bench.play(refused)
    await bench.attempt()
    assert bench.ends() == ["retry"]


async def test_c22_session_can_say_that_it_is_blocked(bench: AttemptBench) -> None:
    """C22: a deferral ends the dispatch without any claim of success."""
    bench.add()

    def defers(stage: Stage) -> None:
        stage.act("defer", boundary="choose", asks="Which one?")

    bench.play(defers)
    await bench.attempt()
    assert (bench.ends(), bench.show()["state"]) == (["defer"], "deferred")
    assert not bench.claimable()


@pytest.mark.parametrize("kind", [SessionClass.CONTEXT, SessionClass.TURN_CAP, SessionClass.COST_CAP])
async def test_c33_ceiling_parks_the_item_with_split_or_raise(bench: AttemptBench, kind: SessionClass) -> None:
    """C33: the same session would meet the same ceiling; a person splits the item or raises it, and answers."""
    bench.add()
    bench.play(ends(kind), completes)
    await bench.attempt()
    shown = bench.show()
    assert (bench.ends(), shown["state"], shown["attempts"]) == (["parked"], "deferred", 1)
    question = bench.client("why", key="a")["reasons"][0]
    assert question["code"] == "BRAKE"
    assert "Split the item, or raise the ceiling" in str(question)
    bench.client("answer", key="a", text="the ceiling is 200 turns now")
    await bench.attempt()
    assert bench.ends() == ["parked", "complete"]


async def test_c33_ceiling_under_a_contract_that_was_changed_meanwhile_is_tried_again(bench: AttemptBench) -> None:
    def changed(stage: Stage) -> SessionReport:
        assert bench.lease is not None
        object.__setattr__(bench.lease.held, "contract_hash", "f" * 64)
        return stage.report(SessionClass.CONTEXT)

    bench.add()
    bench.play(changed)
    await bench.attempt()
    assert bench.ends() == ["retry"]


async def test_of_a_stream_that_cannot_be_believed_nothing_is_counted_and_nothing_concluded(
    bench: AttemptBench,
) -> None:
    """Neither its limit, nor its silence, nor its final words; the item rests longer each time, then a person looks."""
    bench.add()
    waits: list[float] = []
    for number in range(5):
        bench.play(unreadable)
        await bench.attempt()
        if number < 4:
            shown = bench.show()
            assert (bench.ends()[-1], shown["attempts"], shown["expiries"]) == ("infra", 0, 0)
            assert "resume_path" not in bench.reports()[-1]
            before = anyio.current_time()
            while not bench.claimable():
                await let_pass(MINUTE)
            waits.append(anyio.current_time() - before)
    assert waits == [15 * MINUTE, 30 * MINUTE, 60 * MINUTE, 120 * MINUTE]
    assert (bench.ends()[-1], bench.show()["state"], bench.show()["attempts"]) == ("parked", "deferred", 0)


async def test_settle_is_believed_even_when_the_stream_is_not(bench: AttemptBench) -> None:
    def settles(stage: Stage) -> SessionReport:
        stage.complete()
        return unreadable(stage)

    bench.add()
    bench.play(settles)
    await bench.attempt()
    assert bench.ends() == ["complete"]


async def test_c25_item_rests_15_then_30_minutes_and_is_parked_after_the_third_fruitless_attempt(
    bench: AttemptBench,
) -> None:
    """C25, C11: a clean exit without a product counts against the item, and a person is asked."""
    bench.add(attempts_max=20)
    began: list[float] = []
    for _ in range(3):
        while not bench.claimable():
            await let_pass(MINUTE)
        began.append(anyio.current_time())
        bench.play(idle)
        await bench.attempt()
    assert began == [0.0, 15 * MINUTE, 45 * MINUTE]
    assert (bench.ends(), bench.show()["state"]) == (["retry"] * 3, "deferred")
    reason = bench.client("why", key="a")["reasons"][0]
    assert "no_progress" in str(reason)
    assert "nothing came of it" in str(reason)


async def test_week_in_which_one_item_was_dispatched_81_times_ends_with_the_third(bench: AttemptBench) -> None:
    """The replay: 81 dispatches in a week, 71 of them called a success by an exit code, none with a product."""
    bench.add(attempts_max=100, expiries_max=100)
    outcomes = [SessionClass.CRASHED if number % 8 == 3 else SessionClass.CLEAN for number in range(81)]
    assert outcomes.count(SessionClass.CLEAN) == 71
    dispatched = 0
    for kind in outcomes:
        deadline = anyio.current_time() + WEEK / 81
        while not bench.claimable() and anyio.current_time() < deadline:
            await let_pass(5 * MINUTE)
        if not bench.claimable():
            continue
        dispatched += 1
        bench.play(ends(kind, resume_id=None, final_text="Successfully completed."))
        await bench.attempt()
    assert dispatched == 3
    assert bench.show()["state"] == "deferred"


async def test_c26_only_what_can_be_seen_from_outside_is_progress(bench: AttemptBench) -> None:
    """C26: a new commit ends the streak; an empty commit, a dirty tree and moves of the item do not."""

    def empty(stage: Stage) -> SessionReport:
        stage.tree.git("commit", "-q", "--allow-empty", "-m", "nothing")
        (stage.request.cwd / "notes.txt").write_text("thoughts\n")
        return idle(stage)

    def commits(stage: Stage) -> SessionReport:
        stage.tree.commit({"thing.txt": f"step {stage.number}\n"})
        return idle(stage)

    def gives_up(stage: Stage) -> None:
        stage.act("retry", failed="it", cause=f"cause {stage.number}", next_action="another way")

    bench.add(attempts_max=20)
    for play in (empty, commits, empty, gives_up, empty):
        while not bench.claimable():
            await let_pass(MINUTE)
        bench.play(play)
        await bench.attempt()
    assert [report["progress"] for report in bench.reports()] == [False, True, False, False, False]
    assert bench.show()["state"] == "deferred"


async def test_c27_return_of_capacity_lifts_no_brake_and_c29_a_persons_word_outranks_it(bench: AttemptBench) -> None:
    """C27, C29: the park has an owner; an answer begins a new streak, and the next fruitless attempt only waits."""
    bench.add(attempts_max=20)
    for _ in range(3):
        bench.play(idle)
        await bench.attempt()
        await let_pass(31 * MINUTE)
    bench.overseer.closed.clear()
    perform_tend(bench)
    assert bench.show()["state"] == "deferred"
    bench.client("answer", key="a", text="try the other library")
    assert bench.claimable()
    await let_pass(1)
    bench.play(idle)
    await bench.attempt()
    assert bench.show()["state"] == "pending"
    assert bench.named("held_back")[-1]["fruitless"] == 1


def perform_tend(bench: AttemptBench) -> None:
    """Keep the campaign's house, as the loop does once a minute."""
    from workloop.service.campaigns import tend
    from workloop.service.perform import run_as_host

    run_as_host(bench.queue, bench.project.host, "tend", tend)


async def test_c29_waiting_is_no_fruitless_attempt(bench: AttemptBench) -> None:
    """C29, C34: limits, stops and passing failures never count towards the brake, however many there are."""
    bench.add()
    for kind in (SessionClass.LIMITED, SessionClass.STOPPED, SessionClass.AUTH, SessionClass.LIMITED) * 2:
        while not bench.claimable():
            await let_pass(MINUTE)
        bench.play(ends(kind, resume_id=None))
        await bench.attempt()
    assert bench.show()["state"] == "pending"
    assert set(bench.ends()) == {"infra"}


async def test_c34_result_that_waits_for_its_verdict_is_not_dispatched_again(bench: AttemptBench) -> None:
    """C09, C34: what is handed in is a candidate, and nothing claims it as work."""
    bench.add(verification="session")
    bench.play(completes)
    await bench.attempt()
    assert bench.show()["state"] == "candidate"
    (claimed,) = [bench.client("claim", holder="person", executor="x")["item"]]
    assert (claimed["key"], claimed["role"]) == ("a~v1", "verify")


async def test_somebody_elses_commit_on_the_branch_is_outside_progress(bench: AttemptBench) -> None:
    def commits(stage: Stage) -> SessionReport:
        stage.tree.commit({"thing.txt": "begun\n"})
        return idle(stage)

    bench.add(attempts_max=20)
    bench.play(commits, idle, idle)
    await bench.attempt()
    await bench.attempt()
    await let_pass(31 * MINUTE)
    branch = bench.reports()[0]["branch"]
    bench.repository.git("checkout", "-q", branch)
    bench.repository.commit({"other.txt": "a person helped\n"})
    bench.repository.git("checkout", "-q", "main")
    await bench.attempt()
    assert bench.reports()[-1]["outside"] is True
    assert bench.named("held_back")[-1]["fruitless"] == 1


async def test_verifier_that_never_gives_a_verdict_waits_but_is_ended_by_its_own_ceiling(bench: AttemptBench) -> None:
    bench.add(verification="session", attempts_max=5)
    bench.play(completes)
    await bench.attempt()
    for _ in range(5):
        while not bench.claimable():
            await let_pass(MINUTE)
        bench.play(idle)
        await bench.attempt()
    assert bench.ends("a~v1") == ["retry"] * 5
    assert bench.show("a~v1")["state"] == "failed"
    assert bench.show()["state"] == "deferred"
