"""The real agents through the meter with the network open: they keep to it, and one that goes round it is found out."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_stage import AGENTS, NIGHT_SECONDS, item, require, told
from metered_stage import CALL_MICROS, MeteredStage, looking_for_the_key, mending, worker

from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.trial import try_bwrap
from workloop.testing.model.moves import Scenario
from workloop.testing.model_scenarios import shell

TRIAL = try_bwrap(Network.OPEN)
pytestmark = [
    pytest.mark.real_agent,
    pytest.mark.timeout(NIGHT_SECONDS),
    pytest.mark.skipif(bool(TRIAL.failure), reason=f"no walls here: {TRIAL.failure}"),
]
OPEN = 'kind = "bwrap"\nnetwork = "open"'
SESSION_CALLS = 9
BUDGET = f"[budget.session]\ncost_usd = {(SESSION_CALLS - 0.5) * CALL_MICROS / 1e6}\n"
ENDLESS = [mending(), *(shell(f"echo {number}", "go on") for number in range(20))]
OWN_KEY = "sk-of-a-wrapper-0123456789"

ROUND = """#!{python}
import os, sys
arguments = sys.argv[1:]
os.environ.update({variables})
if "--settings" in arguments:
    arguments[arguments.index("--settings") + 1] = '{{}}'
if "app-server" in arguments:
    arguments += {overrides}
os.execv({program!r}, [{program!r}, *arguments])
"""


def night_of(folder: Path, name: str, parts: Mapping[str, Scenario]) -> MeteredStage:
    """Return the bench of an agent whose sessions could reach anything."""
    require(name)
    return MeteredStage(folder, name, parts, BUDGET, sandbox=OPEN)


@pytest.fixture(scope="module", params=AGENTS)
def night(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeteredStage]:
    """Run one agent over an item that is done in time and one that never ends."""
    folder = tmp_path_factory.mktemp(f"open-{request.param}")
    parts: dict[str, Scenario] = {"small work": [looking_for_the_key(folder), *worker()], "long work": ENDLESS}
    stage = night_of(folder, str(request.param), parts)
    try:
        bench = stage.open()
        for number, key in enumerate(("small", "long"), start=1):
            bench.add(key, **item(priority=number, verification="host"))
        bench.run("--once")
        yield stage
    finally:
        stage.close()


def test_session_with_an_open_network_works_through_the_meter_and_keeps_to_it(night: MeteredStage) -> None:
    loop = night.bench.loops[0]
    assert night.bench.state("small") == "succeeded", loop.events
    assert {claim["sandbox"] for claim in night.bench.show("small")["claims"]} == {"bwrap:open"}
    assert loop.named("meter")[0]["harnesses"] == [night.name]
    assert loop.named("past_meter") == []
    total = night.bench.ask("cost")["total"]
    assert (total["sessions"], total["unknown"]) == (2, 0)
    assert total["cost_usd"] == night.calls() * CALL_MICROS / 1e6


def test_ceiling_ends_a_session_with_an_open_network_before_a_call_too_many(night: MeteredStage) -> None:
    loop = night.bench.loops[0]
    assert loop.wait_for("ended", key="long")["class"] == "cost_cap", loop.events
    assert night.bench.state("long") == "deferred"
    assert len(night.of("long work")) == SESSION_CALLS


def test_provider_s_key_is_out_of_reach_with_an_open_network_too(night: MeteredStage) -> None:
    key, looked = night.keys[night.name], night.turns("small work")[1].last_result
    assert "found: ." in looked, looked
    assert not [heard for heard in night.heard if key in told(heard.body)]
    assert night.holders() == []
    assert night.leaks() == []


class RoundStage(MeteredStage):
    """A bench whose agent is started by a program of the operator's that gives it another way to a model."""

    def settings(self, name: str) -> dict[str, Any]:
        """Return the agent's block of the settings, with that program in the place of the agent's own."""
        url = self.model.url
        provider = f'{{name="x", base_url="{url}/v1", env_key="ROUND_KEY", wire_api="responses"}}'
        text = ROUND.format(
            python=sys.executable,
            variables={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": OWN_KEY, "ROUND_KEY": OWN_KEY},
            overrides=["-c", 'model_provider="x"', "-c", f"model_providers.x={provider}"],
            program=str(self.program),
        )
        path = self.folder / "bin" / f"{name}-round"
        path.parent.mkdir()
        path.write_text(text)
        path.chmod(0o755)
        return {**super().settings(name), "command": [str(path)]}


@pytest.fixture(params=AGENTS)
def past(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RoundStage]:
    """Return the bench of an agent that goes round the meter."""
    require(str(request.param))
    stage = RoundStage(tmp_path, str(request.param), {"long work": ENDLESS}, BUDGET, sandbox=OPEN)
    yield stage
    stage.close()


def test_session_that_went_round_the_meter_is_found_out_and_held_to_its_ceiling_by_what_it_reports(
    past: RoundStage,
) -> None:
    bench = past.open()
    bench.add("long", **item(verification="host"))
    _, _, loop = bench.run("--once")

    (told_past,) = loop.named("past_meter")
    assert "made no call here" in told_past["detail"], loop.events
    assert {request.credential[-6:] for request in past.model.requests if request.credential} == {OWN_KEY[-6:]}
    ended = loop.wait_for("ended", key="long")
    assert ended["class"] == "cost_cap", loop.events
    assert told_past["session"] == past.sessions()[0]["session"]
    assert bench.state("long") == "deferred"
    total = bench.ask("cost")["total"]
    assert (total["sessions"], total["unknown"]) == (1, 0)
    assert SESSION_CALLS * CALL_MICROS / 1e6 <= total["cost_usd"] <= past.calls() * CALL_MICROS / 1e6
    assert not past.processes()
