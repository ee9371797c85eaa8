"""Two bills for one phase: the larger is booked, unknown outweighs both, and the run ends whatever the worker did."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from repair_stage import Seen, Stage, stopped
from workloop.repair.ledger.records import StopReason
from workloop.repair.port import Charge, PhaseContext, WorkerResult, settled, unknown
from workloop.testing.scripted_driver import commit_of, finding, worked

FIRST = settled(1_000, "scripted")
DIFFERENT = {
    "more when asked": (settled(500), settled(900), 900),
    "less when asked": (settled(900), settled(500), 900),
    "nothing when asked": (settled(900), settled(0), 900),
    "unknown when asked": (settled(900), unknown("the provider does not answer"), None),
    "unknown when asked, nothing at first": (settled(0), unknown("the provider does not answer"), None),
    "unknown at first": (unknown("the provider does not answer"), settled(900), None),
}
"""What the worker returned as its charge, what is said when it is asked for, and what is booked of it."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    tmp_path.chmod(0o700)
    return Stage(folder=tmp_path)


def played(stage: Stage, kind: str, returned: Charge, asked: Charge, then: Callable[[], None] = lambda: None) -> Seen:
    """Run a story whose task or repair is billed twice; something may happen while it works."""

    def work(context: PhaseContext, *_: object) -> WorkerResult:
        """Leave a bill."""
        then()
        base = context.harness.commit if kind == "repair" else "b" * 40
        return replace(worked(candidate=commit_of(80), base=base), charge=returned)

    if kind == "task":
        return stage.see({"run_task": [work], "settle": [asked]})
    found = worked(candidate=None, observations=(finding(),))
    return stage.see({"run_task": [found], "run_repair": [work], "settle": [FIRST, asked]})


def booked_once(seen: Seen, kind: str, amount: int | None) -> None:
    """Hold that one bill is on record for the last phase, that it is marked, and that the sum is right."""
    charge = seen.of("charge")[-1]
    assert (charge["state"], charge["microusd"]) == (("unknown", 0) if amount is None else ("settled", amount))
    assert [note["topic"] for note in seen.of("note")] == ["bills-differ"]
    assert seen.ended.close is not None
    before = FIRST.microusd if kind == "repair" else 0
    assert seen.ended.close.spent_microusd == before + (amount or 0)
    assert seen.ended.close.unknown_charges == (amount is None)
    assert seen.asked[-2:] == ["settle", "close"], "nobody works after that, and nothing is checked"


@pytest.mark.parametrize("kind", ["task", "repair"])
@pytest.mark.parametrize("how", DIFFERENT)
def test_the_larger_of_two_bills_is_booked_and_marked_and_ends_the_run(stage: Stage, how: str, kind: str) -> None:
    returned, asked, amount = DIFFERENT[how]
    seen = played(stage, kind, returned, asked)
    stopped(seen, StopReason.UNKNOWN_CHARGE if amount is None else StopReason.DRIVER_ERROR)
    assert seen.phases[-1] == kind
    booked_once(seen, kind, amount)


@pytest.mark.parametrize("how", DIFFERENT)
def test_a_signal_is_why_the_run_ends_and_the_larger_bill_is_booked_all_the_same(stage: Stage, how: str) -> None:
    returned, asked, amount = DIFFERENT[how]
    seen = played(stage, "task", returned, asked, lambda: os.kill(os.getpid(), signal.SIGTERM))
    stopped(seen, StopReason.SIGTERM)
    booked_once(seen, "task", amount)


@pytest.mark.parametrize("basis", ["", "the provider's own"])
def test_a_bill_that_is_told_alike_is_one_bill(stage: Stage, basis: str) -> None:
    """Who billed it may be told in other words."""
    seen = stage.see({"settle": [settled(1_000, basis)]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert seen.of("note") == []
