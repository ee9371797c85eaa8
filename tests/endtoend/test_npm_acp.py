"""Real agents over the Agent Client Protocol, on loopback alone: three that speak it, each in its own way."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from real_npm import AGENTS, Bench
from recording_mcp import recording_mcp

from workloop.domain.session import SessionClass, Started, ToolCall, ToolResult
from workloop.runner.harness.acp.launch import AcpConfig, AcpHarness
from workloop.runner.harness.port import Harness, McpEndpoint
from workloop.testing.model.moves import Call, Say
from workloop.testing.model_server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real_npm, pytest.mark.timeout(900)]
WORDS: Mapping[str, tuple[str, ...]] = {
    "opencode": ("acp",),
    "copilot": ("--acp", "--no-auto-update", "--disable-builtin-mcps"),
    "qwen": ("--acp", "--auth-type", "openai"),
}
TOOLS_LATE = frozenset({"qwen"})  # it opens a session before the tools of its servers are there


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=list(WORDS))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """One agent with a home of its own; none of its processes may be left behind."""
    agent = AGENTS[request.param]
    if not agent.binary.exists():
        pytest.skip(f"{agent.kind} is not installed: `make npm-agents` brings it from npm")

    def harness(binary: str, home: Path, more: Mapping[str, Any]) -> Harness:
        return AcpHarness(AcpConfig(name=agent.kind, command=(binary, *WORDS[agent.kind]), home_dir=home, **more))

    made = Bench(replace(agent, harness=harness), tmp_path)
    yield made
    assert made.left_behind() == []


async def test_agent_over_the_protocol_works_ends_clean_and_goes_on_later(bench: Bench) -> None:
    queue = [] if bench.agent.kind in TOOLS_LATE else [Call(("workloop", "work_loop"), {"action": "show"})]
    script = [*queue, Call("Write", {"file_path": "a.txt", "content": "hi\n"}), Say("all done")]
    with recording_mcp("the-token", '{"state": "claimed"}') as server, ModelServer(script) as model:
        endpoint = McpEndpoint(url_mcp=server.url, url_api=server.url, token="the-token")
        report = await bench.run(model, endpoint=endpoint)
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "all done"), report
    assert (report.unrecognised, report.death_proven) == (0, True)
    assert (bench.work / "a.txt").read_text() == "hi\n"
    assert server.calls == [{"action": "show"} for _ in queue]
    own = [event for event in bench.events if isinstance(event, ToolCall) and event.name == "mcp__workloop__work_loop"]
    ids = [event.call_id for event in own]
    answers = [event for event in bench.events if isinstance(event, ToolResult) and event.call_id in ids]
    assert [event.arguments for event in own] == ['{"action":"show"}' for _ in queue]
    assert all("claimed" in event.answer for event in answers)
    [start] = [event for event in bench.events if isinstance(event, Started)]
    assert start.version.casefold().startswith(bench.agent.kind)
    bench.events.clear()
    steps = [*(Say("never") for _ in script[:-1]), Say("back again")]
    with ModelServer(steps) as model:
        resumed = await bench.run(model, 1, resume_id=report.resume_id)
    assert (resumed.session_class, resumed.resume_id) == (SessionClass.CLEAN, report.resume_id), resumed
    assert resumed.final_text == "back again"
    assert [request.move for request in model.requests if "fail" in request.move] == []
