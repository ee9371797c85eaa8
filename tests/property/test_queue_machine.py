"""Random sequences of every action keep every promise, and the two stores never differ."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from queue_machine import QueueMachine

CHECKS_OFF = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def run(examples: int, steps: int, *, derandomize: bool) -> None:
    """Play many games."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=derandomize,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=CHECKS_OFF,
    )
    run_state_machine_as_test(QueueMachine, settings=chosen)


def test_every_promise_holds_after_every_step_on_both_stores() -> None:
    """DESIGN 3.4: the ten invariants, and one behaviour for memory and SQLite; the same games every time."""
    run(40, 45, derandomize=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_promise_holds_in_many_random_games() -> None:
    """DESIGN 3.4: as above, with other games each time; Hypothesis prints how to repeat a lost one."""
    run(2000, 60, derandomize=False)
