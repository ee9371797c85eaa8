"""How several sessions share one item: phases under one claim, and hand-offs that a session asks for itself."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from attempt_bench import WORKED, AttemptBench, PlayedHarness, Stage, let_pass
from workloop.config import PhaseConfig
from workloop.domain.gate import GateKey
from workloop.domain.handoff import MARKER
from workloop.domain.session import SessionClass, SessionReport, Tokens
from workloop.driver.project import SessionKit
from workloop.runner.harness.port import Capabilities

pytestmark = pytest.mark.anyio
TWO = (PhaseConfig(name="implement", turns_max=40), PhaseConfig(name="review", harness="other", tier="strong"))
OTHER = GateKey(harness="other", account="work", tier="strong")
SENTINEL = "SENTINEL-7f3a"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def bench(tmp_path: Path) -> AttemptBench:
    made = AttemptBench(tmp_path)

    def crew(harness: str, tier: str) -> SessionKit:
        if harness == "other":
            return replace(made.kit, gate=OTHER, harness=PlayedHarness(name="other"), model="strong-model")
        return made.kit

    made.kit = replace(made.kit, phases=TWO, crew=crew, turns_max=100)
    made.add()
    return made


def implements(stage: Stage) -> None:
    stage.tree.commit({"thing.txt": "fixed\n"})


def completes(stage: Stage) -> None:
    stage.complete("fixed, and reviewed\n")


def idle(stage: Stage) -> SessionReport:
    return stage.report(resume_id=None)


def ends(kind: SessionClass, *, commit: bool = False, **fields: Any) -> Callable[[Stage], SessionReport]:
    """End so, perhaps after a commit."""

    def play(stage: Stage) -> SessionReport:
        if commit:
            stage.tree.commit({"thing.txt": f"part {stage.number}\n"})
        return stage.report(kind, **fields)

    return play


def asks(prompt: str, **fields: Any) -> Callable[[Stage], SessionReport]:
    """Commit, and ask for a successor."""

    def play(stage: Stage) -> SessionReport:
        stage.tree.commit({"thing.txt": f"part {stage.number}\n"})
        return stage.report(final_text=f"So far so good.\n{MARKER}\n{prompt}", **fields)

    return play


async def test_two_phases_share_one_claim_each_with_its_own_agent_tier_and_bounds(bench: AttemptBench) -> None:
    bench.play(implements, completes)
    await bench.attempt()
    first, second = bench.requests
    assert bench.ends() == ["complete"]
    assert [facts.gate for facts in bench.overseer.began_] == [bench.kit.gate, OTHER]
    assert [facts.phase for facts in bench.overseer.began_] == ["implement", "review"]
    assert (first.turns_max, first.model) == (40, None)
    assert (second.turns_max, second.model) == (100, "strong-model")
    assert second.cwd == first.cwd
    assert second.resume_id is None
    assert first.prompt.startswith("# One item of work: its implementation")
    assert second.prompt.startswith("# One item of work: its review")


@pytest.mark.parametrize("earlier", [0, 1], ids=["first attempt", "later attempt"])
async def test_reviewers_brief_contains_nothing_that_its_predecessor_said(bench: AttemptBench, earlier: int) -> None:
    """C23, E13: sentinels in every field that a session can write; the reviewer sees none of them.

    Only the brief of a later attempt has room for advice, so it is looked at, too.
    """

    def talks(stage: Stage) -> SessionReport:
        stage.act("attach", evidence=[{"kind": "note", "ref": f"{SENTINEL} evidence note"}])
        stage.act("heartbeat")
        stage.tree.git("commit", "-q", "--allow-empty", "-m", f"{SENTINEL} commit message")
        stage.tree.commit({"thing.txt": f"{SENTINEL} file\n"}, f"{SENTINEL} subject")
        folder = stage.request.session_dir
        for name in ("brief.md", "result.json", "events.jsonl", "item.json", "claim.json"):
            path = folder / name
            if name not in ("item.json", "claim.json"):
                path.write_text(f'"{SENTINEL} {name}"')
        return stage.report(
            final_text=f"{SENTINEL} final text",
            stderr_tail=f"{SENTINEL} stderr",
            detail=f"{SENTINEL} detail",
            resume_id=f"{SENTINEL} resume id",
            event_counts={**WORKED, f"{SENTINEL} kind": 1},
        )

    for _ in range(earlier):
        bench.play(ends(SessionClass.DEAD))
        await bench.attempt()
        await let_pass(3600)
    bench.play(talks, completes)
    await bench.attempt()
    review = bench.requests[-1]
    assert SENTINEL not in review.prompt
    assert SENTINEL not in str(review)
    assert review.item_file is not None
    assert SENTINEL not in review.item_file.read_text()
    assert bench.ends() == ["retry"] * earlier + ["complete"]


async def test_brief_after_a_failed_attempt_contains_nothing_that_was_said_in_it(bench: AttemptBench) -> None:
    def fails(stage: Stage) -> SessionReport:
        with pytest.raises(Exception, match="0000"):
            stage.act(
                "complete", contract_hash=stage.held["contract_hash"], outcome={"kind": "commit", "ref": "0" * 40}
            )
        stage.act("retry", failed=SENTINEL, cause=f"{SENTINEL} cause", next_action=f"{SENTINEL} next")
        return stage.report(final_text=SENTINEL, detail=SENTINEL, stderr_tail=SENTINEL)

    bench.play(fails, implements, completes)
    await bench.attempt()
    await let_pass(3600)
    await bench.attempt()
    assert all(SENTINEL not in request.prompt for request in bench.requests)


async def test_phase_without_any_commit_is_not_followed_by_a_review(bench: AttemptBench) -> None:
    bench.play(idle)
    await bench.attempt()
    assert (len(bench.requests), bench.ends()) == (1, ["retry"])


@pytest.mark.parametrize(("kind", "follows"), [(SessionClass.TURN_CAP, True), (SessionClass.CRASHED, False)])
async def test_orderly_cap_with_a_new_commit_ends_a_phase_well_and_a_crash_does_not(
    bench: AttemptBench, kind: SessionClass, *, follows: bool
) -> None:
    bench.play(ends(kind, commit=True), completes)
    await bench.attempt()
    assert len(bench.requests) == (2 if follows else 1)
    assert bench.ends() == (["complete"] if follows else ["retry"])


async def test_capped_phase_that_committed_nothing_new_is_not_followed(bench: AttemptBench) -> None:
    bench.play(ends(SessionClass.CRASHED, commit=True), ends(SessionClass.TURN_CAP))
    await bench.attempt()
    await bench.attempt()
    assert (len(bench.requests), bench.ends()) == (2, ["retry", "parked"])


async def test_phase_whose_stream_cannot_be_believed_is_not_followed(bench: AttemptBench) -> None:
    bench.play(ends(SessionClass.CLEAN, commit=True, output_lost=True))
    await bench.attempt()
    assert (len(bench.requests), bench.ends()) == (1, ["infra"])


async def test_item_that_the_first_phase_settles_is_settled(bench: AttemptBench) -> None:
    bench.play(completes)
    await bench.attempt()
    assert (len(bench.requests), bench.ends()) == (1, ["complete"])


async def test_limit_in_a_later_phase_is_met_as_in_the_first_and_the_review_is_gone_on_with(
    bench: AttemptBench,
) -> None:
    """D21: the claim is released until the reset; then the same reviewer goes on, nothing is implemented again."""
    reset = bench.time.now() + 3_600_000_000
    bench.play(implements, ends(SessionClass.LIMITED, reset_at=reset), completes)
    handled = await bench.attempt()
    assert (handled.fault, bench.ends(), bench.show()["attempts"]) == ("", ["infra"], 0)
    assert bench.reports()[0]["resume_phase"] == "review"
    await let_pass(3_600)
    await bench.attempt()
    third = bench.requests[2]
    assert (third.resume_id, third.cwd) == ("talk-2", bench.requests[0].cwd)
    assert bench.overseer.began_[2].phase == "review"
    assert bench.ends() == ["infra", "complete"]


async def test_blip_in_a_later_phase_is_waited_for_under_the_same_claim(bench: AttemptBench) -> None:
    blip = ends(SessionClass.TRANSIENT, event_counts={**WORKED, "error": 1})
    bench.play(implements, blip, completes)
    await bench.attempt()
    assert bench.ends() == ["complete"]
    assert bench.overseer.at == [0.0, 0.0, 30.0]


@pytest.mark.parametrize("why", ["stop", "limit"])
async def test_stop_or_closed_account_is_heeded_between_phases_and_the_review_comes_first_later(
    bench: AttemptBench, why: str
) -> None:
    def then(stage: Stage) -> None:
        implements(stage)
        if why == "stop":
            bench.overseer.refuses = "the loop is ending"
        else:
            bench.overseer.closed.add(OTHER)

    bench.play(then, completes)
    await bench.attempt()
    assert (len(bench.requests), bench.ends(), bench.show()["attempts"]) == (1, ["infra"], 0)
    assert bench.named("seam")[0]["phase"] == "review"
    bench.overseer.refuses = ""
    bench.overseer.closed.clear()
    if why == "limit":
        assert not bench.claimable()
    await let_pass(900)
    await bench.attempt()
    assert bench.overseer.began_[1].phase == "review"
    assert bench.ends() == ["infra", "complete"]


async def test_verifier_and_repair_are_never_shared_out(bench: AttemptBench) -> None:
    bench.add("b", verification="session", priority=1)

    def passes(stage: Stage) -> None:
        evidence = [{"kind": "commit", "ref": stage.held["candidate"]["sha"]}]
        stage.act("complete", contract_hash=stage.held["contract_hash"], verdict="passed", evidence=evidence)

    bench.play(implements, completes, passes)
    await bench.attempt("b")
    await bench.attempt("b~v1")
    assert [facts.phase for facts in bench.overseer.began_] == ["implement", "review", ""]
    assert bench.show("b")["state"] == "succeeded"


@pytest.fixture
def alone(bench: AttemptBench) -> AttemptBench:
    """The same bench without phases."""
    bench.kit = replace(bench.kit, phases=())
    return bench


async def test_l01_session_is_followed_by_the_successor_it_asked_for(alone: AttemptBench) -> None:
    """L01, C23: a fresh session; the driver's frame first, then the note, then how to end."""
    alone.play(asks("Part two is open: see notes.md."), completes)
    await alone.attempt()
    first, second = alone.requests
    assert (second.resume_id, second.cwd) == (None, first.cwd)
    frame, note, ending = (
        second.prompt.index("You go on with an item of work"),
        second.prompt.index("Part two is open"),
        second.prompt.index("## How to end"),
    )
    assert frame < note < ending
    assert alone.overseer.began_[1].resumes == first.session_id
    assert alone.ends() == ["complete"]


async def test_l01_three_in_a_row_are_followed_and_the_fourth_is_refused_by_name(alone: AttemptBench) -> None:
    alone.play(asks("a"), asks("b"), asks("c"), asks("d"), completes)
    await alone.attempt()
    assert [told["reason"] for told in alone.named("handoff_refused")] == ["chain_spent"]
    assert len(alone.named("handoff")) == 3
    assert "The item is still open" in alone.requests[4].prompt
    assert alone.ends() == ["complete"]


REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("", {}, "empty"),
    ("x" * 4097, {}, "too_long"),
    ("go on", {"event_counts": {}, "tokens": Tokens()}, "dead"),
]


@pytest.mark.parametrize(("prompt", "fields", "reason"), REFUSALS, ids=[row[2] for row in REFUSALS])
async def test_l01_refused_hand_off_is_told_and_the_usual_way_is_gone(
    alone: AttemptBench, prompt: str, fields: dict[str, Any], reason: str
) -> None:
    alone.play(asks(prompt, resume_id=None, **fields))
    await alone.attempt()
    assert [told["reason"] for told in alone.named("handoff_refused")] == [reason]
    assert (len(alone.requests), alone.ends()) == (1, ["retry"])


async def test_l01_hand_off_is_not_followed_while_the_loop_ends(alone: AttemptBench) -> None:
    def then_stop(stage: Stage) -> SessionReport:
        alone.overseer.refuses = "a session ceiling is spent"
        return asks("go on")(stage)

    alone.play(then_stop)
    await alone.attempt()
    (told,) = alone.named("handoff_refused")
    assert (told["reason"], len(alone.requests)) == ("stopping", 1)
    assert "a session ceiling is spent" in told["detail"]


@pytest.mark.parametrize("kind", [SessionClass.CRASHED, SessionClass.LIMITED])
async def test_l01_hand_off_of_a_session_that_did_not_end_well_is_not_even_read(
    alone: AttemptBench, kind: SessionClass
) -> None:
    alone.play(ends(kind, final_text=f"{MARKER}\ngo on", commit=True))
    await alone.attempt()
    assert (len(alone.requests), alone.named("handoff")) == (1, [])


async def test_l01_hand_off_after_the_claim_was_settled_is_none(alone: AttemptBench) -> None:
    def both(stage: Stage) -> SessionReport:
        stage.complete()
        return stage.report(final_text=f"{MARKER}\ngo on")

    alone.play(both)
    await alone.attempt()
    assert (len(alone.requests), alone.ends()) == (1, ["complete"])


async def test_program_whose_final_words_are_unknown_is_offered_no_hand_off(alone: AttemptBench) -> None:
    alone.play(asks("go on", resume_id=None))
    await alone.attempt(harness=PlayedHarness(capabilities=Capabilities(resumes=True)))
    assert MARKER not in alone.requests[0].prompt
    assert (len(alone.requests), alone.named("handoff"), alone.ends()) == (1, [], ["retry"])


async def test_phase_may_forbid_hand_offs(bench: AttemptBench) -> None:
    phases = (replace(TWO[0], handoff=False), TWO[1])
    bench.play(asks("go on"), completes)
    await bench.attempt(phases=phases)
    assert MARKER not in bench.requests[0].prompt
    assert bench.named("handoff_refused")[0]["detail"] == "this phase follows no hand-offs"
    assert [facts.phase for facts in bench.overseer.began_] == ["implement", "review"]


async def test_hand_off_inside_a_phase_keeps_the_phases_agent_and_bounds(bench: AttemptBench) -> None:
    bench.play(asks("half of it"), implements, completes)
    await bench.attempt()
    assert [facts.phase for facts in bench.overseer.began_] == ["implement", "implement", "review"]
    assert [request.turns_max for request in bench.requests] == [40, 40, 100]
    assert "Do not call `complete`" in bench.requests[1].prompt
    assert "half of it" not in bench.requests[2].prompt
