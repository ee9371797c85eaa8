"""How an agent of the Agent Client Protocol is started, and what of the token it can see."""

import json
from pathlib import Path

import pytest

from workloop.domain.errors import Fault
from workloop.runner.harness.acp.launch import AcpConfig, AcpHarness
from workloop.runner.harness.port import LaunchRequest, McpEndpoint


@pytest.fixture
def request_(tmp_path: Path) -> LaunchRequest:
    (tmp_path / "session").mkdir(mode=0o700)
    endpoint = McpEndpoint(url_mcp="http://127.0.0.1:1/mcp", url_api="http://127.0.0.1:1", token="abc")
    return LaunchRequest(
        prompt="do it",
        cwd=tmp_path,
        session_dir=tmp_path / "session",
        session_id="s",
        environment={"PATH": "/usr/bin:/bin"},
        endpoint=endpoint,
        model="big",
    )


def test_agent_is_started_as_configured_and_listens(request_: LaunchRequest, tmp_path: Path) -> None:
    config = AcpConfig(
        name="gemini",
        command=("sh", "--acp"),
        extra_args=("-x",),
        model_argument="--model",
        home_dir=tmp_path / "home",
        environment={"GEMINI_CLI_NO_RELAUNCH": "true"},
    )
    launch = AcpHarness(config).launch(request_)
    assert launch.interactive
    assert launch.argv[1:] == ("--acp", "-x", "--model", "big")
    assert (launch.env["HOME"], launch.env["GEMINI_CLI_NO_RELAUNCH"]) == (str(tmp_path / "home"), "true")
    assert "abc" not in json.dumps([launch.argv, dict(launch.env)])


def test_server_over_pipes_gets_the_token_s_file_and_not_the_token(request_: LaunchRequest) -> None:
    opening = AcpHarness(AcpConfig(command=("sh",))).opening(request_)
    _http, pipes = opening.own
    assert pipes.env["WORKLOOP_TOKEN_FILE"] == str(request_.session_dir / "token")
    assert "abc" not in json.dumps([pipes.args, dict(pipes.env)])


def test_agent_that_is_not_there_is_refused_by_name(request_: LaunchRequest) -> None:
    with pytest.raises(Fault, match=r"HARNESS_MISSING.*no-such-agent"):
        AcpHarness(AcpConfig(command=("no-such-agent",))).launch(request_)
    with pytest.raises(Fault, match="HARNESS_CONFIG"):
        AcpHarness(AcpConfig(command=()))


def test_d33_no_agent_may_replace_itself(request_: LaunchRequest) -> None:
    env = AcpHarness(AcpConfig(command=("sh",), environment={"COPILOT_AUTO_UPDATE": "true"})).launch(request_).env
    assert (env["COPILOT_AUTO_UPDATE"], env["OPENCODE_DISABLE_AUTOUPDATE"]) == ("false", "1")
