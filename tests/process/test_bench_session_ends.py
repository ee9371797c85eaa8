"""Sessions under the supervisor that go wrong at their provider, flood, or are given an odd prompt."""

import asyncio
import gzip
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from test_bench_sessions import CALL, PATIENT, Place
from walls import NEEDS_WALLS

from repair_stage import LIMITS, QUICK, Seen, Stage, records_of, stopped
from workloop.domain.session import SessionClass
from workloop.repair.config import PROMPT_CHARACTERS_MAX
from workloop.repair.ledger.records import StopReason
from workloop.repair.ledger.verifying import verify
from workloop.repair.observations.reading import FILE_BYTES_MAX
from workloop.repair.port import PhaseContext, WorkerResult, by_meter
from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Cut, Fail, Hang, Move, Say, Scenario
from workloop.testing.scripted_driver import ScriptedDriver, commit_of, worked

pytestmark = NEEDS_WALLS
BUSY = Fail(status=529, kind="overloaded_error", message="Overloaded")
PACKED_MAX = 4_000_000


class Moody(Place):
    """A place whose model does one thing after another, and the last of them ever after."""

    moves: tuple[Move, ...] = (Say("ok"),)
    calls = 0

    def answer(self, conversation: Conversation) -> Scenario:
        """Return the next move."""
        self.calls += 1
        self.asked()
        return [self.moves[min(self.calls, len(self.moves)) - 1]] * 9

    def run(self, run_task: object) -> Seen:
        """Run a campaign of one task whose worker does as it likes."""
        limits = replace(LIMITS, max_task_attempts=1, max_spend_microusd=PATIENT)
        stage = Stage(folder=self.bench, limits=limits, means=self.means)
        script: dict[str, list[object]] = {"run_task": [run_task], "settle": [by_meter()]}
        driver = ScriptedDriver(script=script, reachable=(self.work,))
        return Seen(stage.run(driver), records_of(stage.ledger), verify(stage.ledger), driver)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Moody]:
    """Open a place for one test."""
    with ExitStack() as stack:
        yield Moody(tmp_path, stack)


def outputs(place: Place) -> dict[str, bytes]:
    """Return what a run kept of its first phase by name, unpacked."""
    folder = place.bench / "run.jsonl.evidence" / "p1"
    held = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in held.items()}


def test_calls_before_one_that_the_provider_refused_are_billed_and_that_one_is_not(place: Moody) -> None:
    place.moves = (Say("ok"), Say("ok"), BUSY)
    seen = place.see("call 3")
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert (seen.of("charge")[0]["state"], seen.of("charge")[0]["microusd"]) == ("settled", 2 * CALL)
    assert len(place.model.requests) == 3


def test_a_call_that_breaks_off_may_have_been_paid_so_that_nothing_more_begins(place: Moody) -> None:
    place.moves = (Say("ok"), Cut())
    seen = place.see("call 2", tasks=("one", "two"))
    stopped(seen, StopReason.UNKNOWN_CHARGE)
    assert seen.phases == ["task"]
    assert seen.of("charge")[0]["state"] == "unknown"


def unanswered(seen: Seen, place: Moody) -> None:
    """Hold that a call which was aborted is on the books as one that nobody can price."""
    assert seen.phases == ["task"]
    assert seen.of("charge")[0]["state"] == "unknown"
    assert seen.records[-1][1]["unknown_charges"] == 1
    assert len(place.model.requests) == 1


def test_a_call_that_the_end_of_the_time_cut_off_is_on_the_books(place: Moody) -> None:
    place.moves = (Hang(),)
    seen = place.see("call 1", limits=replace(LIMITS, max_runtime_ms=8_000, max_spend_microusd=PATIENT))
    stopped(seen, StopReason.UNKNOWN_CHARGE)
    unanswered(seen, place)


def test_a_call_that_a_signal_cut_off_is_on_the_books(place: Moody) -> None:
    place.moves = (Hang(),)
    place.asked = lambda: os.kill(os.getpid(), signal.SIGTERM)
    seen = place.see("call 1")
    stopped(seen, StopReason.SIGTERM)
    unanswered(seen, place)


def test_a_worker_that_floods_is_kept_within_bounds_and_costs_what_it_asked(place: Moody) -> None:
    """More of each stream than a file of events may hold; streams are packed, or of them the end is kept."""
    seen = place.see("flood 70")
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert seen.of("charge")[0]["microusd"] == CALL
    sizes = {str(kept["name"]): kept["size_bytes"] for kept in seen.of("evidence")}
    assert len(sizes) == 3
    for name, size in sizes.items():
        assert isinstance(size, int)
        assert size <= (FILE_BYTES_MAX if name.endswith("-events.jsonl") else PACKED_MAX), name


ODD_PROMPTS = {
    "shell": "repeat $(touch owned) `id` ; rm -rf ~ && echo 'it''s' \"done\" | sh",
    "controls": "repeat \x1b[2J\x1b]0;title\x07\r\n\ttab {brief} %s {0}",
    "words": "repeat ünïcödé 日本 \U0001f9f0 \u202e back",
    "long": "repeat " + "p" * (PROMPT_CHARACTERS_MAX - 7),
}


@pytest.mark.parametrize("kind", ODD_PROMPTS)
def test_a_prompt_reaches_a_worker_as_it_is_and_no_shell(place: Moody, kind: str) -> None:
    seen = place.see(ODD_PROMPTS[kind])
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert (place.work / "brief.copy").read_bytes() == ODD_PROMPTS[kind].encode()
    assert sorted(path.name for path in place.work.iterdir()) == ["brief.copy"]


def test_a_worker_sees_neither_the_operator_s_key_nor_a_way_past_the_meter(place: Moody) -> None:
    stopped(place.see("show"), StopReason.QUEUE_COMPLETE)
    printed = b"".join(outputs(place).values())
    assert b"ANTHROPIC_API_KEY=" in printed
    assert b"sk-of-the-operator" not in printed
    assert f":{place.model.port}".encode() not in printed


def test_no_session_begins_once_its_phase_was_aborted(place: Moody) -> None:
    """A driver that goes on to its next session, as if nothing had happened, is told that the phase is over."""
    place.asked = lambda: os.kill(os.getpid(), signal.SIGTERM) if place.calls == 1 else None
    seen = place.see("call 1", "call 1", patience=replace(QUICK, grace_ms=20_000))
    stopped(seen, StopReason.SIGTERM)
    assert len(place.model.requests) == 1
    assert [str(kept["name"]) for kept in seen.of("evidence") if "session-2" in str(kept["name"])] == []
    assert "PHASE_OVER" in str(seen.of("phase_end")[0]["detail"])


def test_a_session_that_its_driver_gave_up_takes_no_other_with_it(place: Moody) -> None:
    """The first hangs at its model and is cancelled while the second waits for its answer, which it then gets."""
    both, gone = threading.Event(), threading.Event()
    place.moves = (Hang(), Say("ok"))

    def asked() -> None:
        """Let the second one wait until the first is given up."""
        if place.calls == 2:
            both.set()
            gone.wait(30)

    async def run_task(context: PhaseContext, task: object) -> WorkerResult:
        given_up = asyncio.ensure_future(place.session(context, "call 1"))
        while not place.calls:
            await asyncio.wait((given_up,), timeout=0.02)
        going_on = asyncio.ensure_future(place.session(context, "call 1"))
        await asyncio.to_thread(both.wait, 30)
        given_up.cancel()
        await asyncio.wait((given_up,))
        gone.set()
        ended.append((await going_on).session_class)
        return replace(worked(candidate=commit_of(1)), charge=by_meter())

    ended: list[SessionClass] = []
    place.asked = asked
    seen = place.run(run_task)
    assert ended == [SessionClass.CLEAN]
    assert seen.of("phase_end")[0]["status"] == "completed"
    assert seen.of("charge")[0]["state"] == "unknown", "the call that was given up may have cost something"
