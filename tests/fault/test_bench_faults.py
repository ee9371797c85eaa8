"""Every callback of a driver going wrong in every way, and signals in every phase: closed, booked, nothing after."""

import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from repair_stage import LIMITS, QUICK, Stage, stopped
from workloop.domain.errors import BadRequest
from workloop.repair.ledger.records import StopReason, VerdictKind
from workloop.repair.port import Confirmation, HarnessRevision, PhaseContext, Verdict, WorkerResult, settled
from workloop.repair.supervisor.points import Point
from workloop.testing.scripted_driver import (
    blocking,
    commit_of,
    finding,
    hanging,
    raising,
    runs,
    stubborn,
    until_aborted,
    worked,
)

FOUND = worked(candidate=commit_of(70), observations=(finding(),))
CALLBACKS = {
    "run_task": "task",
    "accept_task": "acceptance",
    "confirm_observation": "confirmation",
    "run_repair": "repair",
    "verify_regression": "regression",
    "verify_reproducer": "reproducer",
    "activate_harness": "activation",
}
WORKERS = ("run_task", "run_repair")
OTHER = commit_of(99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wider(WorkerResult):
    """A result with a field too many."""

    extra: str = "more"


def anyhow(**fields: Any) -> Verdict:
    """Return a verdict that a type checker would refuse."""
    return Verdict(**fields)


WRONG: dict[str, object] = {
    "nothing": None,
    "true": True,
    "text": "passed",
    "mapping": {"passed": True},
    "an extra field": Wider(**{name: getattr(worked(candidate=OTHER), name) for name in WorkerResult.__slots__}),
    "a class": Verdict,
    "a truthy number": anyhow(kind=VerdictKind.REGRESSION, commit=OTHER, passed=1, runs=runs(OTHER, True)),
}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    tmp_path.chmod(0o700)
    return Stage(folder=tmp_path)


def script(name: str, entry: object) -> dict[str, list[object]]:
    """Return a story that comes to a callback, and what happens there."""
    return {"run_task": [FOUND], name: [entry]}


def expected(name: str) -> StopReason:
    """Return why a run stops when a callback goes wrong."""
    return StopReason.ACTIVATION_FAILED if name == "activate_harness" else StopReason.DRIVER_ERROR


@pytest.mark.parametrize("name", CALLBACKS)
def test_an_exception_in_a_callback_ends_the_run_on_record(stage: Stage, name: str) -> None:
    seen = stage.see(script(name, raising))
    stopped(seen, expected(name))
    assert seen.phases[-1] == CALLBACKS[name]
    assert "scripted failure" in str(seen.of("phase_end")[-1]["detail"])
    assert seen.asked[-1] == "close"


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_callback_that_tries_to_end_the_program_ends_the_run_on_record(stage: Stage, name: str) -> None:
    def leaving(*_: object) -> object:
        raise SystemExit(3)

    stopped(stage.see(script(name, leaving)), expected(name))


class Unspeakable(Exception):
    """An exception with a bug of its own."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize("name", CALLBACKS)
def test_an_exception_that_cannot_be_told_ends_the_run_on_record_all_the_same(stage: Stage, name: str) -> None:
    def failing(*_: object) -> object:
        raise Unspeakable

    seen = stage.see(script(name, failing))
    stopped(seen, expected(name))
    assert "Unspeakable: <exception str() failed>" in str(seen.of("phase_end")[-1]["detail"])


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", CALLBACKS)
def test_a_value_of_another_kind_is_never_passed_on(stage: Stage, name: str, wrong: str) -> None:
    seen = stage.see(script(name, WRONG[wrong]))
    stopped(seen, expected(name))
    assert seen.phases[-1] == CALLBACKS[name]
    assert seen.of("activation") == []


@pytest.mark.parametrize("name", ["accept_task", "verify_regression", "verify_reproducer", "confirm_observation"])
def test_a_check_that_hangs_has_failed_and_the_run_goes_on(stage: Stage, name: str) -> None:
    """It has a deadline of its own."""
    stage.patience = replace(QUICK, check_ms=50, grace_ms=20)
    stage.limits = replace(LIMITS, max_repair_attempts=1)
    seen = stage.see(script(name, hanging))
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert len(seen.of("activation")) == (name == "accept_task"), "never a pass"
    assert "timed-out" in [end["status"] for end in seen.of("phase_end")]


def test_an_activation_that_hangs_is_none(stage: Stage) -> None:
    stage.patience = replace(QUICK, check_ms=50, grace_ms=20)
    seen = stage.see(script("activate_harness", hanging))
    stopped(seen, StopReason.ACTIVATION_FAILED)
    assert seen.of("activation") == []


@pytest.mark.parametrize("name", CALLBACKS)
@pytest.mark.parametrize("entry", [hanging, until_aborted])
def test_the_end_of_the_runs_time_ends_any_phase(stage: Stage, name: str, entry: object) -> None:
    stage.limits = replace(LIMITS, max_runtime_ms=700)
    stage.patience = replace(QUICK, grace_ms=100)
    seen = stage.see(script(name, entry))
    stopped(seen, StopReason.RUNTIME_LIMIT)
    assert seen.asked[-1] == "close"
    if name in WORKERS and seen.phases[-1] == CALLBACKS[name]:
        assert seen.asked[-2] == "settle", "what was cut off is billed too"
        assert seen.of("charge")[-1]["state"] == "settled"


@pytest.mark.parametrize("entry", [stubborn, blocking])
def test_a_callback_that_cannot_be_ended_keeps_nothing_from_its_record(stage: Stage, entry: object) -> None:
    """It swallows its cancellation, or blocks its whole thread; the supervisor has its own."""
    stage.patience = replace(QUICK, check_ms=50, grace_ms=20, cancel_ms=50, close_ms=100)
    seen = stage.see(script("accept_task", entry))
    stopped(seen, StopReason.CLEANUP_FAILED)
    assert "could not be ended" in str(seen.records[-1][1]["detail"])


def test_a_bill_that_never_comes_is_unknown(stage: Stage) -> None:
    stage.patience = replace(QUICK, settle_ms=50, grace_ms=20)
    stopped(stage.see({"settle": [hanging]}), StopReason.UNKNOWN_CHARGE)


@pytest.mark.parametrize("entry", [raising, hanging])
def test_a_driver_that_cannot_be_closed_outweighs_an_orderly_end_only(stage: Stage, entry: object) -> None:
    stage.patience = replace(QUICK, close_ms=50, grace_ms=20)
    stopped(stage.see({"close": [entry]}), StopReason.CLEANUP_FAILED)
    here = Stage(folder=stage.folder / "more", patience=stage.patience)
    here.folder.mkdir(mode=0o700)
    stopped(here.see({"close": [entry], "run_task": [raising]}), StopReason.DRIVER_ERROR)


SIGNALS = {signal.SIGINT: StopReason.SIGINT, signal.SIGTERM: StopReason.SIGTERM}


def signalled(*numbers: signal.Signals, then: object = until_aborted) -> Callable[..., object]:
    """Return an entry that sends signals to this process, each after the one before was taken, then waits as told."""

    async def send(context: PhaseContext, *more: object) -> object:
        """Send them in order: the kernel may hand out two at once in any order."""
        for place, number in enumerate(numbers):
            if place:
                await context.abort.wait()
            os.kill(os.getpid(), number)
        value: object = then(context, *more) if callable(then) else then
        return await cast("Awaitable[object]", value) if isinstance(value, Awaitable) else value

    return send


@pytest.mark.parametrize("name", CALLBACKS)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_phase_bills_it_and_closes_the_ledger(
    stage: Stage, name: str, number: signal.Signals
) -> None:
    """The callback ends by itself when its abort is set."""
    seen = stage.see(script(name, signalled(number)))
    stopped(seen, SIGNALS[number])
    assert seen.phases[-1] == CALLBACKS[name]
    assert seen.of("phase_end")[-1]["status"] == "aborted"
    assert seen.asked[-1] == "close"
    if name in WORKERS:
        assert seen.asked[-2] == "settle"
        assert seen.of("charge")[-1]["microusd"] == 1_000
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL), "put back"


def test_an_activation_that_a_signal_came_into_is_not_done(stage: Stage) -> None:
    """Even if the driver goes on and returns a runtime: no worker will get it."""
    revision = HarnessRevision(commit=commit_of(2), runtime_id="sha256:new")
    seen = stage.see(script("activate_harness", signalled(signal.SIGINT, then=revision)))
    stopped(seen, StopReason.SIGINT)
    assert seen.records[-1][1]["harness"] == {"commit": "a" * 40, "runtime_id": "sha256:first"}


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_second_signal_takes_the_grace_away_and_nothing_else(stage: Stage, name: str) -> None:
    """With an hour of grace only the second signal lets this test end."""
    stage.patience = replace(QUICK, grace_ms=3_600_000)
    seen = stage.see(script(name, signalled(signal.SIGINT, signal.SIGTERM, then=hanging)))
    stopped(seen, StopReason.SIGINT)
    assert seen.asked[-1] == "close"
    if name in WORKERS:
        assert seen.of("charge")[-1]["state"] == "settled"


def test_a_signal_with_an_unknown_charge_says_both(stage: Stage) -> None:
    seen = stage.see({"run_task": [signalled(signal.SIGTERM)], "settle": [raising]})
    stopped(seen, StopReason.SIGTERM)
    assert seen.records[-1][1]["unknown_charges"] == 1


@pytest.mark.parametrize("name", ["factory", "worker_paths"])
def test_a_signal_before_the_ledger_makes_none(stage: Stage, name: str) -> None:
    if name == "worker_paths":
        ended = stage.play({"worker_paths": [lambda: os.kill(os.getpid(), signal.SIGTERM) or hanging()]})
        assert ended.reason is StopReason.SIGTERM
        assert ended.close is None
    assert list(stage.folder.iterdir()) == []


@pytest.mark.parametrize(
    "entry", [raising, None, ["/a"], ("relative",), (Path("relative"),), "text", lambda: settled(1)]
)
def test_a_driver_that_cannot_say_what_workers_reach_makes_no_ledger(stage: Stage, entry: object) -> None:
    with pytest.raises(BadRequest) as caught:
        stage.play({"worker_paths": [entry]})
    assert caught.value.code == "DRIVER_INVALID"
    assert list(stage.folder.iterdir()) == []


def test_a_full_disk_in_the_middle_ends_the_run_as_a_failure_of_the_ledger(stage: Stage) -> None:
    """The ledger is taken from below the run, so that nothing can be written there any more."""

    def taking(*_: object) -> object:
        """Put something else where the ledger was."""
        stage.ledger.rename(stage.folder / "moved.jsonl")
        stage.ledger.write_text("something else")
        return worked(candidate=OTHER)

    ended = stage.play({"run_task": [taking]})
    assert ended.reason is StopReason.LEDGER_FAILURE
    assert stage.ledger.read_text() == "something else"


@pytest.mark.parametrize("point", [point for point in Point if point is not Point.RUN_CLOSED])
def test_a_slip_of_the_supervisor_itself_is_on_record_wherever_it_happens(stage: Stage, point: Point) -> None:
    def failing(here: Point) -> None:
        """Fail where a bug of ours might."""
        if here is point:
            raise ZeroDivisionError("planted")

    stage.at = failing
    found = worked(candidate=commit_of(70), observations=(finding(),), transient="network")
    refused = Verdict(kind=VerdictKind.ACCEPTANCE, commit=commit_of(70), passed=False)
    nothing = worked(candidate=None, base=stage.harness.commit)
    seen = stage.see(
        {"run_task": [replace(found, wait_ms=1)], "accept_task": [refused], "run_repair": [nothing]},
    )
    late = point is Point.DRIVER_CLOSED
    stopped(seen, StopReason.CLEANUP_FAILED if late else StopReason.SUPERVISOR_ERROR)
    assert "ZeroDivisionError: planted" in str(seen.records[-1][1]["detail"])
    assert seen.asked[-1] == "close"
    within = point in (Point.PHASE_STARTED, Point.ANSWERED, Point.CHARGED)
    assert [start.phase for start in seen.verification.open_phases] == (["p1"] if within else [])


def test_a_confirmation_of_another_commits_runs_is_a_slip(stage: Stage) -> None:
    said = Confirmation(confirmed=True, why="yes", reproducer="c" * 64, runs=runs(OTHER, False))
    stopped(stage.see(script("confirm_observation", said)), StopReason.DRIVER_ERROR)
