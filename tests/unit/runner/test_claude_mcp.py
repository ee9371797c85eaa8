"""What the queue's tools were asked and answered, and which MCP servers a session sees."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workloop.domain.errors import Fault
from workloop.domain.session import MCP_CHARACTERS_MAX, SessionEvent, ToolCall, ToolResult
from workloop.runner.harness.claude.launch import ClaudeConfig, ClaudeHarness
from workloop.runner.harness.claude.spill import FILE_BYTES_MAX
from workloop.runner.harness.claude.stream import ClaudeReader, Identity
from workloop.runner.harness.port import LaunchRequest, McpEndpoint
from workloop.runner.signatures import load_signatures

ENDPOINT = McpEndpoint(url_mcp="http://127.0.0.1:1/mcp", url_api="http://127.0.0.1:1", token="abc")
CALL = "toolu_01AbC"
CLAIM = "mcp__backlog__claim"


@pytest.fixture
def request_(tmp_path: Path) -> LaunchRequest:
    binary = tmp_path / "bin" / "claude"
    binary.parent.mkdir()
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    (tmp_path / "session").mkdir(mode=0o700)
    return LaunchRequest(
        prompt="do it",
        cwd=tmp_path,
        session_dir=tmp_path / "session",
        session_id="s-1",
        environment={"PATH": str(binary.parent)},
        endpoint=ENDPOINT,
    )


def exchange(content: Any, *, name: str = CLAIM, asked: Any = None, call: str = CALL) -> list[SessionEvent]:
    """Return the events of one call and its answer."""
    reader = ClaudeReader(Identity(session_id="s"), load_signatures("claude"))
    use = {"type": "tool_use", "id": call, "name": name, "input": {"limit": 3} if asked is None else asked}
    result = {"type": "tool_result", "tool_use_id": call, "content": content}
    lines = [
        {"type": "assistant", "message": {"id": "m", "content": [use]}},
        {"type": "user", "message": {"content": [result]}},
    ]
    return [event for line in lines for event in reader.feed(json.dumps(line).encode(), 0)]


def answer(content: Any, **fields: Any) -> str:
    [told] = [event.answer for event in exchange(content, **fields) if isinstance(event, ToolResult)]
    return told


def note(path: Path | str) -> str:
    return (
        f"<persisted-output>\nOutput too large (66.4KB). Full output saved to: {path}\n\nPreview:\n" + '{"run": "no"}'
    )


def test_mcp_call_keeps_its_arguments_and_its_answer() -> None:
    call, result = exchange([{"type": "text", "text": '{"id": 1}'}], asked={"note": "é\u202e"})
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.arguments, result.answer) == ('{"note":"é"}', '{"id": 1}')
    assert answer('{"id": 2}') == '{"id": 2}'


def test_other_tools_keep_nothing_of_what_they_saw() -> None:
    call, result = exchange("a secret", name="Bash", asked={"command": "cat secret"})
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.arguments, result.answer) == ("", "")


def test_what_is_kept_is_bounded() -> None:
    call, result = exchange("x" * (MCP_CHARACTERS_MAX + 10), asked={"text": "y" * (MCP_CHARACTERS_MAX + 10)})
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert len(call.arguments) < MCP_CHARACTERS_MAX + 10
    assert len(result.answer) < MCP_CHARACTERS_MAX + 10


@pytest.mark.parametrize("content", ['"whole"', '[{"type": "text", "text": "whole"}]'])
def test_spilled_answer_is_read_from_the_file_that_bears_the_call_s_id(tmp_path: Path, content: str) -> None:
    path = tmp_path / f"{CALL}.json"
    path.write_text(content)
    assert answer(note(path)) == "whole"


@pytest.mark.parametrize(
    ("name", "call"),
    [("other.json", CALL), (f"x{CALL}.json", CALL), (f"{CALL}.txt", CALL), ("a b.json", "a b"), (".json", "")],
)
def test_file_of_another_name_is_not_read(tmp_path: Path, name: str, call: str) -> None:
    path = tmp_path / name
    path.write_text('"whole"')
    assert answer(note(path), call=call) == ""


def test_relative_path_a_link_a_pipe_and_a_folder_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / f"{CALL}.json"
    (tmp_path / "real").write_text('"whole"')
    path.symlink_to(tmp_path / "real")
    assert answer(note(path)) == ""
    path.unlink()
    os.mkfifo(path)
    assert answer(note(path)) == ""
    path.unlink()
    path.mkdir()
    assert answer(note(path)) == ""
    assert answer(note(f"{CALL}.json")) == ""
    assert answer(note(tmp_path / "gone" / f"{CALL}.json")) == ""


def test_spilled_file_beyond_the_bound_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / f"{CALL}.json"
    path.write_bytes(b'"whole"'.ljust(FILE_BYTES_MAX))
    assert answer(note(path)) == "whole"
    path.write_bytes(b'"whole"'.ljust(FILE_BYTES_MAX + 1))
    assert answer(note(path)) == ""


def test_preview_of_a_spilled_answer_is_never_taken_for_it(tmp_path: Path) -> None:
    assert answer(note(tmp_path / f"{CALL}.json")) == ""


def configured(request: LaunchRequest) -> tuple[tuple[str, ...], dict[str, Any]]:
    argv = ClaudeHarness(ClaudeConfig()).launch(request).argv
    path = Path(argv[argv.index("--mcp-config") + 1])
    assert path.stat().st_mode & 0o777 == 0o600
    return argv, json.loads(path.read_text())["mcpServers"]


def test_operator_s_servers_are_joined_with_ours_in_a_private_copy(request_: LaunchRequest, tmp_path: Path) -> None:
    own = tmp_path / "mcp.json"
    own.write_text(json.dumps({"mcpServers": {"backlog": {"command": "backlog", "args": ["mcp"]}}}))
    argv, servers = configured(replace(request_, mcp_config=own))
    assert "--strict-mcp-config" in argv
    assert servers["backlog"] == {"command": "backlog", "args": ["mcp"]}
    assert servers["workloop"]["headers"] == {"Authorization": "Bearer abc"}
    allowed = argv[argv.index("--allowedTools") + 1].split()
    assert {"mcp__workloop", "mcp__backlog"} <= set(allowed)
    assert "abc" not in own.read_text()


def test_operator_s_servers_are_all_there_is_without_an_endpoint(request_: LaunchRequest, tmp_path: Path) -> None:
    own = tmp_path / "mcp.json"
    own.write_text('{"mcpServers": {"backlog": {"command": "backlog"}}}')
    _argv, servers = configured(replace(request_, mcp_config=own, endpoint=None))
    assert list(servers) == ["backlog"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"mcpServers": []}', '{"mcpServers": {"workloop": {}}}', "[" * 9])
def test_operator_s_file_that_cannot_be_joined_is_refused_by_name(
    request_: LaunchRequest, tmp_path: Path, content: str
) -> None:
    own = tmp_path / "mine.json"
    own.write_text(content)
    with pytest.raises(Fault, match=r"HARNESS_CONFIG.*mine\.json"):
        configured(replace(request_, mcp_config=own))


def test_operator_s_file_that_is_missing_is_refused_by_name(request_: LaunchRequest, tmp_path: Path) -> None:
    with pytest.raises(Fault, match=r"HARNESS_CONFIG.*absent\.json"):
        configured(replace(request_, mcp_config=tmp_path / "absent.json"))
