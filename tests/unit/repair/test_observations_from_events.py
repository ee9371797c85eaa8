"""What counts against a tool, what does not, and how much of a session's time is its own."""

from dataclasses import replace
from typing import Any

import pytest
from told_session import TOOL, Told

from workloop.domain.errors import BadRequest, EvidenceRejected
from workloop.domain.session import McpState, ToolKind, ToolResultClass
from workloop.repair.observations.finding import ObservationKind, ObservationSource
from workloop.repair.observations.from_events import evidence_holds, observations_from_events, unpaired
from workloop.repair.observations.suggestions import Reproducer, Suggestion, admit
from workloop.repair.observations.thresholds import Thresholds

SLOW = Thresholds(slow_ms=1_000)
FAULT = ToolResultClass.TOOL_FAULT


def kinds(told: Told, thresholds: Thresholds = SLOW) -> list[tuple[str, int]]:
    return [(one.kind.value, one.measured) for one in observations_from_events(told.events, thresholds)]


@pytest.mark.parametrize("result", list(ToolResultClass))
def test_only_faults_timeouts_and_missing_tools_count_against_a_tool(result: ToolResultClass) -> None:
    expected = {
        ToolResultClass.TOOL_FAULT: [("tool_error", 1)],
        ToolResultClass.TIMEOUT: [("tool_error", 1)],
        ToolResultClass.MISSING_TOOL: [("missing_tool", 1)],
    }
    assert kinds(Told().call(0).end(10, result)) == expected.get(result, [])


@pytest.mark.parametrize("kind", [ToolKind.SHELL, ToolKind.WEB])
def test_a_command_or_the_network_that_takes_too_long_is_no_fault_of_the_harness(kind: ToolKind) -> None:
    assert kinds(Told().call(0, kind=kind).end(9_000, ToolResultClass.TIMEOUT)) == []
    assert kinds(Told().call(0, kind=kind).end(9_000, ToolResultClass.COMMAND_NONZERO)) == []
    assert kinds(Told().call(0, kind=kind).end(9_000)) == []


def test_a_command_that_the_operator_set_a_time_for_is_slow_beyond_it() -> None:
    timed = Thresholds(slow_ms_of={"bash": 2_000})
    assert kinds(Told().call(0, name="bash", kind=ToolKind.SHELL).end(2_000, name="bash"), timed) == [
        ("slow_tool", 2_000)
    ]


@pytest.mark.parametrize(
    ("took", "expected"), [(999, []), (1_000, [("slow_tool", 1_000)]), (1_001, [("slow_tool", 1_001)])]
)
def test_a_tool_is_slow_from_its_threshold_on(took: int, expected: list[tuple[str, int]]) -> None:
    assert kinds(Told().call(50).end(50 + took)) == expected


@pytest.mark.parametrize("between", ["text", "usage", "retry", "denied"])
def test_what_a_provider_or_a_person_took_is_not_the_tool_s_time(between: str) -> None:
    told = Told().call(0)
    getattr(told, between)(900_000)
    assert kinds(told.end(900_999)) == []


def test_a_slow_model_around_fast_tools_is_never_a_finding() -> None:
    told = Told().text(600_000).call(1_200_000).end(1_200_010).usage(1_900_000).retry(2_500_000)
    assert kinds(told) == []


@pytest.mark.parametrize("name", ["Task", "new_task", "AskUserQuestion", "ask_followup_question"])
def test_a_session_in_a_session_and_a_question_to_a_person_may_take_as_long_as_they_like(name: str) -> None:
    assert kinds(Told().call(0, name=name, kind=ToolKind.OTHER).end(1_800_000, name=name)) == []
    assert kinds(Told().call(0, name=name, kind=ToolKind.OTHER).end(9, ToolResultClass.TIMEOUT, name=name)) == []


def test_a_tool_is_not_charged_with_what_another_one_took_beside_it() -> None:
    told = Told().call(0, "c-1").call(0, "c-2", name="mcp__work__other")
    told.end(5_000, call_id="c-1").end(5_400, call_id="c-2", name="mcp__work__other")
    found = observations_from_events(told.events, SLOW)
    assert [(one.subject, one.measured) for one in found] == [(TOOL, 5_000)]


def test_the_harness_s_own_clock_counts_for_more_than_the_arrival_of_its_lines() -> None:
    assert kinds(Told().call(0).end(0, took_us=5_026_000)) == [("slow_tool", 5_026)]
    assert kinds(Told().call(0).end(90_000, took_us=20_000)) == []


def test_calls_without_an_end_and_ends_without_a_call_are_listed_and_prove_nothing() -> None:
    told = Told().end(9_000, FAULT, call_id="never").call(9_000, "c-1").call(9_500, "c-1").end(9_600, call_id="c-1")
    told.call(9_700, "open")
    assert kinds(told) == []
    assert unpaired(told.events) == {"s-1": (1, 2, 5)}


@pytest.mark.parametrize(
    "answer",
    [
        "Permission denied: /etc/shadow",
        "the path is outside the workspace",
        "command not allowed",
        "refused by policy",
        "HTTP 403 from the registry",
        '{"code": "LEASE_LOST", "suggested_fix": "stop writing"}',
        "1 validation error for buildArguments",
        "MCP error -32602: Invalid arguments for tool build",
        "status 429: too many requests",
        "the model is overloaded",
    ],
)
def test_an_answer_that_tells_of_a_refusal_or_wrong_arguments_or_a_provider_is_no_fault(answer: str) -> None:
    told = Told().call(0).end(10, FAULT, answer=answer)
    assert kinds(told) == []


@pytest.mark.parametrize(
    "answer",
    ["KeyError: 'name'\n  File \"build.py\", line 403", "TypeError: build() got an unexpected keyword argument"],
)
def test_a_traceback_is_a_fault_whatever_numbers_stand_in_it(answer: str) -> None:
    assert kinds(Told().call(0).end(10, FAULT, answer=answer)) == [("tool_error", 1)]


def test_a_tool_whose_server_was_not_there_is_the_server_s_trouble() -> None:
    for result in (FAULT, ToolResultClass.MISSING_TOOL):
        assert kinds(Told().server(0, McpState.FAILED).call(0).end(10, result)) == []
        assert kinds(Told().server(0, McpState.PENDING).server(5, McpState.CONNECTED).call(6).end(10, result)) != []


def test_an_agent_s_own_tool_that_is_not_there_has_been_withheld() -> None:
    missing = ToolResultClass.MISSING_TOOL
    assert kinds(Told().call(0, name="Bash").end(10, missing, name="Bash")) == []
    named = Thresholds(own_tools=frozenset())
    assert kinds(Told().call(0, name="Bash").end(10, missing, name="Bash"), named) == [("missing_tool", 1)]


def test_a_finding_is_made_from_its_count_on_over_all_sessions_together() -> None:
    first, second = Told("s-1").call(0).end(1, FAULT), Told("s-2").call(0).end(1, FAULT)
    twice = Thresholds(errors=2)
    assert observations_from_events(first.events, twice) == ()
    (found,) = observations_from_events([*first.events, *second.events], twice)
    assert (found.measured, found.threshold, len(found.evidence)) == (2, 2, 2)


def test_the_fingerprint_names_the_fault_and_not_the_day_it_was_seen() -> None:
    early = observations_from_events(Told("s-1").call(0).end(5, FAULT, answer="at 0x7f01").events)
    late = observations_from_events(Told("s-9").text(7).call(8).end(90, FAULT, "c-1", answer="at 0x8a22").events)
    assert early[0].fingerprint == late[0].fingerprint
    assert early[0].evidence != late[0].evidence


def test_evidence_holds_for_the_events_it_was_taken_from_and_for_no_others() -> None:
    told = Told().call(0).end(5, FAULT).text(6)
    ref = observations_from_events(told.events)[0].evidence[0]
    assert ref.places == (1, 2)
    assert evidence_holds(ref, told.events)
    assert not evidence_holds(ref, told.events[:2])
    assert not evidence_holds(replace(ref, places=(1, 3)), told.events)
    assert not evidence_holds(replace(ref, session_id="s-2"), told.events)


@pytest.mark.parametrize("wrong", [{"errors": 0}, {"missing": True}, {"slow_ms": 0}, {"slow_ms_of": {"a": -1}}])
def test_a_threshold_that_everything_or_nothing_reaches_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        Thresholds(**wrong)


OTHERS = Reproducer(name="build-fails", digest="a" * 64, written_by="operator")


def lead(told: Told) -> Suggestion:
    evidence = observations_from_events(told.events)[0].evidence
    return Suggestion(kind=ObservationKind.MISSING_TOOL, subject="lint", suggested_by="worker-1", evidence=evidence)


def test_a_worker_s_lead_with_evidence_and_somebody_else_s_reproducer_becomes_an_observation() -> None:
    told = Told().call(0).end(5, FAULT)
    seen = admit(lead(told), OTHERS, {"s-1": told.events})
    assert (seen.source, seen.subject, seen.measured) == (ObservationSource.SUGGESTION, "lint", 1)


@pytest.mark.parametrize(
    ("code", "changes", "reproducer", "kept"),
    [
        ("SUGGESTION_WITHOUT_EVIDENCE", {"evidence": ()}, OTHERS, 2),
        ("SUGGESTION_WITHOUT_REPRODUCER", {}, None, 2),
        ("REPRODUCER_NOT_INDEPENDENT", {}, replace(OTHERS, written_by="worker-1"), 2),
        ("EVIDENCE_MISMATCH", {}, OTHERS, 1),
        ("EVIDENCE_ELSEWHERE", {}, OTHERS, 0),
    ],
)
def test_a_lead_without_either_stays_one(
    code: str, changes: dict[str, tuple[()]], reproducer: Reproducer | None, kept: int
) -> None:
    told = Told().call(0).end(5, FAULT)
    record = {"s-1": told.events[:kept]} if kept else {}
    suggestion = replace(lead(told), **changes)
    with pytest.raises(EvidenceRejected) as refused:
        admit(suggestion, reproducer, record)
    assert refused.value.code == code


@pytest.mark.parametrize("result", [each for each in ToolResultClass if each not in (FAULT, ToolResultClass.TIMEOUT)])
def test_a_call_that_did_not_come_to_the_tool_s_own_end_is_never_slow(result: ToolResultClass) -> None:
    expected = [("slow_tool", 9_000)] if result is ToolResultClass.OK else []
    slow = observations_from_events(Told().call(0).end(9_000, result).events, SLOW)
    assert [(one.kind.value, one.measured) for one in slow if one.kind is ObservationKind.SLOW_TOOL] == expected


def test_findings_come_in_the_same_order_whatever_order_they_were_made_in() -> None:
    calls = [("mcp__z", "c-1"), ("mcp__a", "c-2"), ("mcp__m", "c-3")]
    orders = [calls, calls[::-1]]
    found: list[list[str]] = []
    for order in orders:
        told = Told()
        for name, call_id in order:
            told.call(0, call_id, name).end(0, FAULT, call_id, name)
        found.append([one.subject for one in observations_from_events(told.events)])
    assert found == [["mcp__a", "mcp__m", "mcp__z"]] * 2
