"""With WORKLOOP_URL the command speaks to a loop: the same words, and nothing of the store is touched."""

import json
import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from cli_project import Project, bare_project

OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
PROBLEM = {"kind": "lease-lost", "code": "LEASE_LOST", "title": "the lease ran out", "stop_writing": True}


class Endpoint(socketserver.TCPServer):
    """A loopback server that answers every request with the next of its answers, and then with nothing."""

    allow_reuse_address = True

    def __init__(self, answers: tuple[bytes, ...]) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        super().__init__(("127.0.0.1", 0), Answering)

    @property
    def url(self) -> str:
        """Return where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answering(socketserver.BaseRequestHandler):
    """Reads one whole request and gives the next answer."""

    def handle(self) -> None:
        """Answer one connection."""
        endpoint = self.server
        assert isinstance(endpoint, Endpoint)
        got = b""
        while b"\r\n\r\n" not in got or len(got.partition(b"\r\n\r\n")[2]) < declared(got):
            got += self.request.recv(65536)
        endpoint.requests.append(got)
        self.request.sendall(endpoint.answers.pop(0) if endpoint.answers else b"")


@contextmanager
def answering(*answers: bytes) -> Generator[tuple[str, Endpoint]]:
    """Serve answers on a free port of loopback; yields the address."""
    with Endpoint(answers) as endpoint:
        thread = threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield endpoint.url, endpoint
        finally:
            endpoint.shutdown()
            thread.join()


def declared(request: bytes) -> int:
    """Return how long a request says that its body is."""
    line = next(line for line in request.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return int(line.partition(b":")[2])


@pytest.fixture
def session(tmp_path: Path) -> Project:
    """Make a work dir with a token and no campaign of its own."""
    project = bare_project(tmp_path)
    token = project.file("token", "secret-of-this-session\n")
    return replace(project, environment={**project.environment, "WORKLOOP_TOKEN_FILE": token})


def whole(facts: object) -> bytes:
    """Write a good answer."""
    body = json.dumps(facts).encode()
    return OK % (len(body), body)


def test_an_action_is_posted_with_the_token_and_answered_as_it_came(session: Project) -> None:
    """The state folder is not even looked at."""
    with answering(whole({"key": "a", "lease_until": "soon"})) as (url, endpoint):
        assert session.ask("heartbeat", WORKLOOP_URL=url + "/") == {"key": "a", "lease_until": "soon"}
    request = endpoint.requests[0]
    assert request.startswith(b"POST /v1/heartbeat HTTP/1.0\r\n")
    assert b"\r\nAuthorization: Bearer secret-of-this-session\r\n" in request
    assert request.endswith(b"\r\n\r\n{}")
    assert not session.state.exists()


def test_an_error_of_the_loop_is_told_as_if_it_had_happened_here(session: Project) -> None:
    """The same problem document, the same exit code."""
    body = json.dumps(PROBLEM).encode()
    answer = b"HTTP/1.1 409 Conflict\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with answering(answer) as (url, _):
        done = session.run("heartbeat", WORKLOOP_URL=url)
    assert (done.code, done.problem["code"], done.problem["stop_writing"]) == (4, "LEASE_LOST", True)


def test_a_write_whose_answer_was_lost_is_made_again_under_the_same_request_id(session: Project) -> None:
    """A cut answer does not tell whether the call happened; the request id makes asking again safe."""
    cut = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"key"'
    with answering(cut, whole({"key": "a", "state": "pending"})) as (url, endpoint):
        assert session.ask("release", "--reason", "x", WORKLOOP_URL=url)["state"] == "pending"
    first, second = (json.loads(request.partition(b"\r\n\r\n")[2]) for request in endpoint.requests)
    assert first == second
    assert len(first["request_id"]) == 24


@pytest.mark.parametrize(
    ("answer", "code", "name"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", 8, "ENDPOINT_UNREACHABLE"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", 8, "ENDPOINT_UNREACHABLE"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", 1, "ENDPOINT_CONFUSED"),
        (b"HTTP/1.1 200 OK\r\n\r\n[1]", 1, "ENDPOINT_CONFUSED"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>", 1, "ENDPOINT_CONFUSED"),
        (b"", 8, "ENDPOINT_UNREACHABLE"),
    ],
)
def test_whatever_else_answers_is_refused_without_a_guess(
    session: Project, answer: bytes, code: int, name: str
) -> None:
    """An address may be anybody's."""
    with answering(answer) as (url, _):
        assert session.refused("status", WORKLOOP_URL=url) == (code, name)


def test_a_token_that_no_header_may_hold_is_never_sent(session: Project) -> None:
    """A line break in a token could smuggle a header."""
    token = session.file("odd", "one\r\nX-More: two")
    with answering(whole({})) as (url, endpoint):
        refused = session.refused("status", WORKLOOP_URL=url, WORKLOOP_TOKEN_FILE=token)
        assert refused == (8, "ENDPOINT_UNREACHABLE")
        assert endpoint.requests == []
