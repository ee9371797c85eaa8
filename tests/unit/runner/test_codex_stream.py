"""The Codex adapter against written streams: what limits, totals and errors mean, and what must not be believed."""

from pathlib import Path
from typing import Any

import pytest
from codex_replay import EXPECTED, SECOND, fed, reader, replay, write_rollout

from workloop.domain.session import Denied, Finished, Limit, SessionEvent, Text, Tokens, Usage, kind_of

# D06: the limit names its end in English only.


@pytest.mark.parametrize("mode", ["exec", "app-server"])
@pytest.mark.parametrize(
    ("written", "seconds"), [("Sep 18th, 2026 12:04 AM", 1_789_689_840), ("4:01 PM", 1_789_660_860)]
)
def test_d06_limit_that_names_its_end_in_english_has_a_reset(mode: str, written: str, seconds: int) -> None:
    message = f"You\u2019ve hit your usage limit. Visit the settings page or try again at {written}."
    fold = reader(mode, started_at=1_789_650_000)  # 2026-09-17T13:00:00Z
    if mode == "exec":
        fed(fold, {"type": "turn.failed", "error": {"message": message}})
    else:
        error = {"message": message, "codexErrorInfo": "usageLimitExceeded"}
        fed(fold, {"method": "turn/completed", "params": {"turn": {"status": "failed", "error": error}}})
    conclusion = fold.finish(1, None, "").conclusion
    assert (conclusion.session_class, conclusion.reset_at) == ("limited", seconds * SECOND)


# D07: the reset stands in the account's windows, or in the thread's file; the error is no reason to try again.


def test_d07_reset_of_the_spent_window_outranks_the_words_and_an_open_window_is_no_reset() -> None:
    fold = reader("app-server", started_at=1_789_650_000)
    windows = {
        "primary": {"usedPercent": 100, "resetsAt": 1_789_660_001},
        "secondary": {"usedPercent": 41, "resetsAt": 5},
    }
    limits = {"method": "account/rateLimits/updated", "params": {"rateLimits": windows}}
    error = {
        "message": "You\u2019ve hit your usage limit. Try again at 4:01 PM.",
        "codexErrorInfo": "usageLimitExceeded",
    }
    ended = {"method": "turn/completed", "params": {"turn": {"status": "failed", "error": error}}}
    events = fed(fold, limits, ended)
    limit, finished = events
    assert isinstance(limit, Limit)
    assert (limit.reset_at, limit.kind) == (1_789_660_001 * SECOND, "window")
    assert isinstance(finished, Finished)
    assert not [event for event in events if kind_of(event) == "retrying"]


def test_d07_both_windows_spent_means_the_later_end() -> None:
    fold = reader("app-server")
    windows = {
        "primary": {"usedPercent": 100, "resetsAt": 1_800_000_000},
        "secondary": {"usedPercent": 100.0, "resetsAt": 1_800_500_000},
    }
    fed(fold, {"method": "account/rateLimits/updated", "params": {"rateLimits": windows}})
    fed(fold, {"method": "account/rateLimits/updated", "params": {"rateLimits": {"primary": None, "secondary": None}}})
    error = {"message": "limit", "codexErrorInfo": "usageLimitExceeded"}
    fed(fold, {"method": "turn/completed", "params": {"turn": {"status": "failed", "error": error}}})
    assert fold.finish(0, None, "").conclusion.reset_at == 1_800_500_000 * SECOND


def test_d07_exec_reads_the_reset_and_the_tokens_of_a_failed_turn_from_the_threads_file(tmp_path: Path) -> None:
    write_rollout(tmp_path, EXPECTED["exec-limit-mid"]["thread"], 1_200, 2_400, resets_at=1_900_000_000)
    seen = replay("exec-limit-mid", home=tmp_path)
    assert seen.conclusion.reset_at == 1_900_000_000 * SECOND
    assert seen.tokens() == Tokens(input=2_300, cache_read=100, output=7)
    assert [event.reset_at for event in seen.events if isinstance(event, Limit)] == [1_900_000_000 * SECOND]


# C21: what a resumed thread cost before is not spent again.


def usage(turn: str, total: int, last: int) -> dict[str, Any]:
    counts = {name: {"inputTokens": value, "outputTokens": 0} for name, value in (("total", total), ("last", last))}
    params = {"threadId": "t-1", "turnId": turn, "tokenUsage": counts}
    return {"method": "thread/tokenUsage/updated", "params": params}


def spent(events: list[SessionEvent]) -> list[int]:
    return [event.tokens.input for event in events if isinstance(event, Usage)]


TURN = {"method": "turn/started", "params": {"threadId": "t-1", "turn": {"id": "new"}}}


def test_c21_first_total_after_a_resume_is_the_baseline() -> None:
    fold = reader("app-server", resume_id="t-1")
    events = fed(fold, usage("old", 1_059_748, 900), TURN, usage("new", 1_060_000, 252), usage("new", 1_060_000, 252))
    assert spent(events) == [252]


def test_c21_first_total_of_the_new_turn_counts_only_its_last_call() -> None:
    fold = reader("app-server", resume_id="t-1")
    assert spent(fed(fold, TURN, usage("new", 1_060_000, 252), usage("new", 1_060_100, 100))) == [252, 100]


def test_c21_total_that_falls_adds_nothing_and_the_next_is_not_counted_twice() -> None:
    fold = reader("app-server")
    started = {"id": 2, "result": {"thread": {"id": "t-1"}}}
    assert spent(fed(fold, started, TURN, usage("new", 500, 500), usage("new", 0, 0), usage("new", 600, 100))) == [
        500,
        100,
    ]


def test_c21_exec_counts_a_resumed_thread_from_what_its_file_said_before(tmp_path: Path) -> None:
    thread = EXPECTED["exec-resume-limit"]["thread"]
    write_rollout(tmp_path, thread, 2_400)
    fold = reader("exec", resume_id=thread, home=tmp_path)
    events = fed(fold, {"type": "turn.completed", "usage": {"input_tokens": 6_000, "cached_input_tokens": 4_000}})
    assert [event.tokens for event in events if isinstance(event, Usage)] == [Tokens(cache_read=3_900)]


def test_g05_a_report_of_total_and_last_counts_once_and_each_thread_against_its_own_total() -> None:
    """G05: what is counted is the running total over what was seen of that thread; `last` is never added to it."""
    fold = reader("app-server")
    helper = usage("other", 40, 40)
    helper["params"]["threadId"] = "t-2"
    more = usage("other", 70, 30)
    more["params"]["threadId"] = "t-2"
    started = {"id": 2, "result": {"thread": {"id": "t-1"}}}
    reports = (usage("new", 500, 500), helper, usage("new", 700, 200), more, usage("new", 700, 200))
    assert spent(fed(fold, started, TURN, *reports)) == [500, 40, 200, 30]


# What must not be believed.


def test_d23_limit_text_in_the_agents_mouth_or_a_tool_result_is_no_limit() -> None:
    lines = [
        {"type": "thread.started", "thread_id": "t-1"},
        {
            "type": "item.completed",
            "item": {"id": "1", "type": "agent_message", "text": "You\u2019ve hit your usage limit."},
        },
        {
            "type": "item.completed",
            "item": {
                "id": "2",
                "type": "command_execution",
                "aggregated_output": "usage_limit_reached 401 Unauthorized",
                "exit_code": 0,
                "status": "completed",
            },
        },
        {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}},
    ]
    fold = reader("exec")
    fed(fold, *lines)
    conclusion = fold.finish(0, None, "").conclusion
    assert (conclusion.session_class, conclusion.reset_at) == ("clean", None)


def test_codex_error_that_is_tried_again_does_not_fail_a_turn_that_then_ends_well() -> None:
    fold = reader("app-server")
    error = {
        "message": "Reconnecting... 2/5",
        "codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": 401}},
    }
    message = {"type": "agentMessage", "id": "m", "text": "done"}
    fed(
        fold,
        {"id": 2, "result": {"thread": {"id": "t-1"}}},
        {"method": "error", "params": {"error": error, "willRetry": True, "threadId": "t-1"}},
        {"method": "item/completed", "params": {"threadId": "t-1", "item": message}},
        {
            "method": "turn/completed",
            "params": {"threadId": "t-1", "turn": {"status": "completed", "items": [message]}},
        },
    )
    conclusion = fold.finish(0, None, "").conclusion
    assert (conclusion.session_class, conclusion.final_text) == ("clean", "done")


def test_codex_error_that_nothing_followed_decides_when_the_process_dies_without_an_end() -> None:
    fold = reader("exec")
    fed(fold, {"type": "error", "message": "unexpected status 401 Unauthorized: no"})
    assert fold.finish(1, None, "").conclusion.session_class == "auth"


def test_codex_thread_of_a_helper_neither_ends_the_session_nor_speaks_for_it() -> None:
    fold = reader("app-server")
    mine, other = {"threadId": "t-1"}, {"threadId": "t-2"}
    said = {"type": "agentMessage", "id": "m", "text": "helper says done"}
    events = fed(
        fold,
        {"id": 2, "result": {"thread": {"id": "t-1"}}},
        {"method": "item/completed", "params": {**mine, "item": {**said, "text": "mine"}}},
        {"method": "item/completed", "params": {**other, "item": said}},
        {"method": "turn/completed", "params": {**other, "turn": {"status": "completed", "items": [said]}}},
    )
    assert [event.text for event in events if isinstance(event, Text)] == ["mine", "helper says done"]
    assert not [event for event in events if isinstance(event, Finished)]
    fed(fold, {"method": "turn/completed", "params": {**mine, "turn": {"status": "completed", "items": []}}})
    assert fold.finish(0, None, "").conclusion.final_text == "mine"


def test_codex_turn_without_a_word_or_a_tool_is_dead() -> None:
    fold = reader("exec")
    fed(fold, {"type": "thread.started", "thread_id": "t"}, {"type": "turn.completed", "usage": {}})
    assert fold.finish(0, None, "").conclusion.session_class == "dead"


@pytest.mark.parametrize("mode", ["exec", "app-server"])
def test_codex_thread_that_is_gone_cannot_be_resumed_again(mode: str) -> None:
    gone = "no rollout found for thread id t-1"
    fold = reader(mode, resume_id="t-1")
    stderr = f"Error: thread/resume: thread/resume failed: {gone} (code -32600)"
    if mode == "app-server":
        fed(fold, {"id": 2, "error": {"code": -32600, "message": gone}})
        stderr = ""
    conclusion = fold.finish(1, None, stderr).conclusion
    assert conclusion.resume_id is None


def test_codex_session_whose_loop_cannot_be_reached_is_a_matter_of_configuration() -> None:
    message = "error creating thread: Fatal error: required MCP servers failed to initialize: workloop: no"
    over_pipe, by_command = reader("app-server"), reader("exec")
    events = fed(over_pipe, {"id": 2, "error": {"code": -32603, "message": message}})
    assert [kind_of(event) for event in events] == ["error", "finished"]
    assert over_pipe.finish(0, None, "").conclusion.session_class == "config"
    assert by_command.finish(1, None, f"Error: thread/start: {message}").conclusion.session_class == "config"


@pytest.mark.parametrize(
    ("info", "message", "expected"),
    [
        ("usageLimitExceeded", "Quota exceeded. Check your plan and billing details.", "billing"),
        ("unauthorized", "", "auth"),
        ("contextWindowExceeded", "", "context"),
        ("cyberPolicy", "", "refusal"),
        ("sessionBudgetExceeded", "", "cost_cap"),
        ("tooManyDenials", "", "denied"),
        ("sandboxError", "", "config"),
        ("internalServerError", "", "transient"),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "", "auth"),
        ({"httpConnectionFailed": {"httpStatusCode": 403}}, "", "auth"),
        ({"httpConnectionFailed": {"httpStatusCode": 404}}, "", "model_missing"),
        ({"httpConnectionFailed": {"httpStatusCode": None}}, "", "transient"),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "", "transient"),
        ("other", "Incomplete response returned, reason: content_filter", "refusal"),
        ("other", "nobody knows", "crashed"),
        (7, "", "crashed"),
    ],
)
def test_codex_error_word_decides_the_class(info: object, message: str, expected: str) -> None:
    fold = reader("app-server")
    error = {"message": message, "codexErrorInfo": info}
    fed(fold, {"method": "turn/completed", "params": {"turn": {"status": "failed", "error": error}}})
    assert fold.finish(0, None, "").conclusion.session_class == expected


@pytest.mark.parametrize("mode", ["app-server", "exec"])
def test_codex_that_found_its_home_half_made_by_another_session_failed_in_passing(mode: str) -> None:
    said = "Error: failed to initialize sqlite state runtime under /home/x/.codex: failed to initialize"
    assert reader(mode).finish(1, None, said).conclusion.session_class == "transient"


def test_codex_denial_of_the_last_tool_is_told_and_decides() -> None:
    fold = reader("exec", server="workloop")
    item = {"id": "1", "type": "command_execution", "status": "declined", "exit_code": None}
    events = fed(fold, {"type": "item.completed", "item": item}, {"type": "turn.completed", "usage": {}})
    assert [event.name for event in events if isinstance(event, Denied)] == ["shell"]
    assert fold.finish(0, None, "").conclusion.session_class == "denied"
