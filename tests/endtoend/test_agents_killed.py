"""A loop that is killed while a real agent's tool runs, and what the next one makes of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_stage import AGENTS, MEND, NIGHT_SECONDS, TEST, AgentStage, going_on, item, require

from loop_bench import wait_for_file
from workloop.testing.model_scenarios import honest_worker, shell

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(NIGHT_SECONDS)]
HONEST = honest_worker(MEND, TEST)


@pytest.fixture(params=AGENTS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AgentStage]:
    """Return a bench with one agent, whose first session is in the middle of a tool that takes for ever."""
    agent = str(request.param)
    require(agent)
    mark = tmp_path / "marks" / "up"
    sleeps = f"echo half > half.txt; touch {mark}; python3 -c 'import time; time.sleep(271)'"
    parts = {"slow work 1": [shell(sleeps, "wait")], "slow work 2": going_on(1, HONEST)}
    made = AgentStage(tmp_path, [agent], parts, {agent: {"writable": [str(mark.parent)]}})
    yield made
    made.close()


def test_session_of_a_killed_loop_is_gone_on_with_by_its_name_in_its_own_work_tree(stage: AgentStage) -> None:
    bench = stage.open()
    bench.add("slow", **item(verification="host", lease_seconds=3600))
    loop = bench.start()
    loop.wait_for("claimed", key="slow")
    wait_for_file(bench.mark("up"), NIGHT_SECONDS / 3)
    before = {process.pid for process in stage.processes()} - {loop.popen.pid}
    assert before
    loop.kill()

    code, report, again = bench.run("--once")
    assert (code, report["sessions"], bench.state("slow")) == (0, 1, "succeeded"), again.events
    shown = bench.show("slow")
    assert (bench.ends("slow"), shown["infra"], shown["attempts"]) == (["infra", "complete"], 1, 1)
    killed, resumed = stage.sessions()
    assert (killed["class"], resumed["class"]) == ("stopped", "clean")
    assert (resumed["resumes"], resumed["resume_id"]) == (killed["session"], killed["resume_id"])
    assert resumed["cwd"] == killed["cwd"]
    assert len({asked.session for asked in stage.heard}) == 1
    assert not stage.processes()
    assert stage.leaks() == []
