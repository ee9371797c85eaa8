"""What can be held against a harness in recorded sessions of real agent programs, and what never can."""

import pytest
from recorded_events import HARNESSES, names_of, recorded

from workloop.domain.session import Denied, ToolResult, ToolResultClass
from workloop.repair.observations.finding import ObservationKind, fingerprint
from workloop.repair.observations.from_events import observations_from_events
from workloop.repair.observations.lines import event_of, line_of, lines_of
from workloop.repair.observations.reading import EvidenceState, parsed
from workloop.repair.observations.thresholds import Thresholds

LOW = Thresholds(slow_ms=3_000)
EVERYTHING = [(harness, name) for harness in HARNESSES for name in names_of(harness)]
# The only sessions of all that were recorded in which a tool of the harness failed, was not there, or slept for long.
FAILED = {("claude", "tool-fail"), ("codex", "exec-tool-fail"), ("opencode", "tool-fail"), ("qwen", "tool-fail")}
MISSED = {("claude", "bad-tool"), ("copilot", "bad-tool"), ("opencode", "bad-tool"), ("qwen", "bad-tool")}


def found(harness: str, name: str, thresholds: Thresholds = LOW) -> list[tuple[str, str]]:
    """Return kind and subject of what is found in a recording."""
    seen = observations_from_events(recorded(harness, name), thresholds)
    return [(one.kind.value, one.subject) for one in seen]


def prints(harness: str, name: str) -> set[str]:
    """Return the fingerprints of what is found in a recording."""
    return {one.fingerprint for one in observations_from_events(recorded(harness, name), LOW)}


def test_a_tool_that_fails_is_the_same_finding_in_every_harness() -> None:
    expected = fingerprint(ObservationKind.TOOL_ERROR, "mcp__work__fail", "tool_fault")
    assert [prints(*each) for each in sorted(FAILED)] == [{expected}] * len(FAILED)


def test_a_tool_that_is_not_there_is_the_same_finding_in_every_harness() -> None:
    expected = fingerprint(ObservationKind.MISSING_TOOL, "no_such_tool", "missing_tool")
    assert [prints(*each) for each in sorted(MISSED)] == [{expected}] * len(MISSED)


@pytest.mark.parametrize(
    ("harness", "name"),
    [("claude", "slow-tool"), ("codex", "exec-slow-tool"), ("opencode", "slow-tool"), ("qwen", "slow-tool")],
)
def test_a_slow_tool_is_the_same_finding_in_every_harness(harness: str, name: str) -> None:
    assert prints(harness, name) == {fingerprint(ObservationKind.SLOW_TOOL, "mcp__work__slow")}


@pytest.mark.parametrize(("harness", "name"), EVERYTHING)
def test_nothing_but_a_tool_s_own_fault_is_ever_a_finding(harness: str, name: str) -> None:
    about = {subject for _, subject in found(harness, name)}
    assert about <= {"mcp__work__fail", "mcp__work__slow", "no_such_tool"}
    if (harness, name) not in FAILED | MISSED and "slow" not in name:
        assert about == set()


@pytest.mark.parametrize(("harness", "name"), [each for each in EVERYTHING if "denied" in each[1]])
def test_a_refusal_by_a_security_control_is_never_a_finding(harness: str, name: str) -> None:
    """Also not ten times, and not where a program hides a tool that it may not use, so that it seems to be missing."""
    events = [event for number in range(10) for event in recorded(harness, name, f"session-{number}")]
    assert observations_from_events(events, LOW) == ()


def test_refusals_missing_tools_and_wrong_arguments_are_really_in_the_recordings() -> None:
    """The tests above would hold of recordings without them too."""
    classes = {event.result for each in EVERYTHING for event in recorded(*each) if isinstance(event, ToolResult)}
    assert classes >= {
        ToolResultClass.REFUSED,
        ToolResultClass.MISSING_TOOL,
        ToolResultClass.MODEL_ARGUMENT,
        ToolResultClass.COMMAND_NONZERO,
        ToolResultClass.TIMEOUT,
        ToolResultClass.CANCELLED,
    }
    assert any(isinstance(event, Denied) for each in EVERYTHING for event in recorded(*each))


@pytest.mark.parametrize(("harness", "name"), EVERYTHING)
def test_a_recording_that_is_written_down_and_read_again_says_the_same(harness: str, name: str) -> None:
    events = recorded(harness, name)
    assert [event_of(line_of(event), "session-1") for event in events] == events
    reading = parsed(lines_of(events), "session-1")
    assert reading.state is EvidenceState.SOUND
    assert reading.observations(LOW) == observations_from_events(events, LOW)


def test_the_same_events_in_another_order_of_sessions_say_the_same() -> None:
    one, two = recorded("claude", "tool-fail", "s-1"), recorded("qwen", "tool-fail", "s-2")
    forward, backward = observations_from_events([*one, *two]), observations_from_events([*two, *one])
    assert forward == backward
    assert [observation.measured for observation in forward] == [2]
    assert [ref.session_id for ref in forward[0].evidence] == ["s-1", "s-2"]
