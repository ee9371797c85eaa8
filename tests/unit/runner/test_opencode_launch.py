"""The opencode command line: its private configuration, its permissions, and whose home it has."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launch_bench import request_for

from workloop.domain.errors import Fault
from workloop.runner.harness.opencode.launch import OpencodeConfig, OpencodeHarness
from workloop.runner.harness.port import Launch, LaunchRequest


@pytest.fixture
def request_(tmp_path: Path) -> LaunchRequest:
    return request_for("opencode", tmp_path)


def configuration(launch: Launch) -> dict[str, Any]:
    return json.loads(Path(launch.env["OPENCODE_CONFIG"]).read_text())


def permissions(launch: Launch) -> dict[str, str]:
    return json.loads(launch.env["OPENCODE_PERMISSION"])


@pytest.mark.parametrize("prompt", ["- do it", 'say "hi"  twice\n\n- and: 007 ', "$(touch x)", "x" * 200_000])
def test_opencode_reads_the_very_prompt_from_its_standard_input(request_: LaunchRequest, prompt: str) -> None:
    (Path(request_.environment["PATH"]) / "opencode").write_text("#!/bin/sh\n/bin/cat\n/bin/echo\necho $*\n")
    launch = OpencodeHarness(OpencodeConfig()).launch(replace(request_, prompt=prompt, model="m/m"))
    done = subprocess.run(launch.argv, env=launch.env, cwd=launch.cwd, capture_output=True, text=True, check=True)
    assert done.stdout == f"{prompt}\nrun --format json --pure --model m/m\n"


def test_opencode_model_and_session_are_passed_on(request_: LaunchRequest) -> None:
    asked = replace(request_, model="openai/gpt", resume_id="ses_1")
    argv = OpencodeHarness(OpencodeConfig()).launch(asked).argv
    assert argv[argv.index("--model") + 1] == "openai/gpt"
    assert argv[argv.index("--session") + 1] == "ses_1"


def test_opencode_finds_our_server_and_the_operator_s_in_one_private_file(
    request_: LaunchRequest, tmp_path: Path
) -> None:
    theirs = tmp_path / "mine.json"
    theirs.write_text('{"mcp": {"docs": {"type": "local", "command": ["docs"]}}}')
    launch = OpencodeHarness(OpencodeConfig()).launch(replace(request_, mcp_config=theirs))
    servers = configuration(launch)["mcp"]
    assert set(servers) == {"docs", "workloop"}
    assert servers["workloop"]["url"] == "http://127.0.0.1:1/mcp"
    assert servers["workloop"]["headers"] == {"Authorization": "Bearer abc"}
    assert Path(launch.env["OPENCODE_CONFIG"]).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["nonsense", "[]", '{"mcpServers": {}}', '{"mcp": {"workloop": {}}}'])
def test_opencode_refuses_an_operator_s_file_that_cannot_be_joined(
    request_: LaunchRequest, tmp_path: Path, content: str
) -> None:
    theirs = tmp_path / "mine.json"
    theirs.write_text(content)
    with pytest.raises(Fault, match=r"mine\.json"):
        OpencodeHarness(OpencodeConfig()).launch(replace(request_, mcp_config=theirs))


def test_opencode_verifier_may_not_edit_whatever_the_operator_allows_and_ignores_the_candidate_s_settings(
    request_: LaunchRequest,
) -> None:
    harness = OpencodeHarness(OpencodeConfig(permissions={"edit": "allow", "webfetch": "allow"}))
    worker, verifier = harness.launch(request_), harness.launch(replace(request_, read_only=True))
    assert (permissions(worker)["edit"], permissions(worker)["webfetch"]) == ("allow", "allow")
    assert (permissions(verifier)["edit"], permissions(verifier)["bash"]) == ("deny", "allow")
    assert "OPENCODE_DISABLE_PROJECT_CONFIG" not in worker.env
    assert verifier.env["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"


def test_d22_opencode_is_never_left_waiting_for_an_approval(request_: LaunchRequest) -> None:
    launch = OpencodeHarness(OpencodeConfig()).launch(request_)
    assert set(permissions(launch).values()) == {"allow", "deny"}


def test_d33_opencode_does_not_update_itself(request_: LaunchRequest) -> None:
    launch = OpencodeHarness(OpencodeConfig()).launch(request_)
    assert launch.env["OPENCODE_DISABLE_AUTOUPDATE"] == "1"
    assert configuration(launch)["autoupdate"] is False


def test_opencode_home_is_the_operator_s_unless_one_is_given(request_: LaunchRequest, tmp_path: Path) -> None:
    assert OpencodeHarness(OpencodeConfig()).launch(request_).env["HOME"] == "/home/operator"
    home = tmp_path / "home"
    env = OpencodeHarness(OpencodeConfig(home_dir=home)).launch(request_).env
    assert (env["HOME"], env["XDG_DATA_HOME"]) == (str(home), str(home / ".local" / "share"))
    assert home.stat().st_mode & 0o777 == 0o700


def test_opencode_that_is_not_installed_is_refused_by_name(request_: LaunchRequest, tmp_path: Path) -> None:
    with pytest.raises(Fault, match="my-opencode"):
        OpencodeHarness(OpencodeConfig(name="my-opencode")).launch(replace(request_, environment={"PATH": "/nowhere"}))
    with pytest.raises(Fault, match="HARNESS_MISSING"):
        OpencodeHarness(OpencodeConfig(binary=str(tmp_path / "absent"))).version_command({})
