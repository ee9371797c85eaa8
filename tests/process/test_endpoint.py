"""Who gets into the loop's endpoint, what it answers, and how it ends."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from surface_bench import TOOL, Facts, Project, mcp_over_http, open_project, serving, text_of, through
from workloop.client import RemoteClient
from workloop.domain.errors import Fault, Forbidden
from workloop.domain.grants import Actor, Grant
from workloop.domain.ids import ItemId
from workloop.domain.redaction import Redactor
from workloop.interfaces.serving import Endpoint, listen, make_endpoint
from workloop.runner.harness.port import McpEndpoint
from workloop.wiring import operator
from workloop.wiring.learning import LearningEndpoint

TESTS = Path(__file__).parent.parent
BOUND_SECONDS = 90
MIB = 1024 * 1024
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@dataclass
class Served:
    """A running endpoint with an operator let in."""

    project: Project
    portal: BlockingPortal
    endpoint: Endpoint
    admitted: McpEndpoint

    @property
    def port(self) -> int:
        return int(self.endpoint.url.rsplit(":", 1)[1])

    def ask(
        self, method: str, path: str, body: bytes | None = None, *, token: str | None = None, **headers: str
    ) -> tuple[int, Facts, dict[str, str]]:
        """Send one request as any program could; `headers` replace the right ones."""
        given = {
            "Authorization": f"Bearer {self.admitted.token if token is None else token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=BOUND_SECONDS)) as connection:
            connection.request(method, path, body, {name: value for name, value in given.items() if value})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.strip() else {}, dict(answer.headers)

    def code(self, method: str, path: str, body: bytes | None = None, **options: str) -> tuple[int, str]:
        """Send one request; return the status and the error's code."""
        status, facts, _ = self.ask(method, path, body, **options)
        return status, facts.get("code", "")

    def session(self, holder: str = "one") -> tuple[McpEndpoint, Facts]:
        """Let the session of a fresh claim in."""
        claimed = self.project.act("claim", {"holder": holder})
        actor = Actor(principal=f"session:{holder}", grant=Grant.SESSION, token=claimed["token"])
        return self.endpoint.admit(actor), claimed


@pytest.fixture
def served(tmp_path: Path) -> Generator[Served]:
    with open_project(tmp_path) as project, serving(project.queue) as (portal, endpoint):
        project.act("add_items", {"items": [{"key": "a", "title": "A"}, {"key": "b", "title": "B"}]})
        yield Served(project, portal, endpoint, endpoint.admit(operator()))


@pytest.mark.parametrize("path", ["/mcp", "/v1/status", "/v1/claim", "/nowhere"])
@pytest.mark.parametrize("token", ["", "not-a-token"])
def test_without_a_known_token_nothing_is_answered(served: Served, path: str, token: str) -> None:
    status, facts, headers = served.ask("POST", path, json.dumps(CALL).encode(), token=token)
    assert (status, facts["code"], headers["www-authenticate"]) == (401, "TOKEN_UNKNOWN", "Bearer")
    assert headers["content-type"] == "application/problem+json"


def test_a_dismissed_token_is_worthless_at_once(served: Served) -> None:
    other, _ = served.session()
    assert served.code("GET", "/v1/why/a", token=other.token)[0] == 200
    served.endpoint.dismiss(other)
    assert served.code("GET", "/v1/why/a", token=other.token) == (401, "TOKEN_UNKNOWN")
    assert served.code("GET", "/v1/status") == (200, "")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "127.0.0.2"])
@pytest.mark.parametrize("path", ["/mcp", "/v1/status", "/health"])
def test_a_name_that_was_bound_to_loopback_from_outside_is_refused(served: Served, host: str, path: str) -> None:
    assert served.code("POST", path, b"{}", Host=host) == (403, "HOST_REFUSED")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_loopback_names_with_our_port_are_ours(served: Served, host: str) -> None:
    assert served.code("GET", "/v1/status", Host=f"{host}:{served.port}") == (200, "")


@pytest.mark.parametrize("path", ["/mcp", "/v1/status"])
def test_a_web_page_of_another_origin_is_refused(served: Served, path: str) -> None:
    assert served.code("POST", path, b"{}", Origin="http://evil.example") == (403, "ORIGIN_REFUSED")
    assert served.code("POST", path, b"{}", Origin="null") == (403, "ORIGIN_REFUSED")


def test_our_own_origin_is_let_in(served: Served) -> None:
    assert served.code("GET", "/v1/status", Origin=served.endpoint.url) == (200, "")


def test_health_needs_no_token(served: Served) -> None:
    assert served.ask("GET", "/health", token="")[:2] == (200, {"status": "ok"})


def test_reads_are_there_as_gets(served: Served) -> None:
    assert served.ask("GET", "/v1/status")[1]["total"] == 2
    assert [row["key"] for row in served.ask("GET", "/v1/list?state=pending&limit=1")[1]["items"]] == ["a"]
    assert served.ask("GET", "/v1/show/a")[1]["key"] == "a"
    assert served.ask("GET", "/v1/why/b")[1]["key"] == "b"


def test_each_kind_of_error_has_its_status(served: Served) -> None:
    session, claimed = served.session()
    token = {"token": claimed["token"], "contract_hash": claimed["contract_hash"]}
    served.project.act("pause", {"reason": "a pause"})

    def post(action: str, arguments: Facts, **options: str) -> tuple[int, str]:
        return served.code("POST", f"/v1/{action}", json.dumps(arguments).encode(), **options)

    assert post("claim", {}) == (400, "BAD_REQUEST")
    assert post("fly", {}) == (400, "UNKNOWN_ACTION")
    assert post("show", {"key": "none"}) == (404, "KEY_NOT_FOUND")
    assert post("claim", {"holder": "two", "key": "b"}) == (409, "CAMPAIGN_PAUSED")
    assert post("complete", token) == (422, "OUTCOME_REQUIRED")
    assert post("pause", {"reason": "no"}, token=session.token) == (403, "HUMAN_ONLY")
    assert post("release", {"token": claimed["token"]}) == (200, "")
    assert post("heartbeat", {"token": claimed["token"]}) == (409, "STALE_CLAIM")


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000, b"[]", b"1" * 10_000, b'"text"', b"null"])
def test_a_body_that_is_no_object_is_refused(served: Served, body: bytes) -> None:
    assert served.ask("POST", "/v1/claim", body)[0] == 400


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_a_form_of_a_web_page_is_no_call(served: Served, kind: str) -> None:
    assert served.code("POST", "/v1/resume", b"{}", Content_Type=kind) == (415, "NOT_JSON")


@pytest.mark.parametrize("path", ["/mcp", "/v1/claim"])
def test_a_body_above_the_bound_is_refused_before_it_is_read(served: Served, path: str) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=BOUND_SECONDS)) as connection:
        connection.putrequest("POST", path)
        connection.putheader("Authorization", f"Bearer {served.admitted.token}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(4 * MIB + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413


def test_a_body_that_does_not_say_its_size_is_counted(served: Served) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=BOUND_SECONDS)) as connection:
        headers = {"Authorization": f"Bearer {served.admitted.token}", "Content-Type": "application/json"}
        chunks = (b" " * MIB for _ in range(5))
        connection.request("POST", "/v1/claim", chunks, headers, encode_chunked=True)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["code"]) == (413, "TOO_LARGE")


def test_a_session_sees_the_worker_tool_and_only_its_own_item(served: Served) -> None:
    session, claimed = served.session()
    with mcp_over_http(served.portal, session) as client:
        (tool,) = served.portal.call(client.list_tools).tools
        call = through(served.portal, client)
        assert "claim" not in tool.input_schema["properties"]["action"]["enum"]
        assert call("show", {})["key"] == claimed["item"]["key"] == "a"
        assert call("show", {"key": "b"})["code"] == "NOT_OWNER"
        assert call("claim", {"holder": "x"})["code"] == "FORBIDDEN"
        assert call("answer", {"key": "a", "text": "yes"})["code"] == "HUMAN_ONLY"
        (resource,) = served.portal.call(client.list_resources).resources
        read = served.portal.call(client.read_resource, str(resource.uri))
        assert text_of(read.contents[0])["contract_hash"] == claimed["contract_hash"]


def test_an_operator_sees_the_whole_tool(served: Served) -> None:
    with mcp_over_http(served.portal, served.admitted) as client:
        (tool,) = served.portal.call(client.list_tools).tools
    assert {"claim", "answer", "cancel"} <= set(tool.input_schema["properties"]["action"]["enum"])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_both_eras_of_the_protocol_are_served(served: Served, mode: str) -> None:
    with mcp_over_http(served.portal, served.admitted, mode) as client:
        assert through(served.portal, client)("status", {})["total"] == 2


def test_an_unknown_tool_is_a_protocol_error(served: Served) -> None:
    call = {**CALL, "method": "tools/call", "params": {"name": "rm", "arguments": {}}}
    _, facts, _ = served.ask("POST", "/mcp", json.dumps(call).encode())
    assert facts["error"]["code"] == -32602
    assert TOOL not in facts["error"]["message"]


def test_nulls_and_texts_of_json_that_models_write_are_understood(served: Served) -> None:
    with mcp_over_http(served.portal, served.admitted) as client:
        call = through(served.portal, client)
        added = call("add_items", {"items": json.dumps([{"key": "c", "title": "C"}]), "reason": None})
    assert added["added"] == 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_hold_open(served: Served, method: str) -> None:
    assert served.ask(method, "/mcp")[0] == 405


class Refusing:
    """A probe that finds nothing it looks at good."""

    def refuse(self, item_id: ItemId, sha: str) -> tuple[str, str] | None:
        return "NOT_IN_WORKTREE", f"{sha} is not a commit of this worktree"


def test_a_session_is_judged_by_the_probe_of_its_own_workspace(served: Served) -> None:
    claimed = served.project.act("claim", {"holder": "one"})
    actor = Actor(principal="session:one", grant=Grant.SESSION, token=claimed["token"])
    admitted = served.endpoint.admit(actor, replace(served.project.queue, probe=Refusing()))
    done = {"contract_hash": claimed["contract_hash"]}
    outcome = {"kind": "commit", "ref": served.project.work()}
    answer = served.ask("POST", "/v1/complete", json.dumps({**done, "outcome": outcome}).encode(), token=admitted.token)
    assert (answer[0], answer[1]["code"]) == (422, "NOT_IN_WORKTREE")


def test_calls_run_side_by_side_while_one_waits(served: Served) -> None:
    """A slow call never holds the event loop."""
    entered, leave = threading.Event(), threading.Event()

    class Slow:
        def refuse(self, item_id: ItemId, sha: str) -> tuple[str, str] | None:
            entered.set()
            leave.wait(BOUND_SECONDS)
            return "LATE", "late"

    claimed = served.project.act("claim", {"holder": "one"})
    actor = Actor(principal="session:one", grant=Grant.SESSION, token=claimed["token"])
    slow = served.endpoint.admit(actor, replace(served.project.queue, probe=Slow()))
    sha = served.project.work()
    done = {"contract_hash": claimed["contract_hash"], "outcome": {"kind": "commit", "ref": sha}}
    thread = threading.Thread(
        target=served.code, args=("POST", "/v1/complete", json.dumps(done).encode()), kwargs={"token": slow.token}
    )
    thread.start()
    try:
        assert entered.wait(BOUND_SECONDS)
        assert served.code("GET", "/v1/status") == (200, "")
    finally:
        leave.set()
        thread.join()


def test_the_client_says_where_a_dismissed_token_leaves_it(served: Served) -> None:
    client = RemoteClient(served.admitted.url_api, served.admitted.token)
    served.endpoint.dismiss(served.admitted)
    with pytest.raises(Forbidden, match="TOKEN_UNKNOWN"):
        client.call("status", {})


def test_a_taken_port_is_said_so(served: Served, tmp_path: Path) -> None:
    async def serve_there() -> None:
        await make_endpoint(served.project.queue, port=served.port).serve()

    with pytest.raises(Fault, match="PORT_UNAVAILABLE"):
        anyio.run(serve_there)


def test_an_open_connection_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with open_project(tmp_path) as project:
        with serving(project.queue) as (_, endpoint):
            port = int(endpoint.url.rsplit(":", 1)[1])
            admitted = endpoint.admit(operator())
            half = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_SECONDS)
            half.putrequest("POST", "/v1/claim")
            half.putheader("Authorization", f"Bearer {admitted.token}")
            half.putheader("Content-Type", "application/json")
            half.putheader("Content-Length", "1000")
            half.endheaders()
            idle = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_SECONDS)
            idle.request("GET", "/health")
            assert idle.getresponse().read()
        assert endpoint.admissions.clients == {}
        half.close()
        idle.close()
        with pytest.raises(OSError):
            http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_SECONDS).connect()


def test_a_loop_whose_sessions_do_not_speak_mcp_never_loads_it(tmp_path: Path) -> None:
    """Loading the SDK costs two seconds of CPU and more memory than everything else together."""
    code = """
import sys
from pathlib import Path
from surface_bench import open_project, serving
from workloop.client import RemoteClient
from workloop.wiring import operator
from workloop.wiring.learning import LearningEndpoint
for name in [name for name in sys.modules if name.split(".")[0] == "mcp"]:
    del sys.modules[name]
with open_project(Path(sys.argv[1])) as project, serving(project.queue, warm=False) as (_, endpoint):
    admitted = endpoint.admit(operator())
    assert RemoteClient(admitted.url_api, admitted.token).call("status", {})["total"] == 0
print("mcp" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        check=True,
        text=True,
        timeout=BOUND_SECONDS * 2,
    )
    assert done.stdout == "False\n"


def test_serving_leaves_the_signals_to_the_loop(tmp_path: Path) -> None:
    handlers: list[object] = []

    async def main(project: Project) -> None:
        endpoint = make_endpoint(project.queue)
        handlers.append(signal.getsignal(signal.SIGTERM))
        async with anyio.create_task_group() as group:
            await group.start(endpoint.serve)
            handlers.append(signal.getsignal(signal.SIGTERM))
            group.cancel_scope.cancel()
        handlers.append(signal.getsignal(signal.SIGTERM))

    with open_project(tmp_path) as project:
        anyio.run(main, project)
    assert handlers == [signal.SIG_DFL] * 3


def test_answers_on_a_kept_connection_are_not_held_back() -> None:
    """Regression: asyncio sends small pieces at once only on sockets whose protocol is named; a call took 48 ms."""
    with closing(listen(0)) as listener, closing(socket.create_connection(listener.getsockname())):
        accepted, _ = listener.accept()
        with closing(accepted):
            assert accepted.proto == socket.IPPROTO_TCP


def test_a_token_that_was_given_out_stands_in_no_log(served: Served) -> None:
    """The redactor learns it before anybody can print it."""
    redactor = Redactor()
    learning = LearningEndpoint(served.endpoint, redactor)
    admitted = learning.admit(operator(), over_mcp=False)
    assert redactor.text(f"curl -H {admitted.token}") == "curl -H [secret]"
    learning.dismiss(admitted)
    assert served.ask("GET", "/v1/status", token=admitted.token)[0] == 401
