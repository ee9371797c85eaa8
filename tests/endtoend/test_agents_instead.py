"""Two real agents that may do the work instead of each other: what the one cannot do now, the other one does."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from agent_stage import AGENTS, MEND, NIGHT_SECONDS, TEST, AgentStage, item, require

from workloop.testing.model.moves import BAD_KEY, Scenario, usage_limit
from workloop.testing.model_scenarios import honest_worker, shell

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(NIGHT_SECONDS)]
NewStage = Callable[[str, str, Mapping[str, Scenario]], AgentStage]
PAIRS = pytest.mark.parametrize(("first", "second"), [("codex", "claude"), ("claude", "codex")])
HONEST = honest_worker(MEND, TEST)
HOUR = 3600


@pytest.fixture
def new_stage(tmp_path: Path) -> Iterator[NewStage]:
    """Return a maker of benches with a preferred agent and another one."""
    require(*AGENTS)
    made: list[AgentStage] = []

    def make(first: str, second: str, parts: Mapping[str, Scenario]) -> AgentStage:
        made.append(AgentStage(tmp_path, [first, second], parts, loop=f'agents = ["{first}", "{second}"]'))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


def spent(stage: AgentStage) -> list[tuple[str, str, str]]:
    """Return all sessions: whose item, by which agent, and how each ended."""
    return [(row["item"], row["harness"], row["class"]) for row in stage.sessions()]


@PAIRS
def test_item_whose_agent_met_its_limit_is_done_by_the_other_one_at_once(
    new_stage: NewStage, first: str, second: str
) -> None:
    limit = usage_limit(resets_at=int(time.time()) + HOUR, retry_after=HOUR)
    stage = new_stage(
        first, second, {"a work 1": [shell("true", "begin"), limit], "a work 2": HONEST, "b work": HONEST}
    )
    bench = stage.open()
    for number, key in enumerate("ab", start=1):
        bench.add(key, **item(verification="host", priority=number))
    code, _, loop = bench.run("--once")

    assert (code, bench.state("a"), bench.state("b")) in {(0, *["succeeded"] * 2), (75, *["succeeded"] * 2)}, (
        loop.events
    )
    assert sorted(spent(stage)) == sorted([("a", first, "limited"), ("a", second, "clean"), ("b", second, "clean")])
    shown = bench.show("a")
    assert (bench.ends("a"), shown["attempts"], shown["infra"]) == (["infra", "complete"], 1, 1)
    assert [told["gate"].partition("/")[0] for told in loop.named("limited")] == [first]
    assert not stage.processes()
    assert stage.leaks() == []


@PAIRS
def test_agent_that_cannot_log_in_is_stopped_with_a_question_and_the_other_one_does_the_rest(
    new_stage: NewStage, first: str, second: str
) -> None:
    stage = new_stage(first, second, {"a work 1": [BAD_KEY], "a work 2": HONEST, "b work": HONEST})
    bench = stage.open()
    for number, key in enumerate("ab", start=1):
        bench.add(key, **item(verification="host", priority=number))
    loop = bench.start()
    stopped = loop.wait_for("stopped")
    bench.wait_until(lambda: bench.state("b") == "succeeded")
    (question,) = bench.show("a")["questions"]
    assert stopped["gate"].startswith(f"{first}/")
    assert f"log {stopped['gate']} in again" in question["asks"]
    bench.client.call("answer", {"key": "a", "text": "logged in again"})
    bench.wait_until(lambda: bench.state("a") == "succeeded")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0

    assert spent(stage)[0] == ("a", first, "auth")
    assert spent(stage)[1] == ("b", second, "clean")
    assert (bench.ends("a"), bench.show("a")["attempts"]) == (["infra", "complete"], 1)
    assert not stage.processes()
    assert stage.leaks() == []
