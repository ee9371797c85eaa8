"""A night of the loop with each real agent: what it builds, what goes wrong, and what is left of it in the morning."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from agent_stage import AGENTS, MEND, NIGHT_SECONDS, TEST, AgentStage, installed, item, require, told

from loop_bench import Facts, LoopProcess
from workloop.domain.handoff import MARKER
from workloop.testing.model.moves import Call, Hang, Say, Scenario
from workloop.testing.model_scenarios import WORK_LOOP, commit, honest_worker, lying_worker, shell, verifier

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(NIGHT_SECONDS)]

SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
HONEST = honest_worker(MEND, TEST)
NOTE = {"action": "attach", "evidence": [{"kind": "note", "ref": "SENTINEL-NOTE"}]}
HANDED_ON = f"Half of it stands.\n\n{MARKER}\nNOTE-TO-SUCCESSOR: half.txt is there, thing.txt is not mended yet.\n"
SILENT_SECONDS = 20
PARTS: dict[str, Scenario] = {
    "good work": [*HONEST[:-2], Call(WORK_LOOP, NOTE, say="SENTINEL-SAID"), HONEST[-2], Say("SENTINEL-FINAL")],
    "good~v1 verify": verifier("passed", test_command=TEST),
    "lie work": lying_worker(),
    "lie~r1 repair": HONEST,
    "hang work 1": [shell("true", "begin"), Hang()],
    "hang work 2": HONEST,
    "handed work": [shell("echo half > half.txt", "begin"), commit("half.txt", "half of it"), Say(HANDED_ON)],
    "handed successor": HONEST,
}


class Night:
    """What one run with one agent left."""

    def __init__(self, stage: AgentStage, ended: tuple[int, Facts, LoopProcess]) -> None:
        self.stage = stage
        self.code, self.report, self.loop = ended

    def show(self, key: str) -> Facts:
        return self.stage.bench.show(key)

    def ends(self, key: str) -> list[str | None]:
        return self.stage.bench.ends(key)

    def advice(self, key: str) -> str:
        """Return what the second attempt's brief says of the first one."""
        brief = self.stage.of(f"{key} work 2")[0].prompt
        return brief.partition("This time: ")[2].partition("\n")[0]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Night]]:
    """Run a loop over four items with each agent, both at once; no process may live when the tests are over."""
    with ExitStack() as opened:
        stages: dict[str, AgentStage] = {}
        for agent in filter(installed, AGENTS):
            stages[agent] = stage_of(agent, tmp_path_factory.mktemp(agent))
            opened.callback(stages[agent].close)
            bench = stages[agent].open()
            for number, key in enumerate(("hang", "lie", "handed", "good"), start=1):
                bench.add(key, **item(priority=number, verification="both" if key == "good" else "host"))
        loops = {agent: stage.bench.start("--once") for agent, stage in stages.items()}
        yield {agent: Night(stages[agent], (*loop.end(), loop)) for agent, loop in loops.items()}


@pytest.fixture(params=AGENTS)
def night(request: pytest.FixtureRequest) -> Night:
    """Return what the night with one agent left."""
    require(str(request.param))
    nights: dict[str, Night] = request.getfixturevalue("nights")
    return nights[str(request.param)]


def stage_of(agent: str, folder: Path) -> AgentStage:
    """Return one agent's bench."""
    loop = f"sessions_max = 2\nsilent_seconds = {SILENT_SECONDS}"
    return AgentStage(folder, [agent], PARTS, campaign="slots = 4", loop=loop)


def test_everything_is_done_by_the_morning_and_nothing_runs_any_more(night: Night) -> None:
    assert (night.code, night.report["reason"]) == (0, "drained"), night.loop.events
    states = night.stage.bench.states()
    assert dict.fromkeys(states, "succeeded") == states
    assert night.stage.model.problems == ()
    assert not night.stage.processes()
    assert len(night.stage.bench.repository.git("worktree", "list").splitlines()) == 1


def test_no_key_and_no_token_stands_in_anything_that_the_night_wrote_down(night: Night) -> None:
    assert night.stage.leaks() == []


def test_work_of_a_session_is_verified_by_another_that_was_told_nothing_it_said(night: Night) -> None:
    shown, verified = night.show("good"), night.show("good~v1")
    sha, builder, judge = shown["candidate"], shown["claims"][0], verified["claims"][0]
    assert [(verdict["outcome"], verdict["executor"], verdict["ref"]) for verdict in shown["verdicts"]] == [
        ("passed", judge["executor"], sha)
    ]
    assert builder["executor"] != judge["executor"]
    assert builder["assured"]
    assert judge["assured"]
    assert SESSION.fullmatch(builder["executor"])
    assert SESSION.fullmatch(judge["executor"])
    repository = night.stage.bench.repository
    branch = repository.git("branch", "--contains", sha, "--format=%(refname:short)")
    assert branch == f"workloop/{shown['id']}/good"
    assert repository.git("show", f"{sha}:thing.txt") == "fixed"
    assert (repository.path / "thing.txt").read_text() == "broken\n"
    receipts = [(piece["slot"], piece["result"]) for piece in verified["evidence"] if piece["origin"] == "receipt"]
    assert receipts == [("test", "passed")]
    assert "SENTINEL-NOTE" in json.dumps(shown)
    assert "SENTINEL-SAID" in told(night.stage.of("good work")[-1].body)
    assert "SENTINEL" not in "".join(told(asked.body) for asked in night.stage.of("good~v1 verify"))


def test_lie_is_caught_by_the_host_and_repaired_by_another_session(night: Night) -> None:
    verdicts = night.show("lie")["verdicts"]
    assert [(verdict["outcome"], verdict["executor"]) for verdict in verdicts] == [
        ("rejected", "host"),
        ("passed", "host"),
    ]
    assert (night.ends("lie"), night.ends("lie~r1")) == (["complete"], ["complete"])
    executors = {night.show(key)["claims"][0]["executor"] for key in ("lie", "lie~r1")}
    assert len(executors) == 2


def test_session_whose_model_hangs_is_ended_by_the_watch_and_the_next_attempt_is_told(night: Night) -> None:
    ended = night.loop.wait_for("ended", key="hang")
    assert (ended["class"], ended["detail"].partition(";")[0]) == ("hung", f"no event for {SILENT_SECONDS} s")
    shown = night.show("hang")
    assert (night.ends("hang"), shown["expiries"], shown["attempts"]) == (["expired", "complete"], 1, 1)
    assert night.advice("hang") == "begin anew: the session stopped making progress."


def test_session_hands_on_to_a_successor_that_finishes_under_the_same_claim(night: Night) -> None:
    assert night.ends("handed") == ["complete"]
    assert night.loop.wait_for("handoff", key="handed")["detail"] == "number 1 of this share"
    first, second = [row for row in night.stage.sessions() if row["item"] == "handed"]
    assert (first["attempt"], second["attempt"], second["resumes"]) == (1, 1, first["session"])
    assert first["session"] != second["session"]
    brief = night.stage.of("handed successor")[0].prompt
    assert "NOTE-TO-SUCCESSOR" in brief
    assert "Half of it stands" not in told(night.stage.of("handed successor")[0].body)
    changed = night.stage.bench.repository.git("diff", "--name-only", "main", night.show("handed")["candidate"])
    assert changed.splitlines() == ["half.txt", "thing.txt"]
