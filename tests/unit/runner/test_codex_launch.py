"""How Codex is started and led: no secret on the command line, nothing of the work dir's, no question unanswered."""

import json
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workloop.domain.errors import Fault
from workloop.runner.harness.codex.appserver import AppServerReader
from workloop.runner.harness.codex.launch import CodexConfig, CodexHarness, CodexMode, CodexSandbox
from workloop.runner.harness.codex.settings import toml
from workloop.runner.harness.port import LaunchRequest, McpEndpoint
from workloop.runner.sandbox.enclosure import Enclosure, Network, SandboxKind

ENDPOINT = McpEndpoint(url_mcp="http://127.0.0.1:9/mcp", url_api="http://127.0.0.1:9", token="secret-token-51")
MODES = list(CodexMode)


def request(folder: Path, **fields: Any) -> LaunchRequest:
    for name in ("work", "session", "codex"):
        (folder / name).mkdir(exist_ok=True)
    given: dict[str, Any] = {
        "prompt": "- do it",
        "cwd": folder / "work",
        "session_dir": folder / "session",
        "session_id": "11111111-2222-4333-8444-555555555555",
        "environment": {"PATH": "/usr/bin", "CODEX_HOME": str(folder / "codex")},
        "endpoint": ENDPOINT,
    }
    return LaunchRequest(**(given | fields))


def harness(mode: CodexMode = CodexMode.APP_SERVER, **fields: Any) -> CodexHarness:
    return CodexHarness(CodexConfig(binary=sys.executable, mode=mode, **fields))


def settings(argv: tuple[str, ...]) -> dict[str, Any]:
    pairs = [argv[at + 1].partition("=") for at, part in enumerate(argv) if part == "-c"]
    return {name: tomllib.loads(f"value = {value}")["value"] for name, _, value in pairs}


def led(given: CodexHarness, made: LaunchRequest, *answers: dict[str, Any]) -> list[dict[str, Any]]:
    reader = given.reader(made)
    said = reader.replies()
    for answer in answers:
        reader.feed(json.dumps(answer).encode(), 0)
        said += reader.replies()
    return [json.loads(line) for line in said.splitlines()]


OPENED = ({"id": 1, "result": {}}, {"id": 2, "result": {"thread": {"id": "t-1"}}})


def test_codex_dialogue_opens_a_thread_and_then_the_one_turn(tmp_path: Path) -> None:
    said = led(harness(), request(tmp_path, model="gpt-5.5"), *OPENED, *OPENED)
    assert [message["method"] for message in said][:4] == ["initialize", "initialized", "thread/start", "turn/start"]
    assert len([message for message in said if message["method"] == "turn/start"]) == 1
    thread, turn = said[2]["params"], said[3]["params"]
    assert (thread["cwd"], thread["model"]) == (str(tmp_path / "work"), "gpt-5.5")
    assert (thread["approvalPolicy"], thread["sandbox"]) == ("never", "danger-full-access")
    assert turn == {"threadId": "t-1", "input": [{"type": "text", "text": "- do it"}]}


def test_codex_dialogue_goes_on_with_an_earlier_thread(tmp_path: Path) -> None:
    said = led(harness(), request(tmp_path, resume_id="t-0"), OPENED[0])
    assert (said[2]["method"], said[2]["params"]["threadId"]) == ("thread/resume", "t-0")


def test_codex_is_told_of_the_loop_over_the_pipe_only(tmp_path: Path) -> None:
    given, made = harness(), request(tmp_path)
    launch = given.launch(made)
    server = led(given, made, OPENED[0])[2]["params"]["config"]["mcp_servers"]["workloop"]
    assert launch.interactive
    assert not [text for text in (*launch.argv, *launch.env.values()) if ENDPOINT.token in text]
    assert server["url"] == ENDPOINT.url_mcp
    assert server["http_headers"] == {"Authorization": f"Bearer {ENDPOINT.token}"}
    assert (server["required"], server["default_tools_approval_mode"]) == (True, "approve")


def test_codex_exec_has_the_token_in_one_variable_that_its_tools_do_not_get(tmp_path: Path) -> None:
    launch = harness(CodexMode.EXEC).launch(request(tmp_path))
    holders = [name for name, value in launch.env.items() if ENDPOINT.token in value]
    given = settings(launch.argv)
    assert not launch.interactive
    assert not [text for text in launch.argv if ENDPOINT.token in text]
    assert [given["mcp_servers.workloop"]["bearer_token_env_var"]] == holders
    assert given["shell_environment_policy.exclude"] == [*holders, "WORKLOOP_METER_KEY"]


@pytest.mark.parametrize("mode", MODES)
def test_codex_never_loads_the_work_dirs_own_settings_and_looks_nothing_up(tmp_path: Path, mode: CodexMode) -> None:
    given = settings(harness(mode).launch(request(tmp_path)).argv)
    assert given["projects"] == {str(tmp_path / "work"): {"trust_level": "untrusted"}}
    switched_off = (
        "check_for_update_on_startup",
        "analytics.enabled",
        "features.apps",
        "features.plugins",
        "features.unbounded_connection_retries",
    )
    assert [given[name] for name in switched_off] == [False] * len(switched_off)


@pytest.mark.parametrize("mode", MODES)
def test_codex_verifier_may_only_read_and_hears_nothing_from_the_candidate(tmp_path: Path, mode: CodexMode) -> None:
    made = request(tmp_path, read_only=True)
    given = settings(harness(mode).launch(made).argv)
    assert (given["sandbox_mode"], given["project_doc_max_bytes"]) == ("read-only", 0)
    if mode is CodexMode.APP_SERVER:
        assert led(harness(mode), made, OPENED[0])[2]["params"]["sandbox"] == "read-only"


@pytest.mark.parametrize("mode", MODES)
def test_codex_worker_is_told_the_beginning_of_what_the_work_dir_tells_agents(tmp_path: Path, mode: CodexMode) -> None:
    made = request(tmp_path)
    assert "developer_instructions" not in settings(harness(mode).launch(made).argv)
    (tmp_path / "work" / "AGENTS.md").write_text('run "make"\n' + "x" * 100_000)
    told = settings(harness(mode).launch(made).argv)["developer_instructions"]
    assert told.splitlines()[2] == 'run "make"'
    assert len(told) < 40_000
    (tmp_path / "work" / "AGENTS.override.md").symlink_to("/etc/passwd")
    assert "root" not in settings(harness(mode).launch(made).argv)["developer_instructions"]


def test_codex_worker_can_be_fenced(tmp_path: Path) -> None:
    given = harness(sandbox=CodexSandbox.WORKSPACE)
    assert settings(given.launch(request(tmp_path)).argv)["sandbox_mode"] == "workspace-write"
    assert led(given, request(tmp_path), OPENED[0])[2]["params"]["sandbox"] == "workspace-write"


def test_codex_exec_command_line_holds_model_thread_and_prompt(tmp_path: Path) -> None:
    argv = (
        harness(CodexMode.EXEC, extra_args=("--ephemeral",)).launch(request(tmp_path, model="m", resume_id="t-0")).argv
    )
    assert argv[1:5] == ("exec", "resume", "--json", "--skip-git-repo-check")
    assert argv[-6:] == ("-m", "m", "--ephemeral", "t-0", "--", "- do it")


def test_codex_own_home_is_kept_for_resuming(tmp_path: Path) -> None:
    env = harness(home_dir=tmp_path / "home").launch(request(tmp_path)).env
    assert (env["HOME"], env["CODEX_HOME"]) == (str(tmp_path / "home"), str(tmp_path / "home" / ".codex"))
    assert (tmp_path / "home" / ".codex").is_dir()


@pytest.mark.parametrize("mode", MODES)
def test_codex_servers_of_the_operators_everyday_settings_stay_off(tmp_path: Path, mode: CodexMode) -> None:
    made = request(tmp_path)
    (tmp_path / "codex" / "config.toml").write_text('[mcp_servers.mine]\ncommand = "x"\n')
    if mode is CodexMode.EXEC:
        assert settings(harness(mode).launch(made).argv)["mcp_servers.mine"] == {"enabled": False}
    else:
        servers = led(harness(mode), made, OPENED[0])[2]["params"]["config"]["mcp_servers"]
        assert (servers["mine"], "workloop" in servers) == ({"enabled": False}, True)


OPERATORS = '[mcp_servers.docs]\ncommand = "docs-mcp"\nenv = {KEY = "secret-of-docs"}\n'


def test_codex_operators_own_servers_are_joined_where_nobody_else_looks(tmp_path: Path) -> None:
    path = tmp_path / "servers.toml"
    path.write_text(OPERATORS)
    given, made = harness(), request(tmp_path, mcp_config=path)
    servers = led(given, made, OPENED[0])[2]["params"]["config"]["mcp_servers"]
    launch = given.launch(made)
    assert servers["docs"] == {
        "command": "docs-mcp",
        "env": {"KEY": "secret-of-docs"},
        "default_tools_approval_mode": "approve",
    }
    assert "workloop" in servers
    assert not [text for text in (*launch.argv, *launch.env.values()) if "secret-of-docs" in text]


def test_codex_exec_refuses_a_file_whose_secrets_would_show(tmp_path: Path) -> None:
    path = tmp_path / "servers.toml"
    path.write_text(OPERATORS)
    with pytest.raises(Fault, match="mode exec cannot take"):
        harness(CodexMode.EXEC).launch(request(tmp_path, mcp_config=path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not toml", "Expected"),
        ("x = 1", "no table mcp_servers"),
        ("[mcp_servers]\nx = 1", "mcp_servers.x is not a table"),
        ('[mcp_servers.workloop]\nurl = "http://elsewhere"', "is the loop's own"),
        (None, "No such file"),
    ],
)
def test_codex_operators_file_that_cannot_be_joined_is_refused_by_name(
    tmp_path: Path, content: str | None, reason: str
) -> None:
    path = tmp_path / "servers.toml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Fault, match=reason) as caught:
        harness().launch(request(tmp_path, mcp_config=path))
    assert str(path) in str(caught.value)


ASKED = [
    ("item/commandExecution/requestApproval", {}, {"decision": "decline"}),
    ("item/fileChange/requestApproval", {}, {"decision": "decline"}),
    ("item/permissions/requestApproval", {}, {"permissions": {}}),
    ("item/tool/requestUserInput", {}, {"answers": {}}),
    ("applyPatchApproval", {}, {"decision": "denied"}),
    ("execCommandApproval", {}, {"decision": "denied"}),
    (
        "mcpServer/elicitation/request",
        {"serverName": "workloop", "_meta": {"codex_approval_kind": "mcp_tool_call"}},
        {"action": "accept"},
    ),
    (
        "mcpServer/elicitation/request",
        {"serverName": "stranger", "_meta": {"codex_approval_kind": "mcp_tool_call"}},
        {"action": "decline"},
    ),
    ("mcpServer/elicitation/request", {"serverName": "workloop", "mode": "form"}, {"action": "decline"}),
]


@pytest.mark.parametrize(("method", "params", "result"), ASKED)
def test_codex_question_is_answered_by_policy_at_once(
    tmp_path: Path, method: str, params: dict[str, Any], result: dict[str, Any]
) -> None:
    said = led(harness(), request(tmp_path), {"id": "q-1", "method": method, "params": params})
    assert said[-1] == {"id": "q-1", "result": result}


def test_codex_question_that_nobody_knows_is_refused_and_not_left_open(tmp_path: Path) -> None:
    said = led(harness(), request(tmp_path), {"id": 0, "method": "attestation/generate", "params": {}})
    assert (said[-1]["id"], said[-1]["error"]["code"]) == (0, -32601)


def test_codex_dialogue_says_everything_once_and_nothing_after_the_end(tmp_path: Path) -> None:
    reader = harness().reader(request(tmp_path))
    assert isinstance(reader, AppServerReader)
    assert reader.replies()
    assert reader.replies() == b""
    failed = {"id": 1, "error": {"code": -1, "message": "no"}}
    reader.feed(json.dumps(failed).encode(), 0)
    reader.feed(json.dumps(OPENED[1]).encode(), 0)
    assert reader.replies() == b""


def test_codex_binary_is_the_configured_one_or_the_packages(tmp_path: Path) -> None:
    nowhere = CodexHarness(CodexConfig(name="codex-work", binary="/nonexistent/codex"))
    with pytest.raises(Fault, match="codex-work: no executable at /nonexistent/codex"):
        nowhere.version_command({})
    (tmp_path / "codex").write_text("#!/bin/sh\n")
    (tmp_path / "codex").chmod(0o700)
    assert CodexHarness(CodexConfig()).version_command({"PATH": str(tmp_path)}) == (
        str(tmp_path / "codex"),
        "--version",
    )


def test_codex_launches_of_one_request_are_the_same(tmp_path: Path) -> None:
    made = request(tmp_path)
    assert harness().launch(made) == harness().launch(replace(made))


@pytest.mark.parametrize("value", ['a"b\\c\n\x7f é', True, 7, ["x", "y"], {"a b": {"c": [1]}}])
def test_settings_are_written_as_toml_reads_them(value: object) -> None:
    assert tomllib.loads(f"value = {toml(value)}")["value"] == value


def test_behind_the_loops_walls_codex_builds_none_of_its_own(tmp_path: Path) -> None:
    """A wall inside a wall cannot be built, and without it no command of a verifier would run."""
    walled = Enclosure(kind=SandboxKind.BWRAP, network=Network.OPEN)
    for mode in CodexMode:
        made = replace(request(tmp_path), read_only=True, enclosure=walled)
        assert settings(harness(mode).launch(made).argv)["sandbox_mode"] == "danger-full-access"
