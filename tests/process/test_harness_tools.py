"""The tools of a harness as an agent meets them: over MCP, by a program that was laid out for one session."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from workloop.config.harnesses import HarnessKind
from workloop.repair.bundled.files import FileKind, HarnessFile, files_of_commit
from workloop.repair.bundled.laying import lay
from workloop.repair.bundled.manifest import read_harness
from workloop.repair.bundled.mapping import setup_for

ANSWER_SECONDS = 60
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}
ECHO = f"#!{sys.executable}\nimport json, sys\nprint(json.load(sys.stdin)['text'] * 3)\n"
BREAKS = "#!/bin/sh\necho broken; exit 3\n"
HANGS = "#!/bin/sh\nsleep 271 & echo $! > left.pid; echo begun; wait\n"


def manifest(name: str, **more: Any) -> HarnessFile:
    """Return the manifest of a tool."""
    told = {"name": name, "description": "A tool.", "entry": "run", "timeout_seconds": 30, "parameters": SCHEMA, **more}
    return HarnessFile(data=json.dumps(told).encode())


def tools() -> dict[str, HarnessFile]:
    """Return a harness of four tools."""
    files = {"harness.toml": HarnessFile(data=b'version = 1\ntools = ["t/echo", "t/short", "t/breaks", "t/hangs"]\n')}
    programs = {"echo": ECHO, "short": ECHO, "breaks": BREAKS, "hangs": HANGS}
    more: dict[str, dict[str, Any]] = {"short": {"result_bytes_max": 4}, "hangs": {"timeout_seconds": 1}}
    for name, program in programs.items():
        files[f"t/{name}/tool.json"] = manifest(f"{name}_it", **more.get(name, {}))
        files[f"t/{name}/run"] = HarnessFile(data=program.encode(), kind=FileKind.EXECUTABLE)
    return files


def call(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    """Return a request to call a tool."""
    return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}


def answers(folder: Path, *requests: dict[str, Any] | bytes) -> list[dict[str, Any]]:
    """Lay a harness out, start its server as an agent would, and return what it answers."""
    packages = folder / "packages"
    packages.mkdir(mode=0o700)
    made = setup_for(HarnessKind.CLAUDE, read_harness(tools()), packages, {})
    lay(made.packages, packages)
    server = json.loads(made.servers)["mcpServers"]["harness"]
    lines = [
        one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0", "id": number, **one}).encode()
        for number, one in enumerate(requests, start=1)
    ]
    done = subprocess.run(
        [server["command"], *server["args"]],
        input=b"\n".join(lines) + b"\n",
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        timeout=ANSWER_SECONDS,
        check=True,
    )
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_server_announces_exactly_the_tools_of_the_harness(tmp_path: Path) -> None:
    started, listed = answers(tmp_path, {"method": "initialize"}, {"method": "tools/list"})
    assert started["result"]["serverInfo"]["name"] == "harness"
    found = {tool["name"]: tool["inputSchema"] for tool in listed["result"]["tools"]}
    assert found == dict.fromkeys(("echo_it", "short_it", "breaks_it", "hangs_it"), SCHEMA)


def test_a_call_gives_what_the_tool_says_up_to_its_bound(tmp_path: Path) -> None:
    whole, cut = answers(tmp_path, call("echo_it", {"text": "ab"}), call("short_it", {"text": "ab"}))
    assert whole["result"] == {"content": [{"type": "text", "text": "ababab\n"}], "isError": False}
    assert cut["result"]["content"][0]["text"] == "abab"


def test_a_tool_that_fails_or_is_called_wrongly_is_told_as_an_error(tmp_path: Path) -> None:
    failed, wrong, none = answers(
        tmp_path, call("breaks_it", {"text": "a"}), call("echo_it", {"path": "a"}), call("other", {})
    )
    assert failed["result"]["isError"]
    assert failed["result"]["content"][0]["text"] == "broken\n\nthe tool ended with 3"
    assert wrong["result"]["isError"]
    assert "arguments missing: ['text'], not known: ['path']" in wrong["result"]["content"][0]["text"]
    assert none["error"]["code"] == -32602


def test_a_tool_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    (hung,) = answers(tmp_path, call("hangs_it", {"text": "a"}))
    assert hung["result"] == {
        "content": [{"type": "text", "text": "begun\n\nthe tool took more than 1 seconds"}],
        "isError": True,
    }
    left = int((tmp_path / "left.pid").read_text())
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE


def test_lines_that_are_no_request_are_answered_or_left_alone_and_the_server_goes_on(tmp_path: Path) -> None:
    said = answers(tmp_path, b"no json", b"[]", b'{"jsonrpc": "2.0", "method": "initialized"}', {"method": "ping"})
    assert [one.get("error", {}).get("code") for one in said] == [-32700, -32600, None]
    assert said[-1]["result"] == {}


def test_nothing_is_laid_over_what_stands_there_or_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "a").symlink_to(tmp_path / "outside" / "a")
    with pytest.raises(FileExistsError):
        lay({"a": HarnessFile(data=b"x")}, tmp_path / "place")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_harness_is_read_out_of_exactly_one_commit(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    for path, file in tools().items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
        place.chmod(0o755 if file.kind is FileKind.EXECUTABLE else 0o644)
    git("add", "-A")
    git("commit", "-qm", "a harness")
    commit = git("rev-parse", "HEAD")
    (tmp_path / "harness.toml").write_text("version = 2\n")
    harness = read_harness(files_of_commit(tmp_path, commit))
    assert [tool.name for tool in harness.tools] == ["echo_it", "short_it", "breaks_it", "hangs_it"]
