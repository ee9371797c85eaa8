"""Sessions of a bench run under the supervisor: what it enforces by itself, and how it finds out that it did not."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from walls import NEEDS_WALLS

import metered_worker
from repair_stage import LIMITS, Seen, Stage, records_of, stopped
from workloop.config import DriverConfig, HarnessConfig, HarnessKind, NetworkWish, SandboxConfig, SandboxWish
from workloop.config.meter import MeterConfig, Metering, ModelPrice
from workloop.repair.ledger.records import StopReason
from workloop.repair.ledger.verifying import verify
from workloop.repair.port import (
    Charge,
    HarnessRevision,
    PhaseContext,
    SessionOrder,
    SessionReport,
    WorkerResult,
    by_meter,
    settled,
)
from workloop.repair.sessions.means import Means
from workloop.runner.process import StopLadder
from workloop.store.system import SystemClock
from workloop.testing.gitrepo import scratch_repository
from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Say, Scenario
from workloop.testing.model_server import ModelServer
from workloop.testing.scripted_driver import ScriptedDriver, commit_of, worked
from workloop.wiring.repairing import worker_means
from workloop.wiring.runtimes import runtime_store

pytestmark = NEEDS_WALLS
CALL = 460_000
PRICES = {"scripted": ModelPrice(input=1_000_000_000, output=1_000_000_000, cache_read=0, cache_write=0)}
CUT = SandboxConfig(kind=SandboxWish.BWRAP, network=NetworkWish.LOOPBACK, checks_network=NetworkWish.NONE)
PATIENT = 10_000_000
Callback = Callable[[PhaseContext, "Place"], object]


class Place:
    """A bench whose one agent is a program of ours, with a model on loopback behind the meter."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.bench = folder / "bench"
        for each in (self.work, self.bench, folder / "loop", folder / "home"):
            each.mkdir(mode=0o700)
        key = folder / "provider.key"
        key.write_text("sk-of-the-operator-0123456789abcdef")
        key.chmod(0o600)
        self.asked: Callable[[], None] = lambda: None
        self.model = stack.enter_context(ModelServer(self.answer))
        block = HarnessConfig(
            kind=HarnessKind.COMMAND,
            command=(sys.executable, metered_worker.__file__),
            meter=Metering(key=f"@{key}", anthropic_url=self.model.url),
        )
        config = DriverConfig(
            harness="worker", harnesses={"worker": block}, sandbox=CUT, meter=MeterConfig(prices=PRICES)
        )
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        means = stack.enter_context(worker_means(config, folder / "loop", self.environment, SystemClock()))
        ladder = StopLadder(interrupt_seconds=0.2, terminate_seconds=0.2, kill_seconds=3.0)
        self.means: Means = replace(means, ladder=ladder)

    def answer(self, conversation: Conversation) -> Scenario:
        """Have somebody told of a call before it is answered."""
        self.asked()
        return [Say("ok")]

    async def session(self, context: PhaseContext, prompt: str) -> SessionReport:
        """Have one session run."""
        return await context.run_session(SessionOrder(harness="worker", prompt=prompt, cwd=self.work))

    def see(self, *prompts: str, bill: Charge | None = None, beside: Callback | None = None, **stage: object) -> Seen:
        """Run a campaign of one task whose worker has these sessions, and something beside them."""

        async def run_task(context: PhaseContext, task: object) -> WorkerResult:
            for prompt in prompts:
                await self.session(context, prompt)
            if beside is not None:
                beside(context, self)
            return replace(worked(candidate=commit_of(1)), charge=bill or by_meter())

        limits = replace(LIMITS, max_task_attempts=1, max_spend_microusd=PATIENT)
        made = replace(Stage(folder=self.bench, limits=limits, means=self.means), **stage)
        settle: list[object] = [bill or by_meter()]
        driver = ScriptedDriver(script={"run_task": [run_task], "settle": settle}, reachable=(self.work,))
        ended = made.run(driver)
        return Seen(ended, records_of(made.ledger), verify(made.ledger), driver)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Open a place for one test."""
    with ExitStack() as stack:
        yield Place(tmp_path, stack)


def enforced(seen: Seen) -> object:
    """Return who kept the first phase's limits, by its record."""
    return seen.of("phase_end")[0]["enforced_by"]


def told(seen: Seen) -> str:
    """Return why limits were not the supervisor's to keep."""
    return " ".join(str(note["text"]) for note in seen.of("note") if note["topic"] == "not-enforced")


def test_phase_whose_sessions_all_ran_here_is_enforced_by_the_supervisor_and_costs_what_was_metered(
    place: Place,
) -> None:
    seen = place.see("call 2", "call 1")
    stopped(seen, StopReason.QUEUE_COMPLETE)
    charge = seen.of("charge")[0]
    assert (charge["state"], charge["microusd"], charge["basis"]) == ("settled", 3 * CALL, "metered")
    assert enforced(seen) == "supervisor", told(seen)
    assert len(place.model.requests) == 3
    kept = " ".join(str(each["name"]) for each in seen.of("evidence"))
    assert "p1/session-1-" in kept
    assert "p1/session-2-" in kept


def test_session_that_spoke_past_the_meter_leaves_an_unknown_charge_that_stops_the_run(place: Place) -> None:
    seen = place.see("talk")
    stopped(seen, StopReason.UNKNOWN_CHARGE)
    assert "went round the meter" in seen.ended.detail
    assert enforced(seen) == "driver"


def test_money_that_ends_in_the_middle_of_a_session_ends_its_calls_and_the_run(place: Place) -> None:
    limits = replace(LIMITS, max_spend_microusd=2 * CALL + 100_000)
    seen = place.see("call 9", limits=limits)
    stopped(seen, StopReason.SPEND_LIMIT)
    assert (len(place.model.requests), seen.of("charge")[0]["microusd"]) == (2, 2 * CALL)
    assert enforced(seen) == "supervisor", told(seen)


def started_a_worker(context: PhaseContext, place: Place) -> None:
    """Start a program beside the sessions."""
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def lent_the_meter(context: PhaseContext, place: Place) -> None:
    """Take the meter for a worker of one's own."""
    assert context.meter("worker") is not None


def asked_git(context: PhaseContext, place: Place) -> None:
    """Look at a repository."""
    subprocess.run(["git", "--version"], check=True, capture_output=True)


@pytest.mark.parametrize("beside", [started_a_worker, lent_the_meter])
def test_driver_that_has_a_worker_of_its_own_beside_its_sessions_is_not_enforced_by_the_supervisor(
    place: Place, beside: Callback
) -> None:
    seen = place.see("call 1", beside=beside)
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert enforced(seen) == "driver"
    assert told(seen)


def test_git_beside_the_sessions_is_no_worker(place: Place) -> None:
    assert enforced(place.see("call 1", beside=asked_git)) == "supervisor"


def test_bill_above_the_meter_s_is_booked_and_tells_of_another_way(place: Place) -> None:
    seen = place.see("call 1", bill=settled(CALL + 1, "the provider's own"))
    assert seen.of("charge")[0]["microusd"] == CALL + 1
    assert enforced(seen) == "driver"


def test_driver_without_sessions_is_never_enforced_by_the_supervisor(place: Place) -> None:
    assert enforced(place.see()) == "driver"


def test_end_of_the_time_ends_a_session_with_a_grandchild_that_ignores_it(place: Place) -> None:
    mark = f"grandchild-{uuid4()}"
    seen = place.see(f"stay {mark}", limits=replace(LIMITS, max_runtime_ms=4_000, max_spend_microusd=PATIENT))
    assert seen.ended.reason in {StopReason.RUNTIME_LIMIT, StopReason.UNKNOWN_CHARGE}, seen.ended
    assert "could not be ended" not in seen.ended.detail
    assert len(place.model.requests) == 1, "the session was well under way"
    assert not [each for each in psutil.process_iter(["cmdline"]) if mark in (each.info["cmdline"] or [])]


def built(place: Place) -> tuple[HarnessRevision, Path]:
    """Build a runtime; returns it and a file of it."""
    repository = scratch_repository(place.folder / "harness")
    commit = repository.commit({"skill.md": "be careful"}, "a harness")
    runtime = runtime_store(place.environment).build(repository.path, commit)
    return HarnessRevision(commit=commit, runtime_id=runtime.id), runtime.path / "skill.md"


def test_session_reads_the_runtime_in_force(place: Place) -> None:
    harness, _ = built(place)
    seen = place.see("read skill.md", harness=harness)
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert enforced(seen) == "supervisor", told(seen)


def test_runtime_with_a_changed_file_refuses_the_session_and_names_the_file(place: Place) -> None:
    harness, file = built(place)
    file.chmod(0o600)
    file.write_text("be careless")
    seen = place.see("read skill.md", harness=harness)
    stopped(seen, StopReason.DRIVER_ERROR)
    assert "skill.md" in seen.ended.detail
    assert place.model.requests == ()
