"""The Claude Code adapter against recorded sessions: class, reset, tokens, cost and final text."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from workloop.domain.session import (
    Conclusion,
    Limit,
    McpState,
    McpStatus,
    SessionClass,
    SessionEvent,
    Text,
    Tokens,
    ToolResult,
    ToolResultClass,
    Unrecognised,
    Usage,
    kind_of,
)
from workloop.runner.framing import LineSplitter, OverlongLine
from workloop.runner.harness.claude.stream import ClaudeReader, Identity
from workloop.runner.signatures import load_signatures

RECORDINGS = Path(__file__).parents[2] / "recordings" / "claude"
EXPECTED: dict[str, dict[str, Any]] = json.loads((RECORDINGS / "expected.json").read_text())


@dataclass
class Replay:
    """A recording as the adapter understood it."""

    events: list[SessionEvent]
    conclusion: Conclusion

    def only(self, kind: str) -> list[SessionEvent]:
        return [event for event in self.events if kind_of(event) == kind]

    def result_of(self, name: str) -> list[ToolResult]:
        return [event for event in self.events if isinstance(event, ToolResult) and event.name == name]


def reader(*, server: str = "work", resume_id: str | None = None) -> ClaudeReader:
    identity = Identity(session_id="session-1", server=server, resume_id=resume_id)
    return ClaudeReader(identity, load_signatures("claude"))


def replay(name: str, *, chunk: int = 65_536) -> Replay:
    case = EXPECTED[name]
    fold = reader(resume_id="earlier" if case["resumed"] else None)
    splitter, events = LineSplitter(), list[SessionEvent]()
    data = (RECORDINGS / f"{name}.jsonl").read_bytes()
    pieces = [data[start : start + chunk] for start in range(0, len(data), chunk)]
    lines = [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish()
    for arrival, line in enumerate(lines):
        assert not isinstance(line, OverlongLine)
        events += fold.feed(line, arrival)
    ending = fold.finish(case["exit_code"], case["signal"], case["stderr"])
    return Replay([*events, *ending.events], ending.conclusion)


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_session_gets_its_class_reset_and_final_text(name: str) -> None:
    case, conclusion = EXPECTED[name], replay(name).conclusion
    assert conclusion.session_class == case["class"]
    reset = case["reset_at_seconds"]
    assert conclusion.reset_at == (None if reset is None else reset * 1_000_000)
    assert conclusion.final_text == case["final_text"]


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_session_adds_up_to_the_tokens_and_cost_of_its_result(name: str) -> None:
    case = EXPECTED[name]
    usage = [event for event in replay(name).events if isinstance(event, Usage)]
    total = sum((event.tokens for event in usage), Tokens())
    assert [total.input, total.output, total.cache_read, total.cache_write] == case["tokens"]
    costs = [event.cost_micros for event in usage if event.cost_micros is not None]
    assert (sum(costs) if costs else None) == case["cost_micros"]


def test_g03_the_tokens_of_helpers_count_where_usage_speaks_of_the_main_conversation_only() -> None:
    """G03: `usage` is one scope and the cost another; the report by model is of the same scope as the cost."""
    own = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 300}
    by_model = {
        "main": {"inputTokens": 10, "outputTokens": 20, "cacheReadInputTokens": 300, "costUSD": 0.02},
        "helper": {"inputTokens": 4_000, "outputTokens": 500, "cacheCreationInputTokens": 60, "costUSD": 0.31},
    }
    line = {"type": "result", "result": "done", "usage": own, "total_cost_usd": 0.33, "modelUsage": by_model}
    message = {"type": "assistant", "message": {"id": "m-1", "usage": {**own, "output_tokens": 1}}}
    fold = reader()
    events = [event for seen in (message, line) for event in fold.feed(json.dumps(seen).encode(), 0)]
    spent = [event for event in events if isinstance(event, Usage)]
    total = sum((event.tokens for event in spent), Tokens())
    assert total == Tokens(input=4_010, output=520, cache_read=300, cache_write=60)
    assert [event.cost_micros for event in spent if event.cost_micros is not None] == [330_000]


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_session_has_no_unknown_line_and_dense_numbers(name: str) -> None:
    seen = replay(name)
    assert not [event for event in seen.events if isinstance(event, Unrecognised)]
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))
    assert len(seen.only("retrying")) == EXPECTED[name]["retries"]
    assert len(seen.only("denied")) == EXPECTED[name]["denials"]


@pytest.mark.parametrize("name", ["limit-mid-oauth", "limit-first"])
def test_limited_session_reports_one_limit_event(name: str) -> None:
    limits = [event for event in replay(name).events if isinstance(event, Limit)]
    assert len(limits) == 1


@pytest.mark.parametrize(
    ("name", "tool", "result"),
    [
        ("bad-args", "Write", ToolResultClass.MODEL_ARGUMENT),
        ("bad-tool", "no_such_tool", ToolResultClass.MISSING_TOOL),
        ("denied-shell", "Bash", ToolResultClass.REFUSED),
        ("tool-fail", "mcp__work__fail", ToolResultClass.TOOL_FAULT),
        ("mcpslow40", "mcp__work__claim", ToolResultClass.TOOL_FAULT),
        ("sleep-int", "Bash", ToolResultClass.CANCELLED),
        ("sleep-term", "Bash", ToolResultClass.COMMAND_NONZERO),
        ("success", "Write", ToolResultClass.OK),
    ],
)
def test_tool_result_gets_its_class(name: str, tool: str, result: ToolResultClass) -> None:
    assert [event.result for event in replay(name).result_of(tool)] == [result]


def test_killed_command_keeps_its_exit_code() -> None:
    assert [event.exit_code for event in replay("sleep-term").result_of("Bash")] == [137]


@pytest.mark.parametrize(
    ("name", "state"),
    [("success", McpState.CONNECTED), ("mcpslow40", McpState.FAILED), ("old-success", McpState.PENDING)],
)
def test_our_server_is_reported_as_required(name: str, state: McpState) -> None:
    statuses = [event for event in replay(name).events if isinstance(event, McpStatus)]
    assert [(event.server, event.state, event.required) for event in statuses] == [("work", state, True)]


def test_server_that_is_not_even_listed_counts_as_failed() -> None:
    events = reader(server="workloop").feed(b'{"type":"system","subtype":"init","mcp_servers":[]}', 0)
    failed = [event for event in events if isinstance(event, McpStatus)]
    assert [(event.server, event.state, event.required) for event in failed] == [("workloop", McpState.FAILED, True)]


@pytest.mark.parametrize("name", ["limit-mid-oauth", "success", "refusal"])
def test_stream_cut_at_every_byte_reads_the_same(name: str) -> None:
    whole = replay(name)
    cut = replay(name, chunk=1)
    assert cut.conclusion == whole.conclusion
    assert [(kind_of(event), event.seq) for event in cut.events] == [(kind_of(e), e.seq) for e in whole.events]


@pytest.mark.parametrize("name", ["limit-mid-oauth", "success", "denied-mcp"])
def test_stream_that_ends_at_any_byte_is_still_judged(name: str) -> None:
    data = (RECORDINGS / f"{name}.jsonl").read_bytes()
    for end in range(0, len(data), 97):
        fold = reader()
        for line in data[:end].split(b"\n"):
            fold.feed(line, 0)
        assert fold.finish(None, 9, "").conclusion.session_class in {
            SessionClass.CRASHED,
            SessionClass.LIMITED,
            SessionClass.CLEAN,
            SessionClass.DENIED,
        }


def test_agent_that_talks_about_a_limit_is_not_limited() -> None:
    fold = reader()
    said = "You've hit your 5-hour limit, usage limit reached|1795969442"
    block = {"content": [{"type": "text", "text": said}]}
    fold.feed(json.dumps({"type": "assistant", "message": block}).encode(), 0)
    fold.feed(json.dumps({"type": "result", "is_error": False, "result": said}).encode(), 1)
    conclusion = fold.finish(0, None, "").conclusion
    assert conclusion.session_class is SessionClass.CLEAN
    assert conclusion.reset_at is None


def rate_limit(**info: Any) -> bytes:
    return json.dumps({"type": "rate_limit_event", "rate_limit_info": info}).encode()


def test_session_that_died_at_its_limit_is_limited_whatever_its_exit_code() -> None:
    for exit_code, signal in ((143, None), (0, None), (None, 9)):
        fold = reader()
        fold.feed(rate_limit(status="rejected", resetsAt=1_795_969_442), 0)
        conclusion = fold.finish(exit_code, signal, "").conclusion
        assert (conclusion.session_class, conclusion.reset_at) == (SessionClass.LIMITED, 1_795_969_442_000_000)


@pytest.mark.parametrize("info", [{"status": "rejected", "isUsingOverage": True}, {"status": "allowed_warning"}])
def test_session_that_may_go_on_beyond_its_window_is_not_limited(info: dict[str, Any]) -> None:
    fold = reader()
    assert fold.feed(rate_limit(resetsAt=1_795_969_442, **info), 0) == []
    assert fold.finish(None, 9, "").conclusion.session_class is SessionClass.CRASHED


def test_limit_that_was_lifted_again_is_forgotten() -> None:
    fold = reader()
    fold.feed(rate_limit(status="rejected", resetsAt=1_795_969_442), 0)
    fold.feed(rate_limit(status="allowed"), 1)
    assert fold.finish(None, 9, "").conclusion.session_class is SessionClass.CRASHED


def test_limit_that_lets_the_call_pass_does_not_limit_the_session() -> None:
    assert not replay("success-oauth").only("limit")


def test_older_limit_text_carries_its_reset() -> None:
    fold = reader()
    line = {"type": "result", "is_error": True, "result": "Claude AI usage limit reached|1795969442"}
    fold.feed(json.dumps(line).encode(), 0)
    conclusion = fold.finish(1, None, "").conclusion
    assert (conclusion.session_class, conclusion.reset_at) == (SessionClass.LIMITED, 1_795_969_442_000_000)


def test_session_that_cannot_be_resumed_says_so() -> None:
    fold = reader(resume_id="11111111-1111-1111-1111-111111111111")
    gone = "No conversation found with session ID: 11111111-1111-1111-1111-111111111111"
    line = {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "errors": [gone],
        "session_id": "1",
    }
    fold.feed(json.dumps(line).encode(), 0)
    conclusion = fold.finish(1, None, gone).conclusion
    assert (conclusion.session_class, conclusion.resume_id) == (SessionClass.CRASHED, None)


def test_success_without_a_word_is_dead() -> None:
    fold = reader()
    fold.feed(b'{"type":"result","is_error":false,"result":""}', 0)
    assert fold.finish(0, None, "").conclusion.session_class is SessionClass.DEAD


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b'{"type":7}',
        b'{"type":"assistant","message":[]}',
        b'{"type":"assistant","message":{"content":[1,{"type":"tool_use"}],"usage":{"input_tokens":-5}}}',
        b'{"type":"user","message":{"content":"text"}}',
        b'{"type":"user","message":{"content":[{"type":"tool_result","content":7,"is_error":true}]}}',
        b'{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1e300}}',
        b'{"type":"result","total_cost_usd":"free","usage":7,"modelUsage":[1]}',
        b"[" * 100_000,
        b'{"type":"system","subtype":"init","mcp_servers":{"a":1},"session_id":5}',
        b"\xff\xfe\x00",
        b'{"type":"result","total_cost_usd":1e400}',
    ],
)
def test_line_of_any_shape_is_survived(line: bytes) -> None:
    fold = reader()
    fold.feed(line, 0)
    fold.finish(1, None, "")


def test_text_is_shown_without_terminal_controls() -> None:
    block = {"content": [{"type": "text", "text": "a\x1b]52;c;aGk=\x07b\x1b[2Jc\x9b31md\u202ee\n\tf"}]}
    events = reader().feed(json.dumps({"type": "assistant", "message": block}).encode(), 0)
    assert [event.text for event in events if isinstance(event, Text)] == ["abcde\n\tf"]
