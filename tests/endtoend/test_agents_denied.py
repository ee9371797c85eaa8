"""A tool that a real agent may not call without asking a person, on a night when there is nobody to ask."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_stage import AGENTS, MEND, NIGHT_SECONDS, TEST, AgentStage, item, require, scratch, unfenced
from recording_mcp import RecordingMcp, recording_mcp

from workloop.testing.model.moves import Call, Say, Scenario
from workloop.testing.model_scenarios import honest_worker

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(NIGHT_SECONDS)]
PARTS: dict[str, Scenario] = {
    "denied work 1": [Call(("other", "work_loop"), {"action": "forbidden"}), Say("I was not allowed to, so I stop.")],
    "denied work 2": honest_worker(MEND, TEST),
}


@pytest.fixture
def other() -> Iterator[RecordingMcp]:
    """Return the server whose tool is asked for."""
    with recording_mcp("other") as server:
        yield server


@pytest.fixture(params=AGENTS)
def stage(request: pytest.FixtureRequest, tmp_path: Path, other: RecordingMcp) -> Iterator[AgentStage]:
    """Return one agent's bench."""
    agent = str(request.param)
    require(agent)
    made = asking_claude(tmp_path, other) if agent == "claude" else asking_codex(tmp_path, other)
    yield made
    made.close()


def asking_claude(folder: Path, other: RecordingMcp) -> AgentStage:
    """Give Claude Code another server whose tool may not be called without asking."""
    server = {"type": "http", "url": other.url, "headers": {"Authorization": "Bearer other"}}
    path = folder / "other.json"
    path.write_text(json.dumps({"mcpServers": {"other": server}}))
    settings = json.dumps({"permissions": {"ask": ["mcp__other__work_loop"]}})
    block = {"mcp_config": str(path), "extra_args": ["--settings", settings]}
    return AgentStage(folder, ["claude"], PARTS, {"claude": block})


def asking_codex(folder: Path, other: RecordingMcp) -> AgentStage:
    """Give Codex the same; it asks only inside a fence of its own, which stands where the loop's walls do not."""
    reason = unfenced(folder)
    if reason:
        pytest.skip(f"Codex cannot fence a session here, and without its fence it denies nothing: {reason}")
    path = folder / "other.toml"
    path.write_text(
        f'[mcp_servers.other]\nurl = "{other.url}"\nhttp_headers = {{ Authorization = "Bearer other" }}\n'
        'default_tools_approval_mode = "prompt"\n'
    )
    block: dict[str, Any] = {"mcp_config": str(path), "options": {"sandbox": "workspace-write"}}
    bench = {"sandbox": 'kind = "none"', "environment": {"TMPDIR": str(scratch(folder))}}
    return AgentStage(folder, ["codex"], PARTS, {"codex": block}, **bench)


def test_session_whose_call_was_denied_is_tried_again_with_that_reason(stage: AgentStage, other: RecordingMcp) -> None:
    bench = stage.open()
    bench.add("denied", **item(verification="host"))
    code, report, loop = bench.run("--once")

    assert (code, report["sessions"], bench.state("denied")) == (0, 2, "succeeded"), loop.events
    assert other.calls == []
    assert loop.wait_for("ended", key="denied")["class"] == "denied"
    assert (bench.ends("denied"), bench.show("denied")["attempts"]) == (["retry", "complete"], 2)
    (brief, *_) = [asked.prompt for asked in stage.of("denied work 2")]
    assert "This time: do without the tool that was denied." in brief
    assert not stage.processes()
    assert stage.leaks() == []
