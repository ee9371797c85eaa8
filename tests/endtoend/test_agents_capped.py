"""A ceiling that another session would meet again: a person is asked to split the item or to raise it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_stage import NIGHT_SECONDS, AgentStage, item, require

from workloop.testing.model.moves import Say
from workloop.testing.model_scenarios import shell

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(NIGHT_SECONDS)]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[AgentStage]:
    """Return a bench whose sessions may take one turn, which is too little."""
    require("claude")
    parts = {"long work": [shell("true", "begin"), shell("true", "go on"), Say("never said")]}
    made = AgentStage(tmp_path, ["claude"], parts, {"claude": {"turns_max": 1}})
    yield made
    made.close()


def test_session_that_meets_its_turn_limit_parks_the_item_with_the_question_whether_to_split_or_to_raise(
    stage: AgentStage,
) -> None:
    bench = stage.open()
    bench.add("long", **item(verification="host"))
    code, report, loop = bench.run("--once")

    assert (code, report["sessions"], bench.state("long")) == (0, 1, "deferred"), loop.events
    assert loop.wait_for("ended", key="long")["class"] == "turn_cap"
    (question,) = bench.show("long")["questions"]
    assert "Split the item, or raise the ceiling" in question["asks"]
    assert not stage.processes()
    assert stage.leaks() == []
