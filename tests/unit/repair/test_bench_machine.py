"""What may follow what in a bench run, all of it, and what a run's money comes to."""

import pytest

from workloop.repair.ledger.records import ChargeState
from workloop.repair.port import settled, unknown
from workloop.repair.supervisor.bench import HANDLERS
from workloop.repair.supervisor.machine import TABLE, Event, Step, next_step
from workloop.repair.supervisor.purse import Purse, larger

FOLLOWS = {
    Step.SELECT: {Event.TAKEN: Step.TASK},
    Step.TASK: {Event.CANDIDATE: Step.ACCEPT, Event.NO_CANDIDATE: Step.OBSERVE},
    Step.ACCEPT: {Event.JUDGED: Step.OBSERVE},
    Step.OBSERVE: {Event.FOUND: Step.CONFIRM, Event.NOTHING: Step.OUTCOME},
    Step.CONFIRM: {Event.PASSED: Step.REPAIR, Event.FAILED: Step.OBSERVE},
    Step.REPAIR: {Event.CANDIDATE: Step.REGRESSION, Event.NO_CANDIDATE: Step.REJECT},
    Step.REGRESSION: {Event.PASSED: Step.REPRODUCER, Event.FAILED: Step.REJECT},
    Step.REPRODUCER: {Event.PASSED: Step.ACTIVATE, Event.FAILED: Step.REJECT},
    Step.ACTIVATE: {Event.ACTIVATED: Step.OBSERVE},
    Step.REJECT: {Event.AGAIN: Step.REPAIR, Event.GIVEN_UP: Step.OBSERVE},
    Step.OUTCOME: {Event.AGAIN: Step.TASK, Event.GIVEN_UP: Step.SELECT},
    Step.STOPPED: {},
}


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("event", Event)
def test_every_step_meets_every_event_as_written_or_not_at_all(step: Step, event: Event) -> None:
    expected = Step.STOPPED if event is Event.STOP and step is not Step.STOPPED else FOLLOWS[step].get(event)
    if expected is None:
        with pytest.raises(ValueError, match="cannot happen"):
            next_step(step, event)
    else:
        assert next_step(step, event) is expected


def test_every_step_but_the_last_has_a_handler() -> None:
    assert set(HANDLERS) == set(Step) - {Step.STOPPED}


def test_an_activation_is_reached_by_both_verdicts_only() -> None:
    """There is one way in, and it leads through the regression and the reproducer."""
    assert [way for way, step in TABLE.items() if step is Step.ACTIVATE] == [(Step.REPRODUCER, Event.PASSED)]
    assert [way for way, step in TABLE.items() if step is Step.REPRODUCER] == [(Step.REGRESSION, Event.PASSED)]


@pytest.mark.parametrize("spent", [0, 999, 1_000, 1_001])
def test_a_bill_is_booked_as_it_is_and_the_rest_given_back(spent: int) -> None:
    purse = Purse(1_000)
    assert purse.reserve() == 1_000
    purse.settle(settled(spent))
    assert purse.spent_microusd == spent
    assert purse.left_microusd == max(0, 1_000 - spent)
    assert purse.overspent is (spent > 1_000)
    assert purse.reserve() == purse.left_microusd


def test_two_phases_never_spend_at_the_same_time() -> None:
    purse = Purse(1_000)
    purse.reserve()
    with pytest.raises(AssertionError):
        purse.reserve()


def test_of_two_bills_the_larger_counts_and_an_unknown_one_outweighs_both() -> None:
    assert larger(settled(1), settled(2)).microusd == larger(settled(2), settled(1)).microusd == 2
    assert larger(settled(1), unknown("lost")).state is larger(unknown("lost"), settled(1)).state is ChargeState.UNKNOWN
