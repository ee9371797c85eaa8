"""`workloop mcp` as a child: what it answers to any client, and that it is gone when its client is."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from surface_bench import TOOL, Facts, Project, mcp_over_stdio, open_project, serving, text_of, through
from workloop.domain.grants import Actor, Grant

BOUND_SECONDS = 90
MIB = 1024 * 1024
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CLIENT = """
import os, subprocess, sys, time
read, write = os.pipe()
child = subprocess.Popen(sys.argv[1:], stdin=read, stdout=subprocess.PIPE, pass_fds=(write,))
os.write(write, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(600)
"""
"""A client whose server holds both ends of its own input, so that no end of input ever comes."""


@pytest.fixture
def project(tmp_path: Path) -> Generator[Project]:
    with open_project(tmp_path) as made:
        made.act("add_items", {"items": [{"key": "a", "title": "A"}]})
        yield made


class Child:
    """A server that a test talks to in bytes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.buffer = b""

    def send(self, *messages: object) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def line(self) -> Any:
        """Read the next answer."""
        assert self.process.stdout is not None
        while b"\n" not in self.buffer:
            assert select.select([self.process.stdout], [], [], BOUND_SECONDS)[0], "no answer"
            read = os.read(self.process.stdout.fileno(), 65536)
            assert read, "the server has gone"
            self.buffer += read
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, method: str, params: object = None, asked: object = 1) -> Facts:
        """Send a request and return its answer."""
        self.send({"jsonrpc": "2.0", "id": asked, "method": method, "params": params})
        answer = self.line()
        assert answer["id"] == asked
        return answer


@contextmanager
def started(project: Project, profile: str = "operator", **environment: str) -> Generator[Child]:
    """Run the server while the block runs."""
    process = subprocess.Popen(
        project.argv("mcp", "--profile", profile),
        env=project.environment | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield Child(process)
        finally:
            process.kill()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_works_with_it_in_both_eras(project: Project, mode: str) -> None:
    with start_blocking_portal() as portal, mcp_over_stdio(portal, project, "coordinator", mode) as session:
        (tool,) = portal.call(session.list_tools).tools
        call = through(portal, session)
        assert tool.name == TOOL
        assert call("claim", {"holder": "one"})["item"]["key"] == "a"
        assert call("cancel", {"key": "a", "reason": "no"})["code"] == "HUMAN_ONLY"
        read = portal.call(session.read_resource, "workloop://campaign/status")
        assert text_of(read.contents[0])["counts"] == {"in_progress": 1}
        assert portal.call(session.list_resource_templates).resource_templates[0].uri_template


@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_known_version_is_agreed_to(project: Project, version: str) -> None:
    with started(project) as child:
        answer = child.ask("initialize", {"protocolVersion": version, "capabilities": {}})
        assert answer["result"]["protocolVersion"] == version
        assert answer["result"]["serverInfo"]["name"] == "workloop"


@pytest.mark.parametrize("version", ["1999-01-01", "2099-01-01", 7, None, {}])
def test_an_unknown_version_gets_the_newest(project: Project, version: object) -> None:
    with started(project) as child:
        assert child.ask("initialize", {"protocolVersion": version})["result"]["protocolVersion"] == HANDSHAKES[-1]


def test_what_is_not_json_rpc_is_answered_and_the_next_line_works(project: Project) -> None:
    with started(project) as child:
        refused: list[tuple[bytes, int]] = [
            (b"{", -32700),
            (b"\xff\xfe\x00", -32700),
            (b"[" * 100_000, -32700),
            (b"9" * 10_000, -32700),
            (b"7", -32600),
            (b"null", -32600),
            (b'"text"', -32600),
            (b"{}", -32600),
            (b"[]", -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
            (b'{"jsonrpc":"2.0","id":1,"method":"__init__"}', -32601),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work_loop","arguments":[]}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}', -32602),
            (b"x" * (4 * MIB + 10), -32600),
        ]
        for line, code in refused:
            child.send(line)
            assert child.line()["error"]["code"] == code, line[:60]
        assert child.ask("ping", asked="last")["result"] == {}


def test_notifications_and_stray_answers_get_none(project: Project) -> None:
    with started(project) as child:
        child.send(
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
            {"jsonrpc": "2.0", "method": "no/such"},
            {"jsonrpc": "2.0", "id": 5, "result": {}},
            b"",
            b"   ",
        )
        assert child.ask("ping", asked=9)["id"] == 9


def test_a_batch_is_answered_where_the_version_has_batches(project: Project) -> None:
    batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (1, 2)]
    with started(project) as child:
        child.ask("initialize", {"protocolVersion": "2025-03-26"})
        child.send([*batch, {"jsonrpc": "2.0", "method": "notifications/initialized"}])
        assert [answer["id"] for answer in child.line()] == [1, 2]
        child.ask("initialize", {"protocolVersion": "2025-06-18"})
        child.send(batch)
        assert child.line()["error"]["code"] == -32600


def test_an_era_that_is_not_spoken_is_named_with_those_that_are(project: Project) -> None:
    with started(project) as child:
        meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}
        error = child.ask("tools/list", meta)["error"]
        assert (error["code"], "2026-07-28" in error["data"]["supported"]) == (-32022, True)


def test_refusals_are_results_that_a_model_reads(project: Project) -> None:
    with started(project) as child:
        for arguments, code in (
            ({}, "UNKNOWN_ACTION"),
            ({"action": "fly"}, "UNKNOWN_ACTION"),
            ({"action": "show", "key": "none"}, "KEY_NOT_FOUND"),
            ({"action": "heartbeat", "token": "stale"}, "STALE_CLAIM"),
            ({"action": "show", "key": 7}, "BAD_REQUEST"),
        ):
            result = child.ask("tools/call", {"name": TOOL, "arguments": arguments})["result"]
            assert (result["isError"], result["structuredContent"]["code"]) == (True, code)
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert result["structuredContent"]["suggested_fix"]


def test_a_store_that_is_not_there_is_said_at_the_call_not_at_the_start(project: Project, tmp_path: Path) -> None:
    with started(project, WORKLOOP_STATE=str(tmp_path / "nothing")) as child:
        assert "result" in child.ask("initialize", {"protocolVersion": HANDSHAKES[-1]})
        assert child.ask("tools/list")["result"]["tools"]
        result = child.ask("tools/call", {"name": TOOL, "arguments": {"action": "status"}})["result"]
        assert result["isError"]
        assert "workloop init" in result["structuredContent"]["suggested_fix"]


def test_an_ordinary_chat_has_no_worker_tools(project: Project) -> None:
    with started(project, "worker") as child:
        child.ask("initialize", {"protocolVersion": HANDSHAKES[-1]})
        assert child.ask("tools/list")["result"] == {"tools": []}
        assert child.ask("resources/list")["result"] == {"resources": []}
        assert child.ask("tools/call", {"name": TOOL, "arguments": {"action": "status"}})["error"]["code"] == -32602
        child.process.terminate()
        assert child.process.stderr is not None
        assert b"no claim is bound" in child.process.stderr.read()


def test_a_worker_with_a_claim_works_on_it_alone(project: Project) -> None:
    project.act("add_items", {"items": [{"key": "b", "title": "B"}]})
    claimed = project.act("claim", {"holder": "one"})
    with (
        start_blocking_portal() as portal,
        mcp_over_stdio(portal, project, "worker", WORKLOOP_TOKEN=claimed["token"]) as session,
    ):
        (tool,) = portal.call(session.list_tools).tools
        call = through(portal, session)
        assert "lane_acquire" not in (tool.description or "lane_acquire")
        assert call("show", {})["key"] == "a"
        assert call("show", {"key": "b"})["code"] == "NOT_OWNER"
        assert call("status", {})["code"] == "FORBIDDEN"
        assert call("release", {"reason": "not mine"})["state"] == "pending"


def test_a_shim_reaches_the_loop_that_runs(project: Project, tmp_path: Path) -> None:
    claimed = project.act("claim", {"holder": "one"})
    with serving(project.queue) as (portal, endpoint):
        admitted = endpoint.admit(Actor(principal="s", grant=Grant.SESSION, token=claimed["token"]))
        token = tmp_path / "token"
        token.write_text(admitted.token)
        environment = {"WORKLOOP_URL": admitted.url_api, "WORKLOOP_TOKEN_FILE": str(token)}
        with mcp_over_stdio(portal, project, "worker", **environment) as session:
            call = through(portal, session)
            assert call("show", {})["key"] == "a"
            endpoint.dismiss(admitted)
            assert call("show", {})["code"] == "TOKEN_UNKNOWN"


def test_it_ends_with_its_input(project: Project) -> None:
    with started(project) as child:
        child.ask("tools/call", {"name": TOOL, "arguments": {"action": "status"}})
        assert child.process.stdin is not None
        child.process.stdin.close()
        assert child.process.wait(BOUND_SECONDS) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_asked_to(project: Project, number: signal.Signals) -> None:
    with started(project) as child:
        child.ask("ping")
        child.process.send_signal(number)
        assert child.process.wait(BOUND_SECONDS) == 0


def test_it_is_gone_when_its_client_is_killed(project: Project) -> None:
    """Regression: orphaned servers kept a database locked because nothing closed their input."""
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, *project.argv("mcp", "--profile", "operator")],
        env=project.environment,
        stdout=subprocess.PIPE,
    )
    with client:
        assert client.stdout is not None
        server = int(client.stdout.readline())
        watch = os.pidfd_open(server)
        try:
            client.kill()
            assert select.select([watch], [], [], BOUND_SECONDS)[0], "the server lives on"
        finally:
            os.close(watch)


def test_a_client_that_does_not_read_does_not_keep_it(project: Project) -> None:
    with started(project) as child:
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        child.send(*[listing] * 50)
        child.line()
        child.process.send_signal(signal.SIGTERM)
        assert child.process.wait(BOUND_SECONDS) == 0


def test_a_call_under_way_is_answered_before_a_signal_ends_it(project: Project) -> None:
    """A claim that was made is never lost between the commit and the answer."""
    body = "    os.kill(os.getpid(), signal.SIGTERM); sys.stderr.write('went on')"
    answers, errors = served_by(body, [CALL_STATUS, CALL_STATUS])
    (answer,) = answers
    assert answer["result"]["structuredContent"]["code"] == "INTERNAL"
    assert "went on" in errors


def test_nothing_but_answers_is_written_to_standard_output() -> None:
    answers, errors = served_by("    print('noise'); sys.stdout.flush()", [CALL_STATUS])
    (answer,) = answers
    assert answer["result"]["structuredContent"]["code"] == "INTERNAL"
    assert "Traceback" not in answer["result"]["content"][0]["text"]
    assert "Traceback" in errors
    assert "noise" in errors


CALL_STATUS = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": TOOL, "arguments": {"action": "status"}},
}


def served_by(body: str, messages: list[Facts]) -> tuple[list[Facts], str]:
    """Serve messages with a queue that breaks after a line of code; return the answers and what went to the log."""
    code = "\n".join(
        [
            "import os, signal, sys",
            "from workloop.interfaces.mcp.stdio import serve_stdio",
            "def make():",
            body,
            "    raise RuntimeError('broken')",
            "serve_stdio(make, 'operator')",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        timeout=BOUND_SECONDS,
        check=True,
        text=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr
