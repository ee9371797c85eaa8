"""What a session has to show for its harness to be looked into, and what is never held against that."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_bench_sessions import PATIENT, Place
from walls import NEEDS_WALLS

from repair_stage import LIMITS, Seen, Stage, records_of, stopped
from workloop.repair.ledger.records import StopReason
from workloop.repair.ledger.verifying import verify
from workloop.repair.observations.finding import ObservationKind
from workloop.repair.observations.reading import read_events
from workloop.repair.port import PhaseContext, SessionOrder, WorkerResult, by_meter
from workloop.testing.scripted_driver import ScriptedDriver, worked

pytestmark = NEEDS_WALLS
MINUTES = 60_000_000
Event = dict[str, Any]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Open a place for one test."""
    with ExitStack() as stack:
        yield Place(tmp_path, stack)


def call(
    tool: str, result: str, *, kind: str = "mcp", took_us: int = 1_000, number: int = 1, **more: object
) -> list[Event]:
    """Return the events of one call of a tool."""
    name = {"call_id": f"{tool}-{result}-{number}", "name": tool}
    ended = {"type": "tool_result", **name, "class": result, "took_us": took_us, **more}
    return [{"type": "tool_call", **name, "kind": kind}, ended]


def see(place: Place, *events: Event) -> Seen:
    """Run a campaign of one task whose session does all of this, and whose driver takes the host's own word for it."""

    async def run_task(context: PhaseContext, task: object) -> WorkerResult:
        order = SessionOrder(harness="worker", prompt=f"do {json.dumps(events)}", cwd=place.work)
        report = await context.run_session(order)
        read = read_events(context.evidence_dir / "session-1-events.jsonl", report.session_id)
        return replace(worked(candidate=None, observations=read.observations() or ()), charge=by_meter())

    limits = replace(LIMITS, max_task_attempts=1, max_spend_microusd=PATIENT)
    stage = Stage(folder=place.bench, limits=limits, means=place.means)
    driver = ScriptedDriver(script={"run_task": [run_task], "settle": [by_meter()]}, reachable=(place.work,))
    ended = stage.run(driver)
    return Seen(ended, records_of(stage.ledger), verify(stage.ledger), driver)


NO_FAULT: dict[str, list[Event]] = {
    "a denied command": [event for n in range(10) for event in call("bash", "refused", kind="shell", number=n)],
    "a refused tool": [event for n in range(10) for event in call("search", "refused", number=n)],
    "a denial": [{"type": "denied", "call_id": f"d{n}", "name": "bash"} for n in range(10)],
    "a failing test": [event for n in range(10) for event in call("bash", "command_nonzero", kind="shell", number=n)],
    "wrong arguments": [event for n in range(10) for event in call("search", "model_argument", number=n)],
    "no infrastructure": [event for n in range(10) for event in call("search", "infrastructure", number=n)],
    "nobody knows": [event for n in range(10) for event in call("search", "unknown", number=n)],
    "a withheld tool": call("bash", "missing_tool", kind="shell"),
    "a slow provider": [
        {"type": "retrying", "attempt": 3, "reason": "overloaded", "delay_us": 10 * MINUTES},
        {"type": "usage", "input": 9, "output": 9},
        *call("search", "ok"),
    ],
    "a session in the session": call("task", "ok", took_us=60 * MINUTES),
    "a question to a person": call("ask_user", "ok", took_us=60 * MINUTES),
    "a slow command": call("bash", "ok", kind="shell", took_us=60 * MINUTES),
    "no end of a call": call("search", "tool_fault")[:1],
    "an end without a call": call("search", "tool_fault")[1:],
}


@pytest.mark.parametrize("what", NO_FAULT)
def test_what_is_no_fault_of_the_harness_begins_no_repair(place: Place, what: str) -> None:
    seen = see(place, *NO_FAULT[what])
    stopped(seen, StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    assert seen.of("observation") == []
    assert seen.phases == ["task"]


FAULTS: dict[ObservationKind, list[Event]] = {
    ObservationKind.TOOL_ERROR: call("search", "tool_fault"),
    ObservationKind.MISSING_TOOL: call("search", "missing_tool"),
    ObservationKind.SLOW_TOOL: call("search", "ok", took_us=3 * MINUTES),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_a_tool_is_looked_into_and_its_record_points_at_the_lines_that_show_it(
    place: Place, kind: ObservationKind
) -> None:
    seen = see(place, *call("other", "ok"), *FAULTS[kind])
    stopped(seen, StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    (found,) = seen.of("observation")
    assert (found["kind"], found["subject"], found["source"]) == (kind.value, "search", "events")
    assert seen.phases[:2] == ["task", "confirmation"]
    lines = (
        (place.bench / "run.jsonl.evidence" / "p1" / "session-1-events.jsonl").read_bytes().splitlines(keepends=True)
    )
    shown = b"".join(line for line in lines if b'"search"' in line)
    assert found["evidence"] == [hashlib.sha256(shown).hexdigest()]
