"""What the scheduler does about ceilings on spending: of the loop, of a target, of a harness."""

from dataclasses import replace
from typing import Any

import pytest

from workloop.domain.clock import Instant
from workloop.domain.gate import GateKey
from workloop.domain.poll import Poll
from workloop.driver.report import LoopEndReason
from workloop.driver.scheduling.blocks import Code
from workloop.driver.scheduling.scheduler import Probe, Start, Stop, Wait, decide
from workloop.driver.scheduling.situation import GateView, Snapshot, Spent, Standing, TargetView

NOW = Instant(1_000_000)
LATER, LATEST = Instant(2_000_000), Instant(3_000_000)
CLAUDE, CODEX = GateKey(harness="claude"), GateKey(harness="codex")
FOR_GOOD = Spent(sentence="budget.run.cost_usd has no room left", unblock="raise budget.run.cost_usd")
TODAY = Spent(sentence="budget.day.cost_usd has no room left", unblock="wait", until=LATER)


def target(name: str = "shop", claimable: int = 1, **fields: Any) -> TargetView:
    given: dict[str, Any] = {"gates": (CLAUDE,), "looked": Poll(version=1, claimable=claimable), **fields}
    return TargetView(name=name, **given)


IDLE = target("b", 0, gates=(CODEX,))


def seen(*targets: TargetView, **fields: Any) -> Snapshot:
    return Snapshot(now=NOW, targets=targets or (target(),), **fields)


def test_g13_a_day_that_is_used_up_is_waited_for_and_names_when_it_resets() -> None:
    decision = decide(seen(spent=TODAY))
    assert (decision.action, decision.next_wake) == (Wait(), LATER)
    assert (decision.reasons[0].code, decision.reasons[0].until) == (Code.BUDGET_SPENT, LATER)


@pytest.mark.parametrize("fields", [{"once": True}, {"ends_at": LATER}])
def test_a_run_that_is_over_before_its_day_resets_ends_now(fields: dict[str, Any]) -> None:
    action = decide(seen(spent=TODAY, **fields)).action
    assert isinstance(action, Stop)
    assert action.reason is LoopEndReason.BUDGET
    assert isinstance(decide(seen(spent=TODAY, ends_at=LATEST)).action, Wait)


def test_a_ceiling_of_one_target_keeps_no_other_from_its_turn() -> None:
    decision = decide(seen(target("a", spent=FOR_GOOD), target("b")))
    assert decision.action == Start(target="b", gate=CLAUDE)
    told = decision.reasons[0]
    assert (told.about, told.code, told.unblock) == ("a", Code.BUDGET_SPENT, "raise budget.run.cost_usd")


def test_the_next_agent_goes_on_when_one_may_spend_no_more_and_the_reason_is_told() -> None:
    gates = (GateView(key=CLAUDE, spent=FOR_GOOD),)
    action = decide(seen(target(gates=(CLAUDE, CODEX)), gates=gates)).action
    assert isinstance(action, Start)
    assert action.gate == CODEX
    assert "claude may not spend more: budget.run.cost_usd" in action.instead


@pytest.mark.parametrize("spent", [FOR_GOOD, TODAY])
def test_a_target_whose_only_agent_may_spend_no_more_says_which_ceiling_it_is(spent: Spent) -> None:
    decision = decide(seen(target(), IDLE, gates=(GateView(key=CLAUDE, spent=spent),)))
    assert decision.action == Wait()
    told = decision.reasons[0]
    assert (told.code, told.unblock, told.until) == (Code.BUDGET_SPENT, spent.unblock, spent.until)
    assert spent.sentence in told.sentence


def test_a_limited_agent_that_may_spend_no_more_is_not_even_tried() -> None:
    view = GateView(key=CLAUDE, standing=Standing.LIMITED, until=LATER, probe_at=NOW)
    assert isinstance(decide(seen(target(), IDLE, gates=(view,))).action, Probe)
    assert decide(seen(target(), IDLE, gates=(replace(view, spent=FOR_GOOD),))).action == Wait()
    both = target(gates=(CLAUDE, CODEX))
    other = GateView(key=CODEX, standing=Standing.LIMITED, until=LATER)
    assert decide(seen(both, gates=(replace(view, spent=FOR_GOOD), other))).action == Wait()
    assert isinstance(decide(seen(both, gates=(view, other))).action, Probe)


def test_the_run_ends_when_no_target_can_go_on_without_a_person() -> None:
    broke = (target("a", spent=FOR_GOOD), target("b", 0, spent=FOR_GOOD))
    action = decide(seen(*broke)).action
    assert isinstance(action, Stop)
    assert action.reason is LoopEndReason.BUDGET
    assert "a: budget.run.cost_usd" in action.detail
    assert decide(seen(*broke, live=1)).action == Wait()
    assert decide(seen(target("a", spent=FOR_GOOD), target("b", 0))).action == Wait()
    assert decide(seen(target("a", spent=FOR_GOOD), target("b", spent=TODAY))).action == Wait()


def test_a_run_that_is_to_drain_says_that_a_ceiling_ended_it() -> None:
    action = decide(seen(target(spent=FOR_GOOD), once=True)).action
    assert isinstance(action, Stop)
    assert action.reason is LoopEndReason.BUDGET
