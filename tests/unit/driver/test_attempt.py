"""What follows a session while its claim is held: a nudge, another try after a passing failure, or the claim's end."""

from pathlib import Path

import anyio
import pytest
from trio.testing import MockClock

from attempt_bench import WORKED, AttemptBench, Stage, let_pass
from workloop.domain.session import SessionClass, SessionReport
from workloop.runner.harness.port import Capabilities

pytestmark = pytest.mark.anyio
NO_WORDS = {"text": 1}


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def bench(tmp_path: Path) -> AttemptBench:
    return AttemptBench(tmp_path)


def idle(stage: Stage) -> SessionReport:
    """Work a little and settle nothing."""
    return stage.report(final_text="I could not find the file.")


def completes(stage: Stage) -> None:
    """Do the work."""
    stage.complete()


def limited(stage: Stage) -> SessionReport:
    return stage.report(SessionClass.LIMITED)


def blip(stage: Stage) -> SessionReport:
    """Fail in passing, with a typed error and a usage report."""
    return stage.report(SessionClass.TRANSIENT, event_counts={**WORKED, "error": 1})


async def test_session_that_ends_well_without_settling_is_reminded_once_in_the_same_conversation(
    bench: AttemptBench,
) -> None:
    bench.add()
    bench.play(idle, completes)
    handled = await bench.attempt()
    first, second = bench.requests
    assert (first.resume_id, second.resume_id) == (None, "talk-1")
    assert "The item is still open" in second.prompt
    assert second.cwd == first.cwd
    assert bench.ends() == ["complete"]
    assert [facts.session_id for facts, _ in handled.sessions] == [first.session_id, second.session_id]


async def test_second_silence_is_an_attempt_and_what_it_said_last_is_kept(bench: AttemptBench) -> None:
    """C17: the sentence that says why is stored on the attempt."""
    bench.add()
    bench.play(idle, idle)
    await bench.attempt()
    (report,) = bench.reports()
    assert bench.ends() == ["retry"]
    assert bench.show()["attempts"] == 1
    assert report["said"] == "I could not find the file."
    assert report["next_action"] == "end with work_loop: the last session stopped without settling"


async def test_program_that_cannot_resume_is_not_reminded(bench: AttemptBench) -> None:
    from attempt_bench import PlayedHarness

    bench.add()
    bench.play(idle)
    await bench.attempt(harness=PlayedHarness(capabilities=Capabilities(final_text=True)))
    assert (len(bench.requests), bench.ends()) == (1, ["retry"])


async def test_passing_failure_keeps_the_claim_and_goes_on_after_30_then_60_seconds(bench: AttemptBench) -> None:
    bench.add()
    bench.play(blip, blip, completes)
    await bench.attempt()
    assert bench.overseer.at == [0.0, 30.0, 90.0]
    assert [request.resume_id for request in bench.requests] == [None, "talk-1", "talk-2"]
    assert "You were interrupted" in bench.requests[1].prompt
    assert bench.ends() == ["complete"]


async def test_lease_is_renewed_while_a_passing_failure_is_waited_for(bench: AttemptBench) -> None:
    bench.add(lease_seconds=40)
    bench.play(blip, blip, blip, completes)
    await bench.attempt()
    assert (bench.overseer.at[-1], bench.ends()) == (210.0, ["complete"])


async def test_third_failure_without_any_usage_report_gives_the_item_back_uncounted(bench: AttemptBench) -> None:
    def silent(stage: Stage) -> SessionReport:
        return stage.report(SessionClass.TRANSIENT, usage_reported=False, event_counts={"error": 1, "text": 1})

    bench.add()
    bench.play(silent, silent, silent)
    await bench.attempt()
    shown = bench.show()
    assert (bench.ends(), shown["attempts"], shown["infra"]) == (["infra"], 0, 1)
    assert not bench.claimable()
    assert bench.reports()[0]["resume_resume_id"] == "talk-3"


async def test_second_failure_that_is_only_guessed_to_be_passing_is_the_last(bench: AttemptBench) -> None:
    def guess(stage: Stage) -> SessionReport:
        return stage.report(SessionClass.TRANSIENT)

    bench.add()
    bench.play(guess, guess)
    await bench.attempt()
    assert bench.ends() == ["infra"]
    assert [was_guessed for _, _, was_guessed in bench.overseer.ended_] == [True, True]


async def test_every_process_is_booked_once_before_anything_is_concluded(bench: AttemptBench) -> None:
    """The first session, its resumption after a blip and the reminder: three processes, three bookings."""
    bench.add()
    bench.play(blip, idle, completes)
    handled = await bench.attempt()
    booked = [facts.session_id for facts, _, _ in bench.overseer.ended_]
    assert booked == [request.session_id for request in bench.requests]
    assert booked == [facts.session_id for facts, _ in handled.sessions]
    assert len(set(booked)) == 3


async def test_conversation_that_is_gone_is_begun_anew_in_the_same_tree(bench: AttemptBench) -> None:
    def gone(stage: Stage) -> SessionReport:
        return stage.report(
            SessionClass.CRASHED, event_counts={}, tokens=stage.report().tokens.beyond(stage.report().tokens)
        )

    bench.add()
    bench.play(blip, gone, completes)
    await bench.attempt()
    assert [request.resume_id for request in bench.requests] == [None, "talk-1", None]
    assert bench.requests[2].prompt == bench.requests[0].prompt
    assert bench.ends() == ["complete"]


async def test_stop_is_heeded_inside_a_wait(bench: AttemptBench) -> None:
    """A request to end that comes while a passing failure is waited for: no further session, and nothing is counted."""

    def then_stop(stage: Stage) -> SessionReport:
        bench.overseer.refuses = "the loop is ending"
        return blip(stage)

    bench.add()
    bench.play(then_stop)
    await bench.attempt()
    assert (len(bench.requests), bench.ends(), bench.show()["attempts"]) == (1, ["infra"], 0)


async def test_claim_that_is_lost_during_a_wait_ends_it_at_once(bench: AttemptBench) -> None:
    bench.add()
    bench.play(blip)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.attempt)
        await let_pass(5)
        assert bench.lease is not None
        bench.lease.lose("taken away")
    assert (len(bench.requests), anyio.current_time()) == (1, 5.0)
    assert bench.ends() == [None]


async def test_lost_claim_is_left_alone_and_its_work_is_saved_on_the_side(bench: AttemptBench) -> None:
    def loses(stage: Stage) -> SessionReport:
        (stage.request.cwd / "half.txt").write_text("half\n")
        bench.client("cancel", key="a", reason="no longer wanted")
        assert bench.lease is not None
        bench.lease.look(bench.queue)
        return stage.report(SessionClass.STOPPED)

    bench.add()
    bench.play(loses)
    await bench.attempt()
    assert bench.show()["state"] == "cancelled"
    saved = bench.repository.git("for-each-ref", "--format=%(refname)", "refs/workloop/wip/")
    assert bench.repository.git("show", f"{saved}:half.txt") == "half"
