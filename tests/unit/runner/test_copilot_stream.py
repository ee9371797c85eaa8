"""The Copilot adapter against recorded sessions, and when its exit code 0 is no success."""

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

from workloop.domain.session import McpState, McpStatus, SessionClass, ToolCall, ToolResult, ToolResultClass
from workloop.runner.harness.copilot.stream import CopilotReader
from workloop.runner.signatures import load_signatures

CLI = "copilot"
EXPECTED = expected_of(CLI)
LIMIT_TEXTS = (
    "Claude AI usage limit reached|1795969442. You've hit your limit · resets 1am (Europe/Oslo). The usage limit has "
    "been reached. usage_limit_reached rate_limit 429 insufficient_quota; not logged in, Authentication failed"
)


def reader(*, server: str = "work") -> CopilotReader:
    return CopilotReader("session-1", load_signatures(CLI), server=server, resume_id="session-1")


def line(kind: str, **data: Any) -> bytes:
    return json.dumps({"type": kind, "data": data, "timestamp": "2026-11-29T14:25:52.000Z"}).encode()


def result(exit_code: int = 0) -> bytes:
    return json.dumps({"type": "result", "sessionId": "session-1", "exitCode": exit_code}).encode()


def message(said: str) -> bytes:
    return line("assistant.message", content=said, toolRequests=[])


def call(name: str, server: str = "") -> bytes:
    more = {"mcpServerName": server, "mcpToolName": name} if server else {}
    return line("tool.execution_start", toolCallId="c1", toolName=name, arguments={"action": "claim"}, **more)


def ended(*lines: bytes, **how: Any) -> SessionClass:
    return class_after(reader(), *lines, **how)


@pytest.mark.parametrize("name", EXPECTED)
def test_copilot_recording_gets_its_class_reset_and_final_text(name: str) -> None:
    case = EXPECTED[name]
    seen = check_recorded(CLI, name, case, reader)
    assert len(seen.only("error")) == case["errors"]
    assert len(seen.only("retrying")) == case["retries"]


@pytest.mark.parametrize("name", ["success", "limit-open", "sleep-int"])
def test_copilot_stream_cut_at_every_byte_reads_the_same(name: str) -> None:
    check_cut_at_every_byte(CLI, name, EXPECTED[name], reader)


@pytest.mark.parametrize("name", ["success", "limit-mid", "sleep-int"])
def test_copilot_stream_cut_at_every_line_is_judged_and_never_clean_before_its_end(name: str) -> None:
    check_never_clean_when_killed(CLI, name, reader)


def test_aborted_session_with_exit_code_zero_is_no_success() -> None:
    assert ended(message("done"), line("abort", reason="user_initiated"), result()) is SessionClass.CRASHED
    assert ended(message("done"), result()) is SessionClass.CLEAN


def test_session_that_is_slow_to_go_after_its_result_is_not_aborted() -> None:
    assert ended(message("done"), result(), line("abort"), exit_code=None) is SessionClass.CLEAN


def test_d17_copilot_that_was_denied_our_tool_is_denied_and_one_that_said_nothing_is_dead() -> None:
    denied = line("tool.execution_complete", toolCallId="c1", success=False, error={"code": "denied", "message": "no"})
    done = line("tool.execution_complete", toolCallId="c1", success=True, result={})
    later = (call("bash"), done, message("all done"), result())
    assert ended(call("work_loop", "work"), denied, *later) is SessionClass.DENIED
    assert ended(call("bash"), denied, *later) is SessionClass.CLEAN
    assert ended(result()) is SessionClass.DEAD


def test_d23_only_copilot_s_own_errors_classify_a_session() -> None:
    fold = reader()
    told = {"content": LIMIT_TEXTS, "contents": [{"type": "text", "text": LIMIT_TEXTS}]}
    for each in (
        message(LIMIT_TEXTS),
        call("work_loop", "work"),
        line("tool.execution_complete", toolCallId="c1", success=True, result=told),
        call("bash"),
        line(
            "tool.execution_complete", toolCallId="c1", success=False, error={"code": "failure", "message": LIMIT_TEXTS}
        ),
        message(LIMIT_TEXTS),
        result(),
    ):
        fold.feed(each, 0)
    conclusion = fold.finish(0, None, LIMIT_TEXTS).conclusion
    assert (conclusion.session_class, conclusion.reset_at) == (SessionClass.CLEAN, None)


def test_tries_that_failed_before_a_success_do_not_classify_copilot_s_session() -> None:
    failed = line("model.call_failure", statusCode=429, errorType="usage_limit_reached", errorMessage="{}")
    assert ended(failed, line("assistant.turn_retry", reason="rate_limit"), message("done"), result()) is (
        SessionClass.CLEAN
    )


@pytest.mark.parametrize(
    ("listed", "state"),
    [
        ([{"name": "work", "status": "connected"}], McpState.CONNECTED),
        ([{"name": "work", "status": "pending"}], McpState.PENDING),
        ([{"name": "work", "status": "failed"}], McpState.FAILED),
        ([{"name": "other", "status": "disabled"}], McpState.FAILED),
    ],
)
def test_copilot_tells_whether_our_server_is_there(listed: list[dict[str, str]], state: McpState) -> None:
    events = reader().feed(line("session.mcp_servers_loaded", servers=listed), 0)
    statuses = [event for event in events if isinstance(event, McpStatus)]
    assert [(status.server, status.state, status.required) for status in statuses] == [("work", state, True)]


def test_copilot_arguments_and_answers_are_kept_of_mcp_tools_only() -> None:
    fold = reader()
    told = {"content": "both", "contents": [{"type": "text", "text": '{"item": 1}'}]}
    events = [
        *fold.feed(call("work_loop", "work"), 0),
        *fold.feed(line("tool.execution_complete", toolCallId="c1", success=True, result=told), 0),
        *fold.feed(call("bash"), 0),
        *fold.feed(line("tool.execution_complete", toolCallId="c1", success=True, result=told), 0),
    ]
    calls = [(event.name, event.arguments) for event in events if isinstance(event, ToolCall)]
    assert calls == [("mcp__work__work_loop", '{"action":"claim"}'), ("bash", "")]
    assert [event.answer for event in events if isinstance(event, ToolResult)] == ['{"item": 1}', ""]


@pytest.mark.parametrize(
    ("name", "tool", "results"),
    [
        ("bad-args", "create", [ToolResultClass.MODEL_ARGUMENT]),
        ("bad-json", "create", [ToolResultClass.MODEL_ARGUMENT]),
        ("bad-tool", "no_such_tool", [ToolResultClass.MISSING_TOOL]),
        ("denied-mcp", "mcp__work__claim", [ToolResultClass.REFUSED]),
        ("denied-shell", "bash", [ToolResultClass.REFUSED]),
        ("edit", "bash", [ToolResultClass.OK]),
    ],
)
def test_copilot_tool_result_gets_its_class(name: str, tool: str, results: list[ToolResultClass]) -> None:
    seen = read_again(reader(), data_of(CLI, name), EXPECTED[name])
    assert [event.result for event in seen.results_of(tool)] == results


def test_copilot_reset_may_be_a_span_from_the_last_refusal() -> None:
    fold = reader()
    body = json.dumps({"type": "usage_limit_reached", "resets_in_seconds": 60})
    fold.feed(line("model.call_failure", statusCode=429, errorType="usage_limit_reached", errorMessage=body), 0)
    fold.feed(line("session.error", errorType="rate_limit", message="429", statusCode=429), 0)
    fold.feed(result(1), 0)
    conclusion = fold.finish(1, None, "").conclusion
    assert (conclusion.session_class, conclusion.reset_at) == (SessionClass.LIMITED, 1_795_962_412_000_000)
