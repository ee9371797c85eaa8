"""Recorded agents of the Agent Client Protocol, each read as what it did, whatever its way of saying it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from workloop.domain.session import (
    Conclusion,
    SessionEvent,
    Started,
    Tokens,
    ToolCall,
    ToolResult,
    Unrecognised,
    Usage,
    kind_of,
)
from workloop.runner.framing import LineSplitter, OverlongLine
from workloop.runner.harness.acp.dialogue import Opening
from workloop.runner.harness.acp.permission import Policy
from workloop.runner.harness.acp.servers import Server
from workloop.runner.harness.acp.stream import AcpReader
from workloop.runner.signatures import load_signatures

RECORDINGS = Path(__file__).parents[2] / "recordings" / "acp"
EXPECTED: dict[str, dict[str, Any]] = json.loads((RECORDINGS / "expected.json").read_text())
WORK = Server(name="work", command="work-mcp")


@dataclass
class Replay:
    """A recording as the adapter understood it, and what it said in return."""

    events: list[SessionEvent] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    conclusion: Conclusion | None = None

    def answers(self) -> list[str]:
        return [message["result"]["outcome"].get("optionId", "") for message in self.told if "result" in message]


def replay(name: str, *, chunk: int = 65_536, end: int | None = None, policy: Policy | None = None) -> Replay:
    opening = Opening(prompt="do it", cwd="/repo", others=(WORK,), policy=policy or Policy())
    reader, seen, splitter = AcpReader("session-1", opening, load_signatures("acp"), None), Replay(), LineSplitter()
    data = (RECORDINGS / f"{name}.jsonl").read_bytes()[:end]
    pieces = [data[start : start + chunk] for start in range(0, len(data), chunk)]
    said = reader.replies()
    for line in [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish():
        assert not isinstance(line, OverlongLine)
        seen.events += reader.feed(line, 0)
        said += reader.replies()
    ending = reader.finish(None, None, "")
    seen.events += ending.events
    seen.told = [json.loads(line) for line in said.splitlines()]
    seen.conclusion = ending.conclusion
    return seen


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_agent_gets_its_class_final_text_and_name_for_resuming(name: str) -> None:
    case, conclusion = EXPECTED[name], replay(name).conclusion
    assert conclusion is not None
    assert conclusion.session_class == case["class"]
    assert (conclusion.final_text, conclusion.resume_id) == (case["final_text"], case["resume_id"])
    assert conclusion.reset_at is None


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_agent_is_told_the_opening_the_servers_and_the_prompt_in_order(name: str) -> None:
    asked = [message for message in replay(name).told if "method" in message]
    assert [message["method"] for message in asked] == ["initialize", "session/new", "session/prompt"]
    assert asked[0]["params"]["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert asked[1]["params"]["mcpServers"] == [{"name": "work", "command": "work-mcp", "args": [], "env": []}]
    assert asked[2]["params"]["prompt"] == [{"type": "text", "text": "do it"}]


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_agent_s_tools_tokens_and_cost_are_known(name: str) -> None:
    case, events = EXPECTED[name], replay(name).events
    calls = {event.call_id: event for event in events if isinstance(event, ToolCall)}
    results = [event for event in events if isinstance(event, ToolResult)]
    assert [[event.name, calls[event.call_id].kind, event.result] for event in results] == case["tools"]
    usage = [event for event in events if isinstance(event, Usage)]
    total = sum((event.tokens for event in usage), Tokens())
    assert [total.input, total.output, total.cache_read, total.cache_write] == case["tokens"]
    costs = [event.cost_micros for event in usage if event.cost_micros is not None]
    assert (sum(costs) if costs else None) == case["cost_micros"]


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_agent_says_its_version_and_no_line_is_unknown(name: str) -> None:
    case, events = EXPECTED[name], replay(name).events
    [start] = [event for event in events if isinstance(event, Started)]
    assert (start.version, start.model) == (case["version"], case["model"])
    assert not [event for event in events if isinstance(event, Unrecognised)]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize("name", EXPECTED)
def test_leave_is_given_to_a_worker_and_no_edit_to_a_reader(name: str) -> None:
    assert replay(name).answers() == EXPECTED[name]["asked"]
    assert replay(name, policy=Policy(read_only=True)).answers() == EXPECTED[name]["refused"]


def test_mcp_calls_carry_what_was_asked_and_answered() -> None:
    for name in ("gemini", "opencode", "qwen"):
        events = replay(name).events
        [asked] = [event for event in events if isinstance(event, ToolCall) and event.name == "mcp__work__complete"]
        [told] = [event for event in events if isinstance(event, ToolResult) and event.name == "mcp__work__complete"]
        assert json.loads(asked.arguments)["task_id"] == "T-1", name
        assert json.loads(told.answer) == {"ok": True, "task_id": "T-1", "state": "done"}, name


@pytest.mark.parametrize("name", EXPECTED)
def test_stream_cut_at_every_byte_reads_the_same(name: str) -> None:
    whole, cut = replay(name), replay(name, chunk=1)
    assert (cut.conclusion, cut.told) == (whole.conclusion, whole.told)
    assert [kind_of(event) for event in cut.events] == [kind_of(event) for event in whole.events]


@pytest.mark.parametrize("name", EXPECTED)
def test_stream_that_ends_at_any_line_is_no_success(name: str) -> None:
    data = (RECORDINGS / f"{name}.jsonl").read_bytes()
    ends = [number for number, byte in enumerate(data[:-1], start=1) if byte == ord("\n")]
    for end in ends:
        conclusion = replay(name, end=end).conclusion
        assert conclusion is not None
        assert conclusion.session_class in {"crashed", "dead"}, end
        assert conclusion.final_text == ""
