"""The Claude Code command line: what is allowed, what is capped, and where it gets its login."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.errors import Fault
from workloop.runner.harness.claude.launch import (
    ARGUMENT_BYTES_MAX,
    ClaudeConfig,
    ClaudeHarness,
    ClaudeHome,
    ClaudePermissions,
    find_binary,
    refuse_bypassing_root,
)
from workloop.runner.harness.port import LaunchRequest, McpEndpoint

ENDPOINT = McpEndpoint(url_mcp="http://127.0.0.1:1/mcp", url_api="http://127.0.0.1:1", token="abc")


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "claude"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def request_(tmp_path: Path, binary: Path) -> LaunchRequest:
    (tmp_path / "session").mkdir(mode=0o700)
    return LaunchRequest(
        prompt="- do it",
        cwd=tmp_path,
        session_dir=tmp_path / "session",
        session_id="s-1",
        environment={"PATH": str(binary.parent), "HOME": "/home/operator"},
        endpoint=ENDPOINT,
    )


def option(argv: tuple[str, ...], name: str) -> str:
    return argv[argv.index(name) + 1]


def test_prompt_comes_after_the_end_of_options(request_: LaunchRequest) -> None:
    argv = ClaudeHarness(ClaudeConfig()).launch(request_).argv
    assert argv[-2:] == ("--", "- do it")


def test_only_listed_tools_are_allowed(request_: LaunchRequest) -> None:
    argv = ClaudeHarness(ClaudeConfig(tools=("WebFetch",))).launch(request_).argv
    assert option(argv, "--permission-mode") == "dontAsk"
    allowed = option(argv, "--allowedTools").split()
    assert {"mcp__workloop", "Bash", "Read", "Write", "Edit", "WebFetch"} <= set(allowed)


def test_verifier_may_run_commands_but_not_edit_and_ignores_the_settings_of_the_candidate(
    request_: LaunchRequest,
) -> None:
    argv = ClaudeHarness(ClaudeConfig()).launch(replace(request_, read_only=True)).argv
    allowed = set(option(argv, "--allowedTools").split())
    assert "Bash" in allowed
    assert not allowed & {"Write", "Edit", "NotebookEdit"}
    assert set(option(argv, "--disallowedTools").split()) == {"Write", "Edit", "NotebookEdit"}
    assert option(argv, "--setting-sources") == "user"


def test_caps_and_model_are_passed_on(request_: LaunchRequest) -> None:
    request = replace(request_, model="sonnet", turns_max=7, cost_micros_max=1_250_000)
    argv = ClaudeHarness(ClaudeConfig()).launch(request).argv
    assert (option(argv, "--model"), option(argv, "--max-turns")) == ("sonnet", "7")
    assert option(argv, "--max-budget-usd") == "1.250000"


def test_new_session_gets_our_id_and_a_resumed_one_keeps_its_own(request_: LaunchRequest) -> None:
    harness = ClaudeHarness(ClaudeConfig())
    assert option(harness.launch(request_).argv, "--session-id") == "s-1"
    resumed = harness.launch(replace(request_, resume_id="old")).argv
    assert option(resumed, "--resume") == "old"
    assert "--session-id" not in resumed


def test_only_our_mcp_server_is_configured(request_: LaunchRequest) -> None:
    argv = ClaudeHarness(ClaudeConfig()).launch(request_).argv
    assert "--strict-mcp-config" in argv
    path = Path(option(argv, "--mcp-config"))
    headers = {"Authorization": "Bearer abc"}
    server = {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": headers}
    assert json.loads(path.read_text()) == {"mcpServers": {"workloop": server}}


def test_session_without_an_endpoint_has_no_mcp_server_at_all(request_: LaunchRequest) -> None:
    argv = ClaudeHarness(ClaudeConfig()).launch(replace(request_, endpoint=None)).argv
    assert json.loads(Path(option(argv, "--mcp-config")).read_text()) == {"mcpServers": {}}


def test_very_long_prompt_goes_through_a_file(request_: LaunchRequest) -> None:
    prompt = "x" * (ARGUMENT_BYTES_MAX + 1)
    argv = ClaudeHarness(ClaudeConfig()).launch(replace(request_, prompt=prompt)).argv
    assert max(map(len, argv)) < 1_000
    brief = Path(option(argv, "--add-dir")) / "brief.md"
    assert brief.read_text() == prompt
    assert str(brief) in argv[-1]
    assert not (brief.parent / "mcp.json").exists()


def test_operator_keeps_their_own_login_by_default(request_: LaunchRequest) -> None:
    env = ClaudeHarness(ClaudeConfig()).launch(request_).env
    assert env["HOME"] == "/home/operator"
    assert "CLAUDE_CONFIG_DIR" not in env


def test_own_home_is_private_and_kept(request_: LaunchRequest, tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = ClaudeHarness(ClaudeConfig(home=ClaudeHome.OWN, home_dir=home)).launch(request_).env
    assert (env["HOME"], env["CLAUDE_CONFIG_DIR"]) == (str(home), str(home / ".claude"))
    assert home.stat().st_mode & 0o777 == 0o700


def test_own_home_needs_a_folder(request_: LaunchRequest) -> None:
    with pytest.raises(Fault):
        ClaudeHarness(ClaudeConfig(home=ClaudeHome.OWN)).launch(request_)


def test_retries_are_few_and_tools_are_declared_directly(request_: LaunchRequest) -> None:
    env = ClaudeHarness(ClaudeConfig(environment={"CLAUDE_CODE_MAX_RETRIES": "1"})).launch(request_).env
    assert (env["CLAUDE_CODE_MAX_RETRIES"], env["ENABLE_TOOL_SEARCH"]) == ("1", "false")
    assert env["DISABLE_AUTOUPDATER"] == "1"


def test_configured_binary_comes_before_the_one_on_the_path(request_: LaunchRequest, tmp_path: Path) -> None:
    other = tmp_path / "other-claude"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    on_path = request_.environment["PATH"]
    assert find_binary(str(other), on_path) == str(other)
    assert find_binary(None, on_path) == str(Path(on_path) / "claude")
    with pytest.raises(Fault, match="HARNESS_MISSING"):
        find_binary(str(tmp_path / "absent"), on_path)


def test_link_planted_in_the_session_dir_is_replaced_and_not_written_through(
    request_: LaunchRequest, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (request_.session_dir / "mcp.json").symlink_to(victim)
    ClaudeHarness(ClaudeConfig()).launch(request_)
    assert victim.read_text() == "mine"


def test_block_of_another_name_is_the_same_program(request_: LaunchRequest) -> None:
    harness = ClaudeHarness(ClaudeConfig(name="claude-work"))
    assert harness.name == "claude-work"
    assert harness.tested_versions == ClaudeHarness(ClaudeConfig()).tested_versions
    assert "2.1.332" in harness.tested_versions
    harness.reader(request_)


def test_d33_no_session_may_update_the_program_whatever_is_configured(request_: LaunchRequest) -> None:
    for environment in ({}, {"DISABLE_AUTOUPDATER": "0"}):
        env = ClaudeHarness(ClaudeConfig(environment=environment)).launch(request_).env
        assert env["DISABLE_AUTOUPDATER"] == "1"


def test_session_that_may_do_anything_is_for_those_who_asked_and_never_for_a_verifier(request_: LaunchRequest) -> None:
    config = ClaudeConfig(permissions=ClaudePermissions.BYPASS, environment={"IS_SANDBOX": "1"})
    free = ClaudeHarness(config).launch(request_).argv
    assert option(free, "--permission-mode") == "bypassPermissions"
    assert "--allowedTools" not in free
    verifier = ClaudeHarness(config).launch(replace(request_, read_only=True)).argv
    assert option(verifier, "--permission-mode") == "dontAsk"


def test_root_may_not_do_anything_unless_the_machine_is_a_sandbox() -> None:
    with pytest.raises(Fault, match=r"HARNESS_CONFIG.*root"):
        refuse_bypassing_root("claude", 0, {})
    refuse_bypassing_root("claude", 0, {"IS_SANDBOX": "1"})
    refuse_bypassing_root("claude", 1000, {})
