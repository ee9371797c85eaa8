"""The Codex adapter against recorded sessions, in both of its modes: class, reset, tokens and final text."""

import json

import pytest
from codex_replay import EXPECTED, RECORDINGS, SECOND, reader, replay

from workloop.domain.session import Started, ToolCall, ToolKind, ToolResult, ToolResultClass, Unrecognised


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_codex_session_gets_its_class_reset_and_final_text(name: str) -> None:
    case, conclusion = EXPECTED[name], replay(name).conclusion
    assert conclusion.session_class == case["class"]
    reset = case["reset_at_seconds"]
    assert conclusion.reset_at == (None if reset is None else reset * SECOND)
    assert conclusion.final_text == case["final_text"]
    assert conclusion.resume_id == case["thread"]


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_codex_session_adds_up_to_its_own_totals(name: str) -> None:
    total = replay(name).tokens()
    assert [total.input, total.output, total.cache_read, total.cache_write] == EXPECTED[name]["tokens"]


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_codex_session_has_only_known_lines_and_dense_numbers(name: str) -> None:
    case, seen = EXPECTED[name], replay(name)
    assert len([event for event in seen.events if isinstance(event, Unrecognised)]) == case["unrecognised"]
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))
    assert len(seen.only("retrying")) == case["retries"]
    assert len(seen.only("denied")) == case["denials"]
    assert len(seen.only("limit")) == (1 if case["class"] == "limited" else 0)


@pytest.mark.parametrize("name", ["exec-success", "appserver-success", "exec-limit-mid", "appserver-limit-mid"])
def test_codex_stream_reads_the_same_however_it_is_cut(name: str) -> None:
    whole = replay(name)
    for chunk in (1, 3, 64, 1_000):
        assert replay(name, chunk=chunk) == whole


@pytest.mark.parametrize("name", ["exec-success", "appserver-success"])
def test_codex_session_cut_at_any_line_is_no_success(name: str) -> None:
    case = EXPECTED[name]
    lines = (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines()
    ends = next(number for number, line in enumerate(lines) if b"turn.completed" in line or b"turn/completed" in line)
    for cut in range(ends):
        fold = reader(case["mode"])
        for line in lines[:cut]:
            fold.feed(line, 0)
        conclusion = fold.finish(None, 9, "").conclusion
        assert (conclusion.session_class, conclusion.final_text) == ("crashed", "")


@pytest.mark.parametrize(
    ("name", "tool", "result"),
    [
        ("exec-success", "mcp__work__claim", ToolResultClass.OK),
        ("exec-success", "shell", ToolResultClass.OK),
        ("exec-tool-fail", "mcp__work__fail", ToolResultClass.TOOL_FAULT),
        ("exec-slow-tool-long", "mcp__work__slow", ToolResultClass.TIMEOUT),
        ("exec-success-wsnoapprove", "mcp__work__complete", ToolResultClass.REFUSED),
        ("appserver-approvals", "mcp__work__complete", ToolResultClass.REFUSED),
    ],
)
def test_codex_tool_result_gets_its_class(name: str, tool: str, result: ToolResultClass) -> None:
    results = [event for event in replay(name).events if isinstance(event, ToolResult) and event.name == tool]
    assert [event.result for event in results] == [result]


@pytest.mark.parametrize("name", ["exec-success", "appserver-success", "sdk-success"])
def test_codex_tells_what_the_queue_was_asked_and_what_it_answered(name: str) -> None:
    events = replay(name).events
    call = next(event for event in events if isinstance(event, ToolCall) and event.name == "mcp__work__complete")
    answer = next(event for event in events if isinstance(event, ToolResult) and event.call_id == call.call_id)
    assert call.kind is ToolKind.MCP
    assert json.loads(call.arguments) == {"task_id": "T-1", "summary": "wrote result.txt"}
    assert json.loads(answer.answer) == {"ok": True, "task_id": "T-1", "state": "done"}


def test_codex_keeps_no_arguments_and_no_output_of_other_tools() -> None:
    events = replay("appserver-success").events
    assert [event.arguments for event in events if isinstance(event, ToolCall) and event.name == "shell"] == [""]
    assert [event.answer for event in events if isinstance(event, ToolResult) and event.name == "shell"] == [""]


def test_codex_app_server_tells_model_and_version_at_the_start() -> None:
    started = [event for event in replay("appserver-success").events if isinstance(event, Started)]
    assert [(event.model, event.version) for event in started] == [("gpt-5.5", "0.171.0")]
