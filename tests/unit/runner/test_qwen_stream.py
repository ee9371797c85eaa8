"""The Qwen Code adapter against recorded sessions, and what it means when no result comes."""

import json
from typing import Any

import pytest
from recorded_sessions import (
    check_cut_at_every_byte,
    check_never_clean_when_killed,
    check_recorded,
    class_after,
    data_of,
    expected_of,
    read_again,
)

from workloop.domain.session import (
    Finished,
    McpState,
    McpStatus,
    SessionClass,
    Tokens,
    ToolCall,
    ToolResult,
    ToolResultClass,
    Usage,
    kind_of,
)
from workloop.runner.harness.qwen.answer import plain_answer
from workloop.runner.harness.qwen.stream import QwenReader
from workloop.runner.signatures import load_signatures

CLI = "qwen"
EXPECTED = expected_of(CLI)
LIMIT_TEXTS = (
    "Claude AI usage limit reached|1795969442. You've hit your limit · resets 1am (Europe/Oslo). The usage limit has "
    "been reached. [API Error: 429 usage limit] Retrying in 60s (attempt 1/10): [API Error: 401 invalid api key]"
)


def reader(*, server: str = "work", resume_id: str | None = None) -> QwenReader:
    return QwenReader("session-1", load_signatures(CLI), server=server, resume_id=resume_id)


def reader_for(name: str) -> QwenReader:
    return reader(resume_id="earlier" if EXPECTED[name]["resumed"] else None)


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, "session_id": "s-1", **fields}).encode()


def message(*blocks: dict[str, Any], tokens: int = 0) -> bytes:
    return line("assistant", message={"content": list(blocks), "usage": {"input_tokens": tokens}})


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def answered(content: str, *, is_error: bool = False) -> bytes:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": content, "is_error": is_error}
    return line("user", message={"content": [block]})


def called(name: str, **arguments: Any) -> bytes:
    return message({"type": "tool_use", "id": "c1", "name": name, "input": arguments})


def result(text: str = "done", **fields: Any) -> bytes:
    return line("result", subtype="success", is_error=False, result=text, **fields)


def ended(*lines: bytes, **how: Any) -> SessionClass:
    return class_after(reader(), *lines, **how)


@pytest.mark.parametrize("name", EXPECTED)
def test_qwen_recording_gets_its_class_usage_and_final_text(name: str) -> None:
    seen = check_recorded(CLI, name, EXPECTED[name], lambda: reader_for(name))
    assert len(seen.only("retrying")) == EXPECTED[name]["retries"]


@pytest.mark.parametrize("name", ["success", "auth", "max-turns", "denied-mcp"])
def test_qwen_stream_cut_at_every_byte_reads_the_same(name: str) -> None:
    check_cut_at_every_byte(CLI, name, EXPECTED[name], reader)


@pytest.mark.parametrize("name", ["success", "auth", "limit-mid"])
def test_qwen_stream_cut_at_every_line_is_judged_and_never_clean_before_its_end(name: str) -> None:
    check_never_clean_when_killed(CLI, name, reader)


@pytest.mark.parametrize(
    ("exit_code", "stderr", "expected"),
    [
        (53, "", SessionClass.TURN_CAP),
        (55, "Run aborted: wall-clock budget of 3s exceeded", SessionClass.HUNG),
        (55, "Run aborted: tool-call budget of 3 exceeded", SessionClass.TURN_CAP),
        (1, "Unknown argument: foo", SessionClass.CONFIG),
        (0, "", SessionClass.DEAD),
    ],
)
def test_qwen_exit_code_speaks_where_no_result_does(exit_code: int, stderr: str, expected: SessionClass) -> None:
    assert ended(exit_code=exit_code, stderr=stderr) is expected


def test_wait_for_a_limit_classifies_only_while_nothing_came_after_it() -> None:
    retry = line("system", subtype="retry", data={"reason": "retry", "attempt": 1, "delayMs": 60_000})
    words = "Retrying in 60s (attempt 1/10): [API Error: 429 The usage limit has been reached]"
    assert ended(retry, exit_code=None, signal=15, stderr=words) is SessionClass.LIMITED
    assert ended(retry, message(said("on")), exit_code=None, signal=15, stderr=words) is SessionClass.CRASHED


def test_d17_qwen_that_was_denied_our_tool_is_denied_whatever_it_says_in_the_end() -> None:
    refused = 'Qwen Code requires permission to use "x", but that permission was declined.'
    lines = (called("mcp__work__work_loop"), answered(refused, is_error=True), message(said("all done")))
    listed = [{"tool_name": "mcp__work__work_loop", "tool_use_id": "c1"}]
    assert ended(*lines, result(permission_denials=listed)) is SessionClass.DENIED
    assert ended(*lines, result(permission_denials=[])) is SessionClass.CLEAN
    assert ended(result()) is SessionClass.DEAD


def test_d23_only_qwen_s_own_result_classifies_a_session() -> None:
    lines = (
        message(said(LIMIT_TEXTS)),
        called("mcp__work__work_loop", q=LIMIT_TEXTS),
        answered(LIMIT_TEXTS),
        called("run_shell_command"),
        answered(LIMIT_TEXTS, is_error=True),
        message(said(LIMIT_TEXTS)),
    )
    assert ended(*lines, result(LIMIT_TEXTS), stderr=LIMIT_TEXTS) is SessionClass.CLEAN
    assert ended(*lines, exit_code=1, stderr="") is SessionClass.CRASHED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[API Error: 429 slow down]", SessionClass.LIMITED),
        ("[API Error: 429 Limit 3 requests per min]", SessionClass.TRANSIENT),
        ("[API Error: 429 You exceeded your current quota]", SessionClass.BILLING),
        ("[API Error: getaddrinfo ENOTFOUND api.example]", SessionClass.TRANSIENT),
        ("[API Error: 422 what]", SessionClass.CRASHED),
        ("something new", SessionClass.CRASHED),
    ],
)
def test_qwen_error_gets_its_class(text: str, expected: SessionClass) -> None:
    error = line("result", subtype="error_during_execution", is_error=True, error={"message": text})
    assert ended(error, exit_code=1) is expected


def test_qwen_input_is_counted_without_what_came_from_the_cache_and_before_the_end() -> None:
    usage = {"input_tokens": 1200, "output_tokens": 60, "cache_read_input_tokens": 800}
    events = [event for event in reader().feed(result(usage=usage), 0) if isinstance(event, Usage | Finished)]
    assert [kind_of(event) for event in events] == ["usage", "finished"]
    assert isinstance(events[0], Usage)
    assert events[0].tokens == Tokens(input=400, output=60, cache_read=800)


@pytest.mark.parametrize(
    ("listed", "state"),
    [
        ([{"name": "work", "status": "connected"}], McpState.CONNECTED),
        ([{"name": "work", "status": "connecting"}], McpState.PENDING),
        ([{"name": "work", "status": "disconnected"}], McpState.FAILED),
        ([], McpState.FAILED),
    ],
)
def test_qwen_tells_whether_our_server_is_there(listed: list[dict[str, str]], state: McpState) -> None:
    events = reader().feed(line("system", subtype="init", mcp_servers=listed), 0)
    statuses = [event for event in events if isinstance(event, McpStatus)]
    assert [(status.server, status.state, status.required) for status in statuses] == [("work", state, True)]


def test_qwen_tool_behind_the_search_is_reported_by_its_own_name_and_with_its_own_arguments() -> None:
    fold = reader()
    asked = {"name": "mcp__work__work_loop", "arguments": {"action": "claim"}}
    through = message({"type": "tool_use", "id": "c1", "name": "tool_call", "input": asked})
    events = [*fold.feed(through, 0), *fold.feed(answered('{"result":"{\\"item\\": 1}"}\n{"item": 1}'), 0)]
    (call,) = [event for event in events if isinstance(event, ToolCall)]
    (back,) = [event for event in events if isinstance(event, ToolResult)]
    assert (call.name, call.arguments) == ("mcp__work__work_loop", '{"action":"claim"}')
    assert (back.name, back.answer) == ("mcp__work__work_loop", '{"item": 1}')


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ('{"result":"ok"}\nok', "ok"),
        ('{"result":"ok"}', '{"result":"ok"}'),
        ('{"result":"ok"}\nother', '{"result":"ok"}\nother'),
        ("{broken", "{broken"),
        ("plain", "plain"),
    ],
)
def test_qwen_structured_copy_of_an_answer_is_dropped(content: str, answer: str) -> None:
    assert plain_answer(content) == answer


@pytest.mark.parametrize(
    ("name", "tool", "results"),
    [
        ("bad-args", "write_file", [ToolResultClass.MODEL_ARGUMENT]),
        ("bad-tool", "no_such_tool", [ToolResultClass.MISSING_TOOL]),
        ("denied-mcp", "mcp__work__claim", [ToolResultClass.REFUSED]),
        ("denied-shell", "Bash", [ToolResultClass.REFUSED]),
        ("tool-fail", "mcp__work__fail", [ToolResultClass.TOOL_FAULT]),
        ("sleep-term-group", "run_shell_command", [ToolResultClass.CANCELLED]),
        ("edit", "run_shell_command", [ToolResultClass.OK]),
    ],
)
def test_qwen_tool_result_gets_its_class(name: str, tool: str, results: list[ToolResultClass]) -> None:
    seen = read_again(reader(), data_of(CLI, name), EXPECTED[name])
    assert [event.result for event in seen.results_of(tool)] == results


def test_qwen_command_that_failed_keeps_its_exit_code() -> None:
    fold = reader()
    fold.feed(called("run_shell_command"), 0)
    (back,) = fold.feed(answered("Output: hi\nExit Code: 3\nSignal: (none)", is_error=True), 0)
    assert isinstance(back, ToolResult)
    assert (back.result, back.exit_code) == (ToolResultClass.COMMAND_NONZERO, 3)


def test_qwen_session_that_is_gone_is_not_resumed_again() -> None:
    fold = reader(resume_id="old")
    assert fold.finish(1, None, "No saved session found with ID old.").conclusion.resume_id is None
