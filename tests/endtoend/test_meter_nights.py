"""Runs of the loop whose real agents reach their models through its meter alone, with ceilings on what it counts."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_stage import AGENTS, NIGHT_SECONDS, AgentStage, implementer, item, require

from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Say, Scenario
from workloop.testing.model_scenarios import complete_commit

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(NIGHT_SECONDS)]
ONE_CALL = 1_260  # tokens in all buckets that the scripted model reports


class MeteredStage(AgentStage):
    """A bench of one agent that has no key and no provider of its own; the loop's meter has both."""

    def settings(self, name: str) -> dict[str, Any]:
        """Return the agent's block of the settings, without anything that leads to a model but the meter."""
        usual = super().settings(name)
        key = str(usual["variables"].popitem()[1]) if name == "codex" else usual["variables"]["CLAUDE_CODE_OAUTH_TOKEN"]
        url = self.model.url
        provider = {"key": key, "anthropic_url": url, "openai_url": f"{url}/v1"}
        quiet = {"CLAUDE_CODE_MAX_RETRIES": "1"} if name == "claude" else {}
        return {**usual, "command": usual["command"][:1], "variables": quiet, "meter": provider}

    def casting(self, conversation: Conversation) -> Scenario:
        """Answer a trial of the doctor's, too."""
        return [Say("OK")] if "the single word OK" in conversation.prompt else super().casting(conversation)


def stage_of(folder: Path, name: str, parts: dict[str, Any], **bench: Any) -> MeteredStage:
    """Return a bench of one agent."""
    require(name)
    return MeteredStage(folder, [name], parts, **bench)


@pytest.fixture(params=AGENTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stages() -> Iterator[list[MeteredStage]]:
    made: list[MeteredStage] = []
    yield made
    for stage in made:
        stage.close()


def test_agent_does_a_day_s_work_through_the_meter_and_never_sees_the_key(
    name: str, tmp_path: Path, stages: list[MeteredStage]
) -> None:
    parts = {"thing work": [*implementer()[:-1], complete_commit("mended"), Say("Done.")]}
    stage = stage_of(tmp_path, name, parts)
    stages.append(stage)
    bench = stage.open()
    bench.add("thing", **item(verification="host"))
    code, report, loop = bench.run("--once")
    assert (code, report["sessions"], bench.state("thing")) == (0, 1, "succeeded"), json.dumps(loop.events)
    assert loop.named("meter")[0]["harnesses"] == [name]
    assert loop.named("past_meter") == []
    assert {request.credential[-6:] for request in stage.model.requests} == {stage.keys[name][-6:]}
    assert stage.leaks() == []
    assert not stage.processes()


def test_ceiling_that_is_reached_in_the_middle_of_a_session_ends_it_with_its_work_saved(
    name: str, tmp_path: Path, stages: list[MeteredStage]
) -> None:
    parts = {"thing work": [*implementer()[:-1], complete_commit("mended"), Say("Done.")]}
    budget = f"[budget.session]\ntokens = {ONE_CALL}\n"
    stage = stage_of(tmp_path, name, parts, harnesses=budget)
    stages.append(stage)
    bench = stage.open()
    bench.add("thing", **item(verification="host"))
    code, report, loop = bench.run("--once")
    assert report["sessions"] >= 1, (code, loop.events)
    ended = loop.wait_for("ended", key="thing")
    assert ended["class"] == "cost_cap", json.dumps(loop.events)
    assert "budget.session" in ended["detail"]
    calls = [request for request in stage.model.requests if request.kind not in {"models", "other", "count_tokens"}]
    assert 1 <= len(calls) <= 3 * report["sessions"]
    assert not stage.processes()
    assert stage.leaks() == []


def test_agent_whose_network_is_cut_reaches_its_model_by_the_meter_s_own_door(
    name: str, tmp_path: Path, stages: list[MeteredStage]
) -> None:
    parts = {"thing work": [*implementer()[:-1], complete_commit("mended"), Say("Done.")]}
    stage = stage_of(tmp_path, name, parts, sandbox='kind = "bwrap"\nnetwork = "loopback"')
    stages.append(stage)
    bench = stage.open()
    bench.add("thing", **item(verification="host"))
    code, report, loop = bench.run("--once")
    assert (code, report["sessions"], bench.state("thing")) == (0, 1, "succeeded"), json.dumps(loop.events)
    assert loop.named("past_meter") == []
    assert stage.leaks() == []


def test_doctor_tries_an_agent_through_a_meter_of_its_own(
    name: str, tmp_path: Path, stages: list[MeteredStage]
) -> None:
    stage = stage_of(tmp_path, name, {})
    stages.append(stage)
    bench = stage.open()
    argv = bench.argv("doctor", "--probe")
    ran = subprocess.run(argv, env=bench.environment, capture_output=True, text=True, check=False)
    found = {entry["check"]: entry["level"] for entry in json.loads(ran.stdout)["findings"]}
    assert (found[f"login[{name}]"], found[f"probe[{name}]"]) == ("PASS", "PASS"), ran.stdout + ran.stderr
    assert {request.credential[-6:] for request in stage.model.requests} == {stage.keys[name][-6:]}
    assert stage.keys[name] not in ran.stdout + ran.stderr
