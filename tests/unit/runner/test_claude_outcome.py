"""What the end of a Claude Code session means, by the ids of reported failures: only the CLI's own words count."""

import json
from typing import Any

import pytest

from workloop.domain.clock import Instant, from_text
from workloop.domain.session import Conclusion, Limit, SessionClass, SessionEvent
from workloop.runner.harness.claude.stream import ClaudeReader, Identity
from workloop.runner.signatures import load_signatures

SAYINGS = (
    "You've hit your limit · resets 1am (Europe/Oslo)",
    "You've hit your session limit · resets 4:20am (Europe/Warsaw)",
    "You're out of extra usage · resets 11:30am (Asia/Colombo)",
    "Claude AI usage limit reached|1795969442",
    "You\u2019ve hit your weekly limit · resets Sunday 12:00am (UTC)",
)
NOW = from_text("2026-11-25T13:00:00Z")
RESETS = (
    from_text("2026-11-26T00:00:00Z"),
    from_text("2026-11-26T03:20:00Z"),
    from_text("2026-11-26T06:00:00Z"),
    Instant(1_795_969_442_000_000),
    from_text("2026-11-29T00:00:00Z"),
)
TIMESTAMP = "2026-11-25T13:00:00.000Z"
DONE = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 3, "terminal_reason": "completed"}
BROKE = {"type": "result", "subtype": "error_during_execution", "is_error": True, "num_turns": 0}
TOLD: dict[str, Any] = {"type": "rate_limit_event"}


class Session:
    """A session whose lines the test writes."""

    def __init__(self, *lines: dict[str, Any] | bytes, started_at: Instant | None = NOW) -> None:
        identity = Identity(session_id="s", server="work", started_at=started_at)
        self.reader = ClaudeReader(identity, load_signatures("claude"))
        self.events: list[SessionEvent] = []
        for line in lines:
            self.events += self.reader.feed(line if isinstance(line, bytes) else json.dumps(line).encode(), 0)

    def end(self, exit_code: int | None = 0, signal: int | None = None, stderr: str = "") -> Conclusion:
        """End the process."""
        ending = self.reader.finish(exit_code, signal, stderr)
        self.events += ending.events
        return ending.conclusion


def said(text: str, number: int = 1) -> dict[str, Any]:
    """Return a message of the agent."""
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "message": {"id": f"m{number}", "model": "claude-sonnet-4-5", "content": content}}


def by_cli(text: str, **fields: Any) -> dict[str, Any]:
    """Return a message of the CLI itself, dressed as one of the agent."""
    content = [{"type": "text", "text": text}]
    message = {"id": "x", "model": "<synthetic>", "content": content}
    return {"type": "assistant", "message": message, "timestamp": TIMESTAMP, **fields}


def heard(text: str) -> dict[str, Any]:
    """Return a tool result with a text."""
    block = {"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": True}
    return {"type": "user", "message": {"content": [block]}}


@pytest.mark.parametrize(("saying", "reset"), list(zip(SAYINGS, RESETS, strict=True)))
def test_d01_every_known_saying_of_a_limit_is_limited_with_its_reset(saying: str, reset: Instant) -> None:
    failed = Session(by_cli(saying, error="rate_limit"), {**BROKE, "result": saying})
    printed = Session(saying.encode())
    written = Session(said("on it"))
    for session, stderr in ((failed, ""), (printed, ""), (written, saying)):
        conclusion = session.end(1, None, stderr)
        assert (conclusion.session_class, conclusion.reset_at) == (SessionClass.LIMITED, reset)
        assert [event.reset_at for event in session.events if isinstance(event, Limit)] == [reset]


@pytest.mark.parametrize("saying", SAYINGS)
def test_d11_a_limit_banner_is_no_result_even_when_it_calls_itself_a_success(saying: str) -> None:
    session = Session(said("on it"), by_cli(saying), {**DONE, "result": saying})
    conclusion = session.end(0)
    assert (conclusion.session_class, conclusion.final_text) == (SessionClass.LIMITED, "")


def test_d23_what_the_agent_says_or_reads_is_never_taken_for_the_vendor() -> None:
    everything = "\n".join((*SAYINGS, '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}'))
    quoted = [said(everything), heard(everything), said(everything, 2)]
    success = Session(*quoted, {**DONE, "result": everything}).end(0)
    assert (success.session_class, success.final_text, success.reset_at) == (SessionClass.CLEAN, everything, None)
    assert Session(*quoted).end(None, 9).session_class is SessionClass.CRASHED
    assert Session(*quoted, {**DONE, "result": everything}).end(1).session_class is SessionClass.CRASHED
    broken = Session(*quoted, {**BROKE, "result": None, "errors": ["x"]}).end(1)
    assert (broken.session_class, broken.reset_at) == (SessionClass.CRASHED, None)
    capped = Session(*quoted, {**BROKE, "subtype": "error_max_turns", "result": None}).end(1)
    assert capped.session_class is SessionClass.TURN_CAP


def test_d23_a_torn_line_with_the_agent_s_words_is_no_word_of_the_vendor() -> None:
    torn = json.dumps(said(SAYINGS[0])).encode()
    for cut in range(1, len(torn)):
        conclusion = Session(said("on it"), torn[:cut], torn[cut:]).end(None, 9)
        assert conclusion.session_class is SessionClass.CRASHED, cut


def test_completed_is_no_reason_to_doubt_a_success() -> None:
    conclusion = Session(said("done"), {**DONE, "result": "done"}).end(0)
    assert (conclusion.session_class, conclusion.final_text) == (SessionClass.CLEAN, "done")


@pytest.mark.parametrize("exit_code", [None, 0, 1])
def test_d14_a_good_result_stands_against_a_late_failure_without_a_turn(exit_code: int | None) -> None:
    good = {**DONE, "result": "the answer"}
    conclusion = Session(said("the answer"), good, {**BROKE, "errors": ["late"]}).end(exit_code)
    assert (conclusion.session_class, conclusion.final_text) == (SessionClass.CLEAN, "the answer")


def test_d14_the_first_good_result_wins() -> None:
    first, second = {**DONE, "result": "the answer"}, {**DONE, "result": "and a remark"}
    assert Session(said("x"), first, second).end(0).final_text == "the answer"
    assert Session(said("x"), {**BROKE, "num_turns": 2}, second).end(0).final_text == "and a remark"
    assert Session(said("x"), {**DONE, "result": ""}, second).end(0).final_text == "and a remark"


def test_d14_a_failure_that_took_turns_after_a_good_result_counts() -> None:
    late = {**BROKE, "num_turns": 2, "api_error": "usage_limit_reached", "result": SAYINGS[0]}
    conclusion = Session(said("x"), {**DONE, "result": "x"}, late).end(1)
    assert (conclusion.session_class, conclusion.final_text) == (SessionClass.LIMITED, "")


@pytest.mark.parametrize(("exit_code", "signal"), [(0, None), (None, None), (143, None), (None, 9)])
def test_d13_a_session_without_a_result_is_never_clean(exit_code: int | None, signal: int | None) -> None:
    conclusion = Session(said("all done")).end(exit_code, signal)
    assert (conclusion.session_class, conclusion.final_text) == (SessionClass.CRASHED, "")
    silent = Session({"type": "system", "subtype": "init", "session_id": "r"}).end(exit_code, None)
    assert silent.session_class is SessionClass.DEAD


def test_d22_a_refused_tool_that_was_needed_is_denied_and_not_done() -> None:
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make deploy"}}
    asked = {"type": "assistant", "message": {"id": "m", "content": [use]}}
    refusal = {"type": "system", "subtype": "permission_denied", "tool_use_id": "t", "tool_name": "Bash"}
    end = [asked, refusal, heard("denied"), said("I could not."), {**DONE, "result": "I could not."}]
    assert Session(*end).end(0).session_class is SessionClass.DENIED


@pytest.mark.parametrize(
    ("info", "reset"),
    [
        ({"status": "rejected", "resetsAt": 1_795_969_442, "rateLimitType": "five_hour"}, 1_795_969_442_000_000),
        ({"status": "rejected", "unifiedWindows": {"five_hour": {"status": "rejected", "resetsAt": 7}}}, 7_000_000),
        ({"status": "rejected", "unifiedWindows": {"seven_day": {"status": "allowed", "resetsAt": 7}}}, None),
        ({"status": "rejected", "rateLimitType": "five_hour"}, None),
        ({"status": "rejected", "resetsAt": "soon"}, None),
        ({"status": "rejected", "resetsAt": -1}, None),
    ],
)
def test_d07_structured_limit_is_read_with_or_without_its_reset(info: dict[str, Any], reset: int | None) -> None:
    conclusion = Session(said("x"), {**TOLD, "rate_limit_info": info}).end(143)
    assert (conclusion.session_class, conclusion.reset_at) == (SessionClass.LIMITED, reset)


def test_limit_without_an_event_s_reset_gets_it_from_the_cli_s_words() -> None:
    info = {"status": "rejected", "rateLimitType": "five_hour"}
    session = Session({**TOLD, "rate_limit_info": info}, {**BROKE, "result": SAYINGS[0]}, started_at=NOW)
    assert session.end(1).reset_at == RESETS[0]
    timeless = Session({**TOLD, "rate_limit_info": info}, {**BROKE, "result": SAYINGS[0]}, started_at=None)
    assert timeless.end(1).reset_at is None


def test_time_of_day_is_understood_by_the_newest_time_of_the_stream() -> None:
    tomorrow = "2026-11-26T22:00:00.000Z"
    late = by_cli(SAYINGS[0], error="rate_limit") | {"timestamp": tomorrow}
    conclusion = Session(late, {**BROKE, "result": SAYINGS[0]}).end(1)
    assert conclusion.reset_at == from_text("2026-11-27T00:00:00Z")
    nonsense = late | {"timestamp": "yesterday"}
    assert Session(nonsense, {**BROKE, "result": SAYINGS[0]}).end(1).reset_at == RESETS[0]


def test_limit_and_error_that_the_agent_overcame_are_forgotten() -> None:
    told = {**TOLD, "rate_limit_info": {"status": "rejected", "resetsAt": 1_795_969_442}}
    wrong = by_cli("Invalid API key", error="authentication_failed", is_api_error_message=True)
    capped = {**BROKE, "subtype": "error_max_turns", "num_turns": 4}
    conclusion = Session(wrong, told, said("going on"), capped).end(1)
    assert (conclusion.session_class, conclusion.reset_at) == (SessionClass.TURN_CAP, None)


@pytest.mark.parametrize("text", ["You've hit your org's monthly spend limit", "Credit balance is too low"])
def test_d10_spent_money_is_billing_and_no_limit_that_ends_by_itself(text: str) -> None:
    session = Session(by_cli(text, error="unknown"), {**BROKE, "api_error_status": 429, "result": text})
    assert session.end(1).session_class is SessionClass.BILLING


@pytest.mark.parametrize("code", ["ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN"])
def test_d30_a_network_that_fails_is_transient(code: str) -> None:
    text = f"API Error: Unable to connect to API ({code})"
    session = Session(by_cli(text, error="unknown"), {**BROKE, "terminal_reason": "", "result": text})
    assert session.end(1).session_class is SessionClass.TRANSIENT
    assert Session(said("x")).end(1, None, text).session_class is SessionClass.TRANSIENT


def test_d34_a_model_that_is_gone_is_no_trouble_that_passes() -> None:
    text = "There's an issue with the selected model (claude-old). It may not exist"
    session = Session(by_cli(text, error="model_not_found"), {**BROKE, "api_error_status": 404, "result": text})
    assert session.end(1).session_class is SessionClass.MODEL_MISSING
