"""The real Gemini over the Agent Client Protocol, on loopback alone, against a model of Google's dialect."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from google_model import google_model
from real_npm import FOLDER, Agent, Bench
from recording_mcp import recording_mcp

from workloop.domain.session import SessionClass, Started, ToolCall
from workloop.runner.harness.acp.launch import AcpConfig, AcpHarness
from workloop.runner.harness.port import Harness, McpEndpoint

pytestmark = [pytest.mark.anyio, pytest.mark.real_npm, pytest.mark.timeout(900)]
PROGRAM = ".bin/gemini"
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"disableAutoUpdate": True},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def provider(home: Path, url: str) -> dict[str, str]:
    """Write the settings into the home, and return the variables that lead to a model."""
    folder = home / ".gemini"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(SETTINGS))
    return {
        "GEMINI_API_KEY": "dummy-key-for-tests",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def harness(binary: str, home: Path, more: Mapping[str, Any]) -> Harness:
    """Return the adapter of the protocol."""
    command = (binary, "--acp", "--model", "gemini-2.5-flash", "--skip-trust")
    return AcpHarness(AcpConfig(name="gemini", command=command, home_dir=home, login="gemini-api-key", **more))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """One agent with a home of its own; none of its processes may be left behind."""
    agent = Agent(kind="gemini", program=PROGRAM, harness=harness, provider=provider, denying={}, quiet_seconds=120)
    if not (FOLDER / PROGRAM).exists():
        pytest.skip("gemini is not installed: `make npm-agents` brings it from npm")
    made = Bench(agent, tmp_path)
    yield made
    assert made.left_behind() == []


async def test_gemini_over_the_protocol_works_calls_our_tool_ends_clean_and_goes_on_later(bench: Bench) -> None:
    work = str(bench.work / "a.txt")
    steps = [("mcp_workloop_work_loop", {"action": "show"}), ("write_file", {"file_path": work, "content": "hi\n"})]
    with recording_mcp("the-token", '{"state": "claimed"}') as server, google_model(*steps, "all done") as model:
        endpoint = McpEndpoint(url_mcp=server.url, url_api=server.url, token="the-token")
        report = await bench.run(model, endpoint=endpoint)
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "all done"), report
    assert (report.unrecognised, report.death_proven) == (0, True)
    assert server.calls == [{"action": "show"}]
    assert (bench.work / "a.txt").read_text() == "hi\n"
    called = [event.name for event in bench.events if isinstance(event, ToolCall)]
    assert "mcp__workloop__work_loop" in called
    [start] = [event for event in bench.events if isinstance(event, Started)]
    assert start.version.casefold().startswith("gemini")

    with google_model("never", "never", "back again") as model:
        resumed = await bench.run(model, 1, resume_id=report.resume_id)
    assert (resumed.session_class, resumed.resume_id) == (SessionClass.CLEAN, report.resume_id), resumed
    assert resumed.final_text == "back again"
