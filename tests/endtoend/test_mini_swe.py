"""A session of the real mini-swe-agent as the harness of a bench run, and what its trajectory says of the harness."""

from collections import Counter
from pathlib import Path

import pytest
from mini_swe import BROKEN_SHELL, BROKEN_SKILL, WRONG_ENCODING, need_mini_swe
from mini_swe_model import HAND_IN, Mender, shell
from mini_swe_stage import BRANCH, CALL_MICROS, MiniSwe

from repair_stage import stopped
from workloop.domain.session import SessionClass, ToolResult, Usage
from workloop.repair.ledger.records import StopReason
from workloop.repair.observations import ObservationKind, read_events
from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Call, Move, Say
from workloop.testing.model_server import ModelServer

pytestmark = pytest.mark.real_agent
MENDER = Mender(module="tests.test_encode", bug=WRONG_ENCODING)


class Model:
    """A model that mends the encoding, and what it heard."""

    def __init__(self) -> None:
        self.heard: list[Conversation] = []
        self.server = ModelServer(self.casting)

    def casting(self, conversation: Conversation) -> list[Move]:
        """Return the script that has the next move at its place."""
        self.heard.append(conversation)
        return [MENDER.move(conversation)] * (conversation.step + 1)


def test_real_mini_swe_agent_mends_a_bug_behind_walls_on_the_meter_out_of_its_runtime(tmp_path: Path) -> None:
    need_mini_swe()
    model = Model()
    bench = MiniSwe(folder=tmp_path, model=model.server)
    seen = bench.see()
    stopped(seen, StopReason.QUEUE_COMPLETE)
    (report,) = bench.reports
    assert report.session_class is SessionClass.CLEAN, report
    assert seen.of("phase_end")[0]["enforced_by"] == "supervisor", seen.of("note")
    assert seen.of("charge")[0]["microusd"] == CALL_MICROS * len(model.heard)
    assert WRONG_ENCODING.before in bench.project.git("show", f"{BRANCH}:{WRONG_ENCODING.path}")
    reading = read_events(bench.evidence[0] / "session-1-events.jsonl", report.session_id)
    assert reading.observations() == ()
    ends = [event for event in reading.events if isinstance(event, ToolResult)]
    assert [(end.result, end.exit_code) for end in ends] == [
        ("ok", 0),
        ("command_nonzero", 1),
        ("ok", 0),
        ("ok", 0),
        ("ok", None),
    ]
    assert len([event for event in reading.events if isinstance(event, Usage)]) == len(model.heard)


def test_defects_of_a_tool_and_of_a_skill_show_in_what_the_trajectory_of_real_mini_swe_agent_says(
    tmp_path: Path,
) -> None:
    need_mini_swe()
    bench = MiniSwe(folder=tmp_path, model=Model().server, defects=(BROKEN_SHELL, BROKEN_SKILL))
    seen = bench.see()
    stopped(seen, StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    (report,) = bench.reports
    reading = read_events(bench.evidence[0] / "session-1-events.jsonl", report.session_id)
    found = Counter((each.kind, each.subject) for each in reading.observations() or ())
    assert found == {(ObservationKind.TOOL_ERROR, "bash"): 1, (ObservationKind.MISSING_TOOL, "run_tests"): 1}


def test_what_the_model_of_real_mini_swe_agent_does_wrong_is_told_and_is_no_finding_about_the_harness(
    tmp_path: Path,
) -> None:
    need_mini_swe()
    mistakes: list[Move] = [Call("bash", {"cmd": "ls"}), Say("I only talk."), shell("exit 7"), shell(HAND_IN)]

    def casting(heard: Conversation) -> list[Move]:
        misled = sum("Tool call error" in prompt for prompt in heard.prompts)
        return [mistakes[misled + heard.step]] * (heard.step + 1)

    bench = MiniSwe(folder=tmp_path, model=ModelServer(casting))
    stopped(bench.see(), StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    (report,) = bench.reports
    reading = read_events(bench.evidence[0] / "session-1-events.jsonl", report.session_id)
    ends = [event.result for event in reading.events if isinstance(event, ToolResult)]
    assert ends == ["model_argument", "command_nonzero", "ok"]
    assert len([event for event in reading.events if isinstance(event, Usage)]) == len(mistakes)
    assert reading.observations() == ()
