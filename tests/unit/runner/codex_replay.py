"""How recorded and written Codex streams are put through the adapter in tests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloop.domain.clock import Instant
from workloop.domain.session import Conclusion, SessionEvent, Tokens, Usage, kind_of
from workloop.runner.framing import LineSplitter, OverlongLine
from workloop.runner.harness.codex.appserver import AppServerReader
from workloop.runner.harness.codex.dialogue import Opening
from workloop.runner.harness.codex.execmode import ExecReader
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.signatures import load_signatures

RECORDINGS = Path(__file__).parents[2] / "recordings" / "codex"
EXPECTED: dict[str, dict[str, Any]] = json.loads((RECORDINGS / "expected.json").read_text())
SECOND = 1_000_000
NOWHERE = Path("/nonexistent")


@dataclass
class Replay:
    """A recording as the adapter understood it."""

    events: list[SessionEvent]
    conclusion: Conclusion

    def only(self, kind: str) -> list[SessionEvent]:
        return [event for event in self.events if kind_of(event) == kind]

    def tokens(self) -> Tokens:
        return sum((event.tokens for event in self.events if isinstance(event, Usage)), Tokens())


def reader(
    mode: str, *, server: str = "work", resume_id: str | None = None, started_at: int = 0, home: Path = NOWHERE
) -> AppServerReader | ExecReader:
    request = LaunchRequest(
        prompt="do it",
        cwd=NOWHERE,
        session_dir=NOWHERE,
        session_id="session-1",
        environment={"TZ": "UTC"},
        resume_id=resume_id,
        started_at=Instant(started_at * SECOND),
    )
    if mode == "exec":
        return ExecReader(request, load_signatures("codex"), home, server=server)
    opening = Opening(prompt="do it", resume_id=resume_id)
    return AppServerReader(request, load_signatures("codex"), opening, server=server)


def replay(name: str, *, chunk: int = 65_536, home: Path = NOWHERE) -> Replay:
    case = EXPECTED[name]
    fold = reader(
        case["mode"],
        resume_id=case["thread"] if case["resumed"] else None,
        started_at=case["started_at_seconds"],
        home=home,
    )
    splitter, events = LineSplitter(), list[SessionEvent]()
    data = (RECORDINGS / f"{name}.jsonl").read_bytes()
    pieces = [data[start : start + chunk] for start in range(0, len(data), chunk)]
    for arrival, line in enumerate([line for piece in pieces for line in splitter.feed(piece)] + splitter.finish()):
        assert not isinstance(line, OverlongLine)
        events += fold.feed(line, arrival)
    ending = fold.finish(case["exit_code"], case["signal"], case["stderr"])
    return Replay([*events, *ending.events], ending.conclusion)


def fed(fold: AppServerReader | ExecReader, *lines: dict[str, Any]) -> list[SessionEvent]:
    return [event for line in lines for event in fold.feed(json.dumps(line).encode(), 0)]


def write_rollout(home: Path, thread: str, *totals: int, resets_at: int | None = None) -> None:
    folder = home / "sessions" / "2026" / "11" / "29"
    folder.mkdir(parents=True, exist_ok=True)
    window = None if resets_at is None else {"used_percent": 100.0, "window_minutes": 300, "resets_at": resets_at}
    records = [
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {"total_token_usage": {"input_tokens": total, "cached_input_tokens": 100, "output_tokens": 7}},
                "rate_limits": {"primary": window, "secondary": None},
            },
        }
        for total in totals
    ]
    noise = {"type": "response_item", "payload": {"type": "function_call_output", "output": '"token_count" is a word'}}
    lines = [json.dumps(record) for record in [*records, noise]]
    (folder / f"rollout-2026-11-29T14-00-00-{thread}.jsonl").write_text("\n".join(lines) + "\n")
