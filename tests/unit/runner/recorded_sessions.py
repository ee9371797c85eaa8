"""How a recorded session is read again by an adapter, whole or in pieces."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloop.domain.session import (
    Conclusion,
    Limit,
    SessionClass,
    SessionEvent,
    Tokens,
    ToolResult,
    Unrecognised,
    Usage,
    kind_of,
)
from workloop.runner.framing import LineSplitter, OverlongLine
from workloop.runner.harness.port import StreamReader

RECORDINGS = Path(__file__).parents[2] / "recordings"
Expected = dict[str, dict[str, Any]]
WHOLE = 65_536


@dataclass
class Replay:
    """A recording as the adapter understood it."""

    events: list[SessionEvent]
    conclusion: Conclusion

    def only(self, kind: str) -> list[SessionEvent]:
        return [event for event in self.events if kind_of(event) == kind]

    def results_of(self, name: str) -> list[ToolResult]:
        return [event for event in self.events if isinstance(event, ToolResult) and event.name == name]

    @property
    def tokens(self) -> list[int]:
        usage = [event for event in self.events if isinstance(event, Usage)]
        total = sum((event.tokens for event in usage), Tokens())
        return [total.input, total.output, total.cache_read, total.cache_write]

    @property
    def cost_micros(self) -> int | None:
        costs = [event.cost_micros for event in self.events if isinstance(event, Usage)]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known else None


def expected_of(cli: str) -> Expected:
    """Return what is known of each recording by other means than the adapter."""
    return json.loads((RECORDINGS / cli / "expected.json").read_text())


def data_of(cli: str, name: str) -> bytes:
    """Return the bytes of one recording."""
    return (RECORDINGS / cli / f"{name}.jsonl").read_bytes()


def read_again(reader: StreamReader, data: bytes, case: dict[str, Any], *, chunk: int = WHOLE) -> Replay:
    """Feed the bytes in pieces and end the session as it ended then."""
    splitter, events = LineSplitter(), list[SessionEvent]()
    pieces = [data[start : start + chunk] for start in range(0, len(data), chunk)]
    lines = [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish()
    for arrival, line in enumerate(lines):
        assert not isinstance(line, OverlongLine)
        events += reader.feed(line, arrival)
    ending = reader.finish(case["exit_code"], case["signal"], case["stderr"])
    return Replay([*events, *ending.events], ending.conclusion)


def check_recorded(cli: str, name: str, case: dict[str, Any], make: Callable[[], StreamReader]) -> Replay:
    """Compare one recording with all that is known of it, and with itself in pieces."""
    seen = read_again(make(), data_of(cli, name), case)
    reset, conclusion = case["reset_at_seconds"], seen.conclusion
    assert conclusion.session_class == case["class"], conclusion
    assert conclusion.reset_at == (None if reset is None else reset * 1_000_000)
    assert conclusion.final_text == case["final_text"]
    assert conclusion.resume_id == case["resume_id"]
    assert seen.tokens == case["tokens"]
    assert seen.cost_micros == case["cost_micros"]
    assert not [event for event in seen.events if isinstance(event, Unrecognised)]
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))
    assert len(seen.only("denied")) == case["denials"]
    assert bool([event for event in seen.events if isinstance(event, Limit)]) == (case["class"] == "limited")
    return seen


def check_cut_at_every_byte(cli: str, name: str, case: dict[str, Any], reader: Callable[[], StreamReader]) -> None:
    """Demand that a recording means the same however its bytes arrive."""
    data = data_of(cli, name)
    whole, cut = read_again(reader(), data, case), read_again(reader(), data, case, chunk=1)
    assert cut.conclusion == whole.conclusion
    assert [kind_of(event) for event in cut.events] == [kind_of(event) for event in whole.events]


def check_never_clean_when_killed(cli: str, name: str, reader: Callable[[], StreamReader]) -> None:
    """Demand that a recording cut after any line, and killed there, is judged and never clean before its end."""
    lines = data_of(cli, name).splitlines()
    for end in range(len(lines)):
        assert class_after(reader(), *lines[:end], exit_code=None, signal=9) is not SessionClass.CLEAN


def class_after(
    reader: StreamReader, *lines: bytes, exit_code: int | None = 0, signal: int | None = None, stderr: str = ""
) -> SessionClass:
    """Return the class of a session that printed some lines and ended so."""
    for each in lines:
        reader.feed(each, 0)
    return reader.finish(exit_code, signal, stderr).conclusion.session_class
