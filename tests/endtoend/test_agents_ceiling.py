"""A night of each agent through the meter, behind walls, in which money runs out in the middle of two sessions."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_stage import NIGHT_SECONDS, item, told
from metered_stage import CALL_MICROS, MeteredStage, looking_for_the_key, mending, program_of, worker

from loop_bench import Facts, LoopProcess
from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.trial import try_bwrap
from workloop.testing.model.moves import Call, Say, Scenario
from workloop.testing.model_scenarios import shell

TRIAL = try_bwrap(Network.LOOPBACK)
pytestmark = [
    pytest.mark.timeout(3 * NIGHT_SECONDS),
    pytest.mark.skipif(bool(TRIAL.failure), reason=f"no walls here: {TRIAL.failure}"),
]
NIGHTS = [
    *(pytest.param(name, marks=pytest.mark.real_agent) for name in ("claude", "codex")),
    *(pytest.param(name, marks=pytest.mark.real_npm) for name in ("opencode", "copilot", "qwen")),
]
SESSION_CALLS, RUN_CALLS = 9, 20  # a ceiling is half a call below what so many calls cost
BUDGET = f"""
[budget.session]
cost_usd = {(SESSION_CALLS - 0.5) * CALL_MICROS / 1e6}
[budget.run]
cost_usd = {(RUN_CALLS - 0.5) * CALL_MICROS / 1e6}
"""
MENDED = shell("sed -i s/broken/fixed/ thing.txt && sh test.sh", "mend, whether it is mended or not")
AGAIN = [shell(f"echo {number}", "go on") for number in range(20)]


class Night:
    """What the run with one agent left that met both ceilings, and the run after it."""

    def __init__(self, stage: MeteredStage) -> None:
        self.stage = stage
        self.bench = stage.open()
        for number, key in enumerate(("small", "long", "last"), start=1):
            self.bench.add(key, **item(priority=number, verification="host"))
        self.code, self.report, self.loop = self.bench.run()
        self.calls = stage.calls()
        self.cost = self.asked("cost")
        self.left = self.asked("show", "last")
        self.played = len(stage.turns("last work 1"))
        begun = [Say("This was played before."), *[MENDED] * self.played]
        stage.parts["last work 2"] = [*begun, *worker()[3:]]
        self.second: tuple[int, Facts, LoopProcess] = self.bench.run("--once")

    def asked(self, *words: str) -> Any:
        """Return what a command says."""
        return json.loads(self.said(*words))

    def said(self, *words: str) -> str:
        """Return all that a command writes."""
        argv = self.bench.argv(*words)
        done = subprocess.run(argv, env=self.bench.environment, stdout=subprocess.PIPE, text=True, check=False)
        return done.stdout

    def ended(self, key: str) -> Facts:
        """Return how a session ended."""
        return self.loop.wait_for("ended", key=key)


def parts(folder: Path) -> dict[str, Scenario]:
    """Return what the sessions do: one is done in time, one never ends, one is caught by the end of the night."""
    return {
        "small work": [looking_for_the_key(folder), *worker()],
        "long work": [mending(), *AGAIN],
        "last work 1": [Call("Read", {"file_path": "thing.txt"}), mending(), *AGAIN],
    }


@pytest.fixture(scope="module", params=NIGHTS)
def night(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """Run both loops with one agent."""
    name = str(request.param)
    program_of(name)
    folder = tmp_path_factory.mktemp(name)
    stage = MeteredStage(folder, name, parts(folder), BUDGET)
    try:
        yield Night(stage)
    finally:
        stage.close()


def test_session_that_keeps_below_its_ceiling_does_its_work_through_the_meter_behind_walls(night: Night) -> None:
    assert night.bench.state("small") == "succeeded", night.loop.events
    assert night.loop.named("meter")[0]["harnesses"] == [night.stage.name]
    assert night.loop.named("past_meter") == []
    assert {claim["sandbox"] for claim in night.bench.show("small")["claims"]} == {"bwrap:loopback"}
    assert night.stage.model.problems == ()


def test_session_ends_at_its_ceiling_and_its_item_is_parked_with_its_work_saved(night: Night) -> None:
    assert night.ended("long")["class"] == "cost_cap", night.loop.events
    assert "budget.session.cost_usd is reached" in night.ended("long")["detail"]
    assert night.bench.state("long") == "deferred"
    (question,) = night.bench.show("long")["questions"]
    assert "budget.session.cost_usd" in json.dumps(question)
    saved = night.bench.repository.git("for-each-ref", "--format=%(refname)", "refs/workloop/wip").split()
    kept = [night.bench.repository.git("show", f"{ref}:thing.txt") for ref in saved]
    assert "fixed" in kept, (saved, night.loop.events)


def test_run_ends_with_exit_code_6_and_gives_back_what_it_could_not_finish(night: Night) -> None:
    assert (night.code, night.report["reason"]) == (6, "budget_spent"), night.loop.events
    assert "budget.run.cost_usd has no room left" in night.report["detail"]
    assert night.ended("last")["class"] == "stopped"
    assert night.left["state"] == "pending"
    assert night.left["claims"][0]["end"] == "infra"


def test_no_call_is_sent_past_a_ceiling_and_the_books_agree_with_the_provider(night: Night) -> None:
    assert len(night.stage.of("long work")) + night.stage.titles("long work") == SESSION_CALLS
    assert night.calls == RUN_CALLS
    assert night.cost["total"]["cost_usd"] == RUN_CALLS * CALL_MICROS / 1e6
    assert night.cost["total"]["tokens"] == {
        "input": 400 * RUN_CALLS,
        "output": 60 * RUN_CALLS,
        "cache_read": 800 * RUN_CALLS,
        "cache_write": 0,
    }
    assert night.cost["total"]["sessions"] == 3
    assert night.cost["total"]["unknown"] == 0


def test_next_run_goes_on_with_the_conversation_that_money_had_ended(night: Night) -> None:
    code, _, loop = night.second
    assert (code, night.bench.state("last")) == (0, "succeeded"), loop.events
    resumed = night.stage.turns("last work 2")[0]
    assert night.played > 1
    assert 0 < resumed.step <= night.played
    lost = night.played - resumed.step  # a call that was cut before its tool ran; qwen also what it had not kept yet
    assert lost in {0, 1} or night.stage.name == "qwen"


def test_provider_s_key_is_nowhere_in_what_a_session_sees_or_leaves(night: Night) -> None:
    key = night.stage.keys[night.stage.name]
    looked = night.stage.turns("small work")[1].last_result
    assert "named: 0" not in looked
    assert "found: ." in looked, looked
    assert not [heard for heard in night.stage.heard if key in told(heard.body)]
    assert {request.credential[-6:] for request in night.stage.model.requests if request.credential} == {key[-6:]}
    assert night.stage.holders() == []
    assert night.stage.leaks() == []


def test_doctor_tries_an_agent_through_a_meter_of_its_own(night: Night) -> None:
    name, before = night.stage.name, night.stage.calls()
    said = night.said("doctor", "--probe")
    found = {entry["check"]: entry["level"] for entry in json.loads(said)["findings"]}
    assert (found[f"login[{name}]"], found[f"probe[{name}]"]) == ("PASS", "PASS"), said
    assert night.stage.calls() > before
    assert night.stage.keys[name] not in said
