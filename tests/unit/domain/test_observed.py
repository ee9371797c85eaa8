"""Observed claims: what a session holds is learnt from the answers of our tool alone."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from workloop.domain.observed import Observed, ObservedClaim, observed
from workloop.domain.session import (
    CUT_MARK,
    SessionEvent,
    Stamp,
    Text,
    ToolCall,
    ToolKind,
    ToolResult,
    ToolResultClass,
)

AT = Stamp(seq=1, arrival_us=0, session_id="s-1")
CLAIM: dict[str, Any] = {
    "item": {"id": "0000000000001", "key": "app/1", "role": "work", "attempt": 3},
    "token": "0000000000001.3.abc",
    "lease_until": "2030-01-01T00:00:00Z",
    "contract": {"title": "do it"},
}
HELD = ObservedClaim(key="app/1", item_id="0000000000001", fence=3, token="0000000000001.3.abc")
PROBLEM = {"type": "urn:workloop:error:item-held", "code": "ITEM_HELD", "title": "held", "suggested_fix": "wait"}
SETTLES = ("complete", "retry", "defer", "release", "supersede")


def call(number: int, arguments: Any, name: str = "mcp__workloop__work_loop") -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(at=AT, call_id=f"c{number}", name=name, kind=ToolKind.MCP, arguments=text)


def result(number: int, answer: Any, kind: ToolResultClass = ToolResultClass.OK) -> ToolResult:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return ToolResult(at=AT, call_id=f"c{number}", name="", result=kind, answer=text)


def claimed(number: int = 1) -> list[SessionEvent]:
    return [call(number, {"action": "claim", "holder": "me"}), result(number, CLAIM)]


def settled(action: str, answer: Any, kind: ToolResultClass = ToolResultClass.OK) -> list[SessionEvent]:
    return [call(2, {"action": action, "token": HELD.token}), result(2, answer, kind)]


def test_a_granted_claim_is_held_until_its_settle_is_accepted() -> None:
    seen = observed(claimed())
    assert (seen.claim, seen.settled, seen.unclear) == (HELD, (), ())
    assert "abc" not in repr(seen), "a token is never shown"


@pytest.mark.parametrize("action", SETTLES)
def test_every_settle_ends_the_claim_once_the_tool_accepted_it(action: str) -> None:
    seen = observed([*claimed(), *settled(action, {"key": "app/1", "state": "pending"})])
    assert (seen.claim, seen.settled) == (None, ((HELD, action),))


@pytest.mark.parametrize("action", SETTLES)
@pytest.mark.parametrize("kind", [ToolResultClass.OK, ToolResultClass.TOOL_FAULT, ToolResultClass.UNKNOWN])
def test_a_refused_settle_leaves_the_claim_held(action: str, kind: ToolResultClass) -> None:
    seen = observed([*claimed(), *settled(action, PROBLEM, kind)])
    assert (seen.claim, seen.settled, seen.unclear) == (HELD, (), ())


def test_a_settle_that_was_asked_and_not_answered_leaves_the_claim_held() -> None:
    assert observed([*claimed(), call(2, {"action": "complete"})]).claim == HELD


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (PROBLEM, ToolResultClass.TOOL_FAULT),
        (PROBLEM, ToolResultClass.UNKNOWN),
        (PROBLEM, ToolResultClass.OK),
        ({"item": None, "message": "nothing is ready", "reasons": {}}, ToolResultClass.OK),
        ("permission denied", ToolResultClass.REFUSED),
        ("bad arguments", ToolResultClass.MODEL_ARGUMENT),
    ],
)
def test_a_lost_race_and_an_empty_queue_leave_nothing(answer: Any, kind: ToolResultClass) -> None:
    asks = call(1, {"action": "claim", "holder": "me", "key": "app/1"})
    assert observed([asks, result(1, answer, kind)]) == Observed()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("<persisted-output>too large, see the file</persisted-output>", ToolResultClass.OK),
        (json.dumps(CLAIM)[:40] + CUT_MARK, ToolResultClass.OK),
        ({"task_id": "T-1"}, ToolResultClass.OK),
        ({"item": {"key": "app/1"}}, ToolResultClass.OK),
        ("", ToolResultClass.TIMEOUT),
        ("cancelled", ToolResultClass.CANCELLED),
    ],
)
def test_a_claim_whose_answer_cannot_be_read_is_said_aloud_with_its_key(answer: Any, kind: ToolResultClass) -> None:
    seen = observed([call(1, {"action": "claim", "key": "app/1"}), result(1, answer, kind)])
    assert seen.claim is None
    assert len(seen.unclear) == 1
    assert "app/1" in seen.unclear[0]


def test_a_claim_that_was_never_answered_is_said_aloud() -> None:
    assert observed([call(1, {"action": "claim", "key": "app/1"})]).unclear == ("claim of app/1 was never answered",)
    assert observed([call(1, {"action": "show"})]).unclear == ()


WRAPS: list[Callable[[str], Any]] = [
    lambda text: text,
    lambda text: [{"type": "text", "text": text}],
    lambda text: {"content": [{"type": "text", "text": text}], "structured_content": None},
    lambda text: {"content": [{"type": "text", "text": "see below"}], "structuredContent": json.loads(text)},
    lambda text: {"Ok": {"content": [{"type": "text", "text": text}], "isError": False}},
    lambda text: {"output": text, "metadata": {"truncated": False}},
    lambda text: json.dumps(text),
    lambda text: [{"type": "image"}, {"type": "text", "text": text}],
]


@pytest.mark.parametrize("wrap", WRAPS)
def test_the_answer_is_found_inside_what_agent_programs_wrap_around_it(wrap: Callable[[str], Any]) -> None:
    seen = observed([call(1, {"action": "claim"}), result(1, wrap(json.dumps(CLAIM)))])
    assert (seen.claim, seen.unclear) == (HELD, ())


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("mcp__workloop__work_loop", True),
        ("workloop.work_loop", True),
        ("workloop-work_loop", True),
        ("workloop_work_loop", True),
        ("work_loop", True),
        ("homework_loop", False),
        ("work_loop_admin", False),
        ("Bash", False),
    ],
)
def test_only_our_tool_is_listened_to(name: str, *, ours: bool) -> None:
    seen = observed([call(1, {"action": "claim"}, name), result(1, CLAIM)])
    assert (seen.claim is not None) is ours


def test_what_an_agent_only_says_or_reads_claims_nothing() -> None:
    said = Text(at=AT, text=json.dumps(CLAIM))
    read = ToolResult(at=AT, call_id="c9", name="Read", result=ToolResultClass.OK, answer=json.dumps(CLAIM))
    assert observed([said, read]) == Observed()


def test_a_settle_of_another_item_leaves_the_claim_held() -> None:
    other = {"key": "app/2", "state": "pending"}
    seen = observed([*claimed(), *settled("retry", other)])
    assert seen.claim == HELD


def test_a_second_claim_is_the_one_held_and_the_first_is_not_forgotten() -> None:
    second = {**CLAIM, "item": {**CLAIM["item"], "key": "app/2", "id": "2", "attempt": 1}, "token": "t2"}
    events = [*claimed(), call(3, {"action": "claim"}), result(3, second)]
    seen = observed(events)
    assert seen.claim is not None
    assert [held.key for held in seen.held] == ["app/1", "app/2"]
    done = observed([*events, *settled("complete", {"key": "app/1", "state": "candidate"})])
    assert [held.key for held in done.held] == ["app/2"]


def test_a_repeated_claim_answer_is_one_claim() -> None:
    again = [call(5, {"action": "claim"}), result(5, {**CLAIM, "replayed": True})]
    assert observed([*claimed(), *again]).held == (HELD,)


def test_a_second_attempt_at_one_item_is_told_from_the_first_by_its_token() -> None:
    later = {**CLAIM, "item": {**CLAIM["item"], "attempt": 4}, "token": "0000000000001.4.def"}
    events = [*claimed(), call(3, {"action": "claim"}), result(3, later)]
    seen = observed([*events, *settled("release", {"key": "app/1", "state": "pending"})])
    assert [held.fence for held in seen.held] == [4]


def test_a_verifiers_claim_counts_too() -> None:
    seen = observed([call(1, {"action": "verify", "key": "app/1"}), result(1, CLAIM)])
    assert seen.claim == HELD


def test_a_call_whose_arguments_cannot_be_read_is_judged_by_its_answer() -> None:
    assert observed([call(1, '{"action": "cla' + CUT_MARK), result(1, CLAIM)]).claim == HELD
    seen = observed([*claimed(), call(2, "{" + CUT_MARK), result(2, {"key": "app/1", "state": "candidate"})])
    assert seen.claim == HELD
    assert len(seen.unclear) == 1
    assert "app/1" in seen.unclear[0]


@pytest.mark.parametrize("action", ["heartbeat", "attach", "show", "status", "list", "why", "add_items", "promote"])
def test_no_other_action_changes_what_is_held(action: str) -> None:
    seen = observed([*claimed(), call(2, {"action": action}), result(2, {"key": "app/1", "state": "in_progress"})])
    assert (seen.claim, seen.unclear) == (HELD, ())


def test_no_answer_however_deep_or_odd_breaks_the_fold() -> None:
    odd: list[Any] = ["[" * 5_000, '{"content":' * 50 + "1" + "}" * 50, "null", "[]", "{}", "1", '"', "[null]"]
    for answer in odd:
        seen = observed([call(1, {"action": "claim"}), result(1, answer)])
        assert seen.claim is None
        assert len(seen.unclear) == 1
