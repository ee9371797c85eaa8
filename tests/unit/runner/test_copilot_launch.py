"""The Copilot command line: its private MCP file, its permissions, and whose home it has."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launch_bench import request_for

from workloop.domain.errors import Fault
from workloop.runner.harness.copilot.launch import CopilotConfig, CopilotHarness
from workloop.runner.harness.port import Launch, LaunchRequest


@pytest.fixture
def request_(tmp_path: Path) -> LaunchRequest:
    return request_for("copilot", tmp_path)


def servers(launch: Launch) -> dict[str, Any]:
    path = Path(launch.argv[launch.argv.index("--additional-mcp-config") + 1].removeprefix("@"))
    assert path.stat().st_mode & 0o777 == 0o600
    return json.loads(path.read_text())["mcpServers"]


def test_copilot_prompt_that_looks_like_an_option_stays_a_prompt(request_: LaunchRequest) -> None:
    assert CopilotHarness(CopilotConfig()).launch(request_).argv[-1] == "--prompt=- do it"


def test_copilot_new_session_gets_our_id_and_a_resumed_one_keeps_its_own(request_: LaunchRequest) -> None:
    harness = CopilotHarness(CopilotConfig())
    assert "--session-id=s-1" in harness.launch(request_).argv
    resumed = harness.launch(replace(request_, resume_id="old")).argv
    assert "--resume=old" in resumed
    assert not [argument for argument in resumed if argument.startswith("--session-id")]


def test_copilot_session_that_was_killed_early_can_be_resumed_by_the_id_we_chose(request_: LaunchRequest) -> None:
    reader = CopilotHarness(CopilotConfig()).reader(request_)
    assert reader.finish(None, 9, "").conclusion.resume_id == "s-1"


def test_copilot_finds_our_server_and_the_operator_s_in_one_private_file(
    request_: LaunchRequest, tmp_path: Path
) -> None:
    theirs = tmp_path / "mine.json"
    theirs.write_text('{"mcpServers": {"docs": {"command": "docs"}}}')
    found = servers(CopilotHarness(CopilotConfig()).launch(replace(request_, mcp_config=theirs)))
    assert set(found) == {"docs", "workloop"}
    assert found["workloop"]["headers"] == {"Authorization": "Bearer abc"}
    theirs.write_text('{"mcpServers": {"workloop": {}}}')
    with pytest.raises(Fault, match="the loop's own"):
        CopilotHarness(CopilotConfig()).launch(replace(request_, mcp_config=theirs))


def test_copilot_verifier_may_not_write_and_ignores_instructions_of_the_candidate(request_: LaunchRequest) -> None:
    harness = CopilotHarness(CopilotConfig(denied_tools=("shell(git push)",)))
    worker, verifier = harness.launch(request_).argv, harness.launch(replace(request_, read_only=True)).argv
    assert "--deny-tool=shell(git push)" in worker
    assert "--deny-tool=write" not in worker
    assert {"--deny-tool=shell(git push)", "--deny-tool=write", "--no-custom-instructions"} <= set(verifier)


def test_d22_copilot_never_waits_for_an_answer_of_a_person(request_: LaunchRequest) -> None:
    argv = CopilotHarness(CopilotConfig()).launch(request_).argv
    assert {"--no-ask-user", "--allow-all-tools", "--allow-all-paths"} <= set(argv)


def test_d33_copilot_does_not_update_itself(request_: LaunchRequest) -> None:
    launch = CopilotHarness(CopilotConfig()).launch(request_)
    assert launch.env["COPILOT_AUTO_UPDATE"] == "false"
    assert "--no-auto-update" in launch.argv


def test_copilot_home_is_the_operator_s_unless_one_is_given(request_: LaunchRequest, tmp_path: Path) -> None:
    assert "COPILOT_HOME" not in CopilotHarness(CopilotConfig()).launch(request_).env
    env = CopilotHarness(CopilotConfig(home_dir=tmp_path / "home")).launch(request_).env
    assert (env["HOME"], env["COPILOT_HOME"]) == (str(tmp_path / "home"), str(tmp_path / "home" / ".copilot"))
