"""The opencode adapter against recorded sessions, and what its exit codes must not be believed."""

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

from workloop.domain.session import Finished, SessionClass, SessionEvent, ToolCall, ToolResult, ToolResultClass, kind_of
from workloop.runner.harness.opencode.stream import OpencodeReader
from workloop.runner.signatures import load_signatures

CLI = "opencode"
EXPECTED = expected_of(CLI)
LIMIT_TEXTS = (
    "Claude AI usage limit reached|1795969442. You've hit your limit · resets 1am (Europe/Oslo). The usage limit has "
    "been reached. usage_limit_reached insufficient_quota 429 auto-rejecting; incorrect api key, please run /login"
)


def reader(*, server: str = "work", resume_id: str | None = None) -> OpencodeReader:
    return OpencodeReader("session-1", load_signatures(CLI), servers=(server,), own=server, resume_id=resume_id)


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, "timestamp": 1_795_960_000_000, "sessionID": "ses_1", **fields}).encode()


def text(said: str) -> bytes:
    return line("text", part={"type": "text", "text": said})


def step_start() -> bytes:
    return line("step_start", part={"type": "step-start"})


def step_finish(reason: str, tokens: int = 5) -> bytes:
    counts = {"input": tokens, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    return line("step_finish", part={"reason": reason, "tokens": counts, "cost": 0})


def tool_use(tool: str, **state: Any) -> bytes:
    return line("tool_use", part={"type": "tool", "tool": tool, "callID": "c1", "state": state})


def error(name: str, **data: Any) -> bytes:
    return line("error", error={"name": name, "data": data})


def ended(*lines: bytes, **how: Any) -> SessionClass:
    return class_after(reader(), *lines, **how)


@pytest.mark.parametrize("name", EXPECTED)
def test_opencode_recording_gets_its_class_reset_usage_and_final_text(name: str) -> None:
    case = EXPECTED[name]
    seen = check_recorded(CLI, name, case, reader)
    assert len(seen.only("error")) == case["errors"]


@pytest.mark.parametrize("name", ["success", "limit-mid", "context-once", "denied-write-ask"])
def test_opencode_stream_cut_at_every_byte_reads_the_same(name: str) -> None:
    check_cut_at_every_byte(CLI, name, EXPECTED[name], reader)


@pytest.mark.parametrize("name", ["success", "limit-mid", "context"])
def test_opencode_stream_cut_at_every_line_is_judged_and_never_clean_before_its_end(name: str) -> None:
    check_never_clean_when_killed(CLI, name, reader)


def test_d17_rejected_permission_with_exit_code_zero_is_denied_and_never_a_success() -> None:
    rejected = "The user rejected permission to use this specific tool call."
    asked = tool_use("bash", status="error", input={}, error=rejected)
    assert ended(step_start(), text("I try."), asked, step_finish("tool-calls")) is SessionClass.DENIED


def test_d17_exit_code_zero_without_any_output_is_dead_or_denied_by_the_cli_s_own_words() -> None:
    assert ended() is SessionClass.DEAD
    assert ended(stderr="! permission requested: bash (touch x); auto-rejecting") is SessionClass.DENIED


def test_d17_exit_code_zero_in_the_middle_of_the_work_is_no_success() -> None:
    done = tool_use("bash", status="completed", input={}, output="", metadata={"exit": 0})
    assert ended(step_start(), done, step_finish("tool-calls")) is SessionClass.CRASHED


def test_what_the_cli_says_between_steps_is_not_the_agent_s_word() -> None:
    fold = reader()
    for each in (text("The previous request was too long."), step_start(), step_finish("stop"), text("I go on.")):
        assert "text" not in map(kind_of, fold.feed(each, 0))
    assert fold.finish(0, None, "").conclusion.session_class is SessionClass.DEAD


def test_step_that_ended_for_no_known_reason_and_cost_nothing_is_a_quiet_death() -> None:
    assert ended(step_start(), step_finish("unknown", tokens=0)) is SessionClass.DEAD
    assert ended(step_start(), step_finish("stop")) is SessionClass.DEAD


def test_exit_code_one_after_a_recovered_compaction_is_a_success_and_without_one_is_not() -> None:
    overflow, end = error("ContextOverflowError", message="too long"), (step_start(), text("done"), step_finish("stop"))
    assert ended(overflow, *end, exit_code=1) is SessionClass.CLEAN
    assert ended(*end, exit_code=1) is SessionClass.CRASHED


def test_session_that_compacts_in_vain_is_over_at_its_third_overflow() -> None:
    fold, finished = reader(), list[int]()
    for number, each in enumerate(data_of(CLI, "context").splitlines()):
        events = fold.feed(each, 0)
        finished += [number for event in events if isinstance(event, Finished)]
        if finished:
            assert {kind_of(event) for event in events} <= {"error", "finished"}
    assert len(data_of(CLI, "context").splitlines()[: finished[0] + 1]) == 15
    assert fold.finish(None, None, "").conclusion.session_class is SessionClass.CONTEXT


def test_overflows_with_work_between_them_are_not_in_vain() -> None:
    done = tool_use("bash", status="completed", input={}, output="", metadata={"exit": 0})
    part = (error("ContextOverflowError", message="too long"), step_start(), done, step_finish("tool-calls"))
    assert ended(*part * 5, step_start(), text("done"), step_finish("stop")) is SessionClass.CLEAN


def test_d23_only_the_cli_s_own_errors_classify_a_session() -> None:
    fold = reader()
    for each in (
        step_start(),
        text(LIMIT_TEXTS),
        tool_use("work_work_loop", status="completed", input={"q": LIMIT_TEXTS}, output=LIMIT_TEXTS),
        tool_use("bash", status="error", input={}, error=LIMIT_TEXTS),
        step_finish("tool-calls"),
        step_start(),
        text(LIMIT_TEXTS),
        step_finish("stop"),
    ):
        fold.feed(each, 0)
    conclusion = fold.finish(0, None, LIMIT_TEXTS).conclusion
    assert (conclusion.session_class, conclusion.reset_at) == (SessionClass.CLEAN, None)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"statusCode": 429, "message": "Rate limit reached", "responseBody": "{}"}, SessionClass.LIMITED),
        ({"statusCode": 429, "message": "Limit of 3 requests per minute"}, SessionClass.TRANSIENT),
        ({"statusCode": 529, "message": "Overloaded", "isRetryable": True}, SessionClass.TRANSIENT),
        ({"message": "getaddrinfo ENOTFOUND api.example"}, SessionClass.TRANSIENT),
        ({"statusCode": 402, "message": "pay"}, SessionClass.BILLING),
        ({"statusCode": 400, "message": "unknown parameter"}, SessionClass.CRASHED),
        ({"message": "something new"}, SessionClass.CRASHED),
    ],
)
def test_opencode_error_gets_its_class(data: dict[str, Any], expected: SessionClass) -> None:
    assert ended(error("APIError", **data), exit_code=1) is expected


def test_reset_of_a_limit_may_be_a_span_from_the_error_s_own_instant() -> None:
    fold = reader()
    fold.feed(error("APIError", statusCode=429, message="slow down", responseHeaders={"retry-after": "7200"}), 0)
    assert fold.finish(1, None, "").conclusion.reset_at == (1_795_960_000 + 7_200) * 1_000_000


def calls_in(*lines: bytes) -> list[SessionEvent]:
    fold = reader(server="workloop")
    events = [event for each in lines for event in fold.feed(each, 0)]
    return [event for event in events if isinstance(event, ToolCall | ToolResult)]


def test_arguments_and_answers_are_kept_of_mcp_tools_only() -> None:
    own = tool_use("workloop_work_loop", status="completed", input={"action": "claim"}, output='{"item": 1}')
    call, result = calls_in(own)
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.name, call.arguments, result.answer) == (
        "mcp__workloop__work_loop",
        '{"action":"claim"}',
        '{"item": 1}',
    )
    call, result = calls_in(tool_use("bash", status="completed", input={"command": "ls"}, output="a"))
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.arguments, result.answer) == ("", "")


@pytest.mark.parametrize(
    ("name", "tool", "result"),
    [
        ("bad-args", "write", ToolResultClass.MODEL_ARGUMENT),
        ("bad-json", "invalid", ToolResultClass.MODEL_ARGUMENT),
        ("bad-tool", "no_such_tool", ToolResultClass.MISSING_TOOL),
        ("denied-shell-ask", "bash", ToolResultClass.REFUSED),
        ("slow-tool-long", "mcp__work__slow", ToolResultClass.TIMEOUT),
        ("tool-fail", "mcp__work__fail", ToolResultClass.TOOL_FAULT),
        ("edit", "bash", ToolResultClass.OK),
    ],
)
def test_opencode_tool_result_gets_its_class(name: str, tool: str, result: ToolResultClass) -> None:
    seen = read_again(reader(), data_of(CLI, name), EXPECTED[name])
    assert [event.result for event in seen.results_of(tool)] == [result]


def test_opencode_command_that_failed_keeps_its_exit_code() -> None:
    failed = tool_use("bash", status="completed", input={}, output="", metadata={"exit": 3})
    result = calls_in(failed)[1]
    assert isinstance(result, ToolResult)
    assert (result.result, result.exit_code) == (ToolResultClass.COMMAND_NONZERO, 3)


def test_opencode_session_that_is_gone_is_not_resumed_again() -> None:
    fold = reader(resume_id="ses_old")
    assert fold.finish(1, None, "Error: Session not found").conclusion.resume_id is None
