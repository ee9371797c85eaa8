"""Recorded sessions of five agent programs as typed events, played with the times that they were printed with."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from workloop.domain.clock import Instant
from workloop.domain.session import SessionEvent
from workloop.runner.harness.claude.stream import ClaudeReader, Identity
from workloop.runner.harness.codex.execmode import ExecReader
from workloop.runner.harness.copilot.stream import CopilotReader
from workloop.runner.harness.opencode.stream import OpencodeReader
from workloop.runner.harness.port import LaunchRequest, StreamReader
from workloop.runner.harness.qwen.stream import QwenReader
from workloop.runner.signatures import load_signatures

RECORDINGS = Path(__file__).parents[2] / "recordings"
HARNESSES = ("claude", "codex", "copilot", "opencode", "qwen")
NOWHERE = Path("/nonexistent")
SLEPT_US = 5_000_000
PRINTED_US = 10_000


def names_of(harness: str) -> list[str]:
    """Return the sessions that were recorded of a program and can be read by themselves."""
    known: dict[str, dict[str, Any]] = json.loads((RECORDINGS / harness / "expected.json").read_text())
    return [name for name, case in known.items() if case.get("mode", "exec") == "exec"]


def recorded(harness: str, name: str, session_id: str = "session-1") -> list[SessionEvent]:
    """Read a recording with its program's adapter."""
    data = (RECORDINGS / harness / f"{name}.jsonl").read_bytes()
    fold, events, arrival = reader_of(harness, session_id), list[SessionEvent](), 0
    for line in data.split(b"\n"):
        arrival = max(arrival, printed_at(line, arrival))
        events += fold.feed(line, arrival)
    return [*events, *fold.finish(0, None, "").events]


def reader_of(harness: str, session_id: str) -> StreamReader:
    """Make a program's reader."""
    rules = load_signatures(harness)
    match harness:
        case "claude":
            return ClaudeReader(Identity(session_id=session_id, server="work", resume_id=None), rules)
        case "codex":
            return ExecReader(request(session_id), rules, NOWHERE, server="work")
        case "copilot":
            return CopilotReader(session_id, rules, server="work", resume_id=session_id)
        case "opencode":
            return OpencodeReader(session_id, rules, servers=("work",), own="work", resume_id=None)
        case _:
            return QwenReader(session_id, rules, server="work", resume_id=None)


def request(session_id: str) -> LaunchRequest:
    """Return what Codex's reader wants to know of the start."""
    return LaunchRequest(
        prompt="do it",
        cwd=NOWHERE,
        session_dir=NOWHERE,
        session_id=session_id,
        environment={"TZ": "UTC"},
        started_at=Instant(0),
    )


def printed_at(line: bytes, before: int) -> int:
    """Return when a line was printed; of programs that do not say it, a little after the one before, or a sleep."""
    try:
        fields = json.loads(line)
    except ValueError:
        return before
    stamp = fields.get("timestamp") if isinstance(fields, dict) else None
    if isinstance(stamp, int):
        return stamp * 1_000
    if isinstance(stamp, str):
        return round(datetime.fromisoformat(stamp).timestamp() * 1_000_000)
    return before + (SLEPT_US if b"slept" in line else PRINTED_US)
