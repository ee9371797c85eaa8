"""The Qwen Code command line: its private files, its permissions, its caps, and whose home it has."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launch_bench import request_for

from workloop.domain.errors import Fault
from workloop.runner.harness.port import Launch, LaunchRequest
from workloop.runner.harness.qwen.launch import QwenConfig, QwenHarness


@pytest.fixture
def request_(tmp_path: Path) -> LaunchRequest:
    return request_for("qwen", tmp_path)


def option(launch: Launch, name: str) -> str:
    return launch.argv[launch.argv.index(name) + 1]


def servers(launch: Launch) -> dict[str, Any]:
    path = Path(option(launch, "--mcp-config"))
    assert path.stat().st_mode & 0o777 == 0o600
    return json.loads(path.read_text())["mcpServers"]


def settings(launch: Launch) -> dict[str, Any]:
    return json.loads(Path(launch.env["QWEN_CODE_SYSTEM_SETTINGS_PATH"]).read_text())


def test_qwen_prompt_that_looks_like_an_option_stays_a_prompt(request_: LaunchRequest) -> None:
    assert QwenHarness(QwenConfig()).launch(request_).argv[-1] == "--prompt=- do it"


def test_qwen_identity_model_and_cap_are_passed_on(request_: LaunchRequest) -> None:
    harness = QwenHarness(QwenConfig(auth_type="openai"))
    launch = harness.launch(replace(request_, model="qwen-max", turns_max=7))
    assert (option(launch, "--session-id"), option(launch, "--model")) == ("s-1", "qwen-max")
    assert (option(launch, "--max-session-turns"), option(launch, "--auth-type")) == ("7", "openai")
    resumed = harness.launch(replace(request_, resume_id="old"))
    assert option(resumed, "--resume") == "old"
    assert "--session-id" not in resumed.argv


def test_qwen_finds_our_server_declared_directly_and_the_operator_s_in_one_private_file(
    request_: LaunchRequest, tmp_path: Path
) -> None:
    theirs = tmp_path / "mine.json"
    theirs.write_text('{"mcpServers": {"docs": {"command": "docs"}}}')
    launch = QwenHarness(QwenConfig()).launch(replace(request_, mcp_config=theirs))
    found = servers(launch)
    assert set(found) == {"docs", "workloop"}
    assert found["workloop"]["headers"] == {"Authorization": "Bearer abc"}
    assert found["workloop"]["alwaysLoadTools"] is True
    assert launch.env["QWEN_CODE_LEGACY_MCP_BLOCKING"] == "1"
    theirs.write_text('{"mcpServers": []}')
    with pytest.raises(Fault, match="mcpServers"):
        QwenHarness(QwenConfig()).launch(replace(request_, mcp_config=theirs))


def test_qwen_verifier_is_offered_no_writing_and_no_server_or_hook_of_the_candidate(request_: LaunchRequest) -> None:
    harness = QwenHarness(QwenConfig(excluded_tools=("web_fetch",)))
    worker = harness.launch(request_)
    assert "disableAllHooks" not in settings(worker)
    verifier = harness.launch(replace(request_, read_only=True))
    assert option(worker, "--exclude-tools") == "web_fetch"
    assert option(verifier, "--exclude-tools") == "web_fetch,write_file,edit,notebook_edit"
    assert option(verifier, "--allowed-mcp-server-names") == "workloop"
    assert settings(verifier)["disableAllHooks"] is True


def test_d22_qwen_never_waits_for_an_approval(request_: LaunchRequest) -> None:
    assert option(QwenHarness(QwenConfig()).launch(request_), "--approval-mode") == "yolo"


def test_d33_qwen_does_not_update_itself_and_starts_no_agents_of_its_own(request_: LaunchRequest) -> None:
    found = settings(QwenHarness(QwenConfig()).launch(request_))
    assert found["general"]["enableAutoUpdate"] is False
    assert not any(found["memory"].values())


def test_qwen_tries_of_a_refused_call_are_few(request_: LaunchRequest) -> None:
    found = settings(QwenHarness(QwenConfig(retries=1)).launch(request_))
    assert found["model"]["generationConfig"]["maxRetries"] == 1


def test_qwen_home_is_the_operator_s_unless_one_is_given(request_: LaunchRequest, tmp_path: Path) -> None:
    assert QwenHarness(QwenConfig()).launch(request_).env["HOME"] == "/home/operator"
    env = QwenHarness(QwenConfig(home_dir=tmp_path / "home")).launch(request_).env
    assert env["HOME"] == str(tmp_path / "home")
