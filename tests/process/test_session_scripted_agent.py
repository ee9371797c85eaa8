"""The scripted agent does what its script says, as a real child, and calls the loop over HTTP."""

import json
import subprocess
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from session_bench import Bench

from workloop.domain.session import SessionClass, SessionError, ToolResult, ToolResultClass
from workloop.runner.harness.port import McpEndpoint

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    subprocess.run(["git", "init", "--quiet"], cwd=bench.cwd, check=True)
    return bench


class Loop(ThreadingHTTPServer):
    """A loop that accepts everything but one action."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.calls: list[tuple[str, str | None, Any]] = []

    @property
    def endpoint(self) -> McpEndpoint:
        url = f"http://127.0.0.1:{self.server_port}"
        return McpEndpoint(url_mcp=f"{url}/mcp", url_api=url, token="the-token")


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Loop)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.calls.append((self.path, self.headers["Authorization"], body))
        refused = self.path.endswith("/defer")
        answer = json.dumps({"code": "BOUNDARY_UNKNOWN"} if refused else {"ok": True}).encode()
        self.send_response(409 if refused else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


@pytest.fixture
def loop() -> Generator[Loop]:
    with Loop() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def item_file(bench: Bench, **facts: Any) -> Path:
    path = bench.folder / "item.json"
    path.write_text(json.dumps({"key": "add-search", "role": "work", "attempt": 1, "contract_hash": "c0ffee"} | facts))
    return path


async def test_script_writes_commits_and_completes_with_the_commit_it_made(bench: Bench, loop: Loop) -> None:
    complete = {"outcome": {"sha": "{sha}"}, "contract_hash": "{contract_hash}", "summary": "did {key}", "evidence": []}
    harness = bench.script(
        {"write": {"path": "src/a.txt", "text": "for {key}"}},
        {"commit": "feat: {key}"},
        {"call": {"action": "complete", "arguments": complete}},
        {"say": "done"},
    )
    report = await bench.run(harness, endpoint=loop.endpoint, item_file=item_file(bench))
    assert (report.session_class, report.final_text) == (SessionClass.CLEAN, "done")
    log = subprocess.run(
        ["git", "log", "-1", "--format=%H %s"], cwd=bench.cwd, check=True, capture_output=True, text=True
    )
    sha, title = log.stdout.strip().split(" ", 1)
    assert title == "feat: add-search"
    assert (bench.cwd / "src" / "a.txt").read_text() == "for add-search"
    filled = {"outcome": {"sha": sha}, "contract_hash": "c0ffee", "summary": "did add-search", "evidence": []}
    assert loop.calls == [("/v1/complete", "Bearer the-token", filled)]
    results = [(event.name, event.result) for event in bench.events if isinstance(event, ToolResult)]
    assert results == [(name, ToolResultClass.OK) for name in ("write", "commit", "work_loop")]


async def test_expected_refusal_goes_on_and_an_unexpected_one_ends_the_script(bench: Bench, loop: Loop) -> None:
    call = {"call": {"action": "defer", "arguments": {}}}
    expected = {**call, "expect_error": "BOUNDARY_UNKNOWN"}
    report = await bench.run(bench.script(expected, call, {"say": "never"}), endpoint=loop.endpoint)
    assert (report.session_class, report.exit_code) == (SessionClass.CRASHED, 1)
    assert len(loop.calls) == 2
    errors = [event for event in bench.events if isinstance(event, SessionError)]
    assert [event.message for event in errors] == ["defer answered BOUNDARY_UNKNOWN"]


async def test_first_rule_that_matches_the_item_is_followed(bench: Bench) -> None:
    rules: list[dict[str, Any]] = [
        {"match": {"key": "other-*"}, "do": [{"say": "by key"}]},
        {"match": {"key": "add-*", "role": "verify"}, "do": [{"say": "by role"}]},
        {"match": {"key": "add-*", "attempt": 1}, "do": [{"say": "by attempt"}]},
        {"match": {"key": "add-*"}, "do": [{"say": "second attempt"}]},
    ]
    harness = bench.script(rules=rules)
    said = [
        (await bench.run(harness, item_file=item_file(bench, **facts))).final_text
        for facts in ({}, {"attempt": 2}, {"role": "verify"}, {"key": "other-1"})
    ]
    assert said == ["by attempt", "second attempt", "by role", "by key"]


async def test_item_without_a_rule_fails_loudly(bench: Bench) -> None:
    report = await bench.run(bench.script(rules=[{"match": {"key": "x"}, "do": []}]), item_file=item_file(bench))
    assert (report.session_class, report.exit_code) == (SessionClass.CRASHED, 1)
    assert "no rule for add-search as work" in report.stderr_tail


async def test_resumed_session_can_play_another_part(bench: Bench) -> None:
    rules = [{"match": {"resumed": True}, "do": [{"say": "again"}]}, {"match": {}, "do": [{"say": "first"}]}]
    harness = bench.script(rules=rules)
    first = await bench.run(harness)
    again = await bench.run(harness, resume_id=first.resume_id)
    assert (first.final_text, again.final_text) == ("first", "again")


async def test_command_with_another_exit_code_than_the_script_says_ends_it(bench: Bench) -> None:
    report = await bench.run(bench.script({"run": "exit 3", "expect": 3}, {"run": "exit 4"}, {"say": "never"}))
    assert report.session_class is SessionClass.CRASHED
    results = [(event.result, event.exit_code) for event in bench.events if isinstance(event, ToolResult)]
    assert results == [(ToolResultClass.COMMAND_NONZERO, 3)]


async def test_unknown_step_is_named(bench: Bench) -> None:
    report = await bench.run(bench.script({"dance": True}))
    assert "a step needs exactly one of" in report.stderr_tail
