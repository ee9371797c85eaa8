"""A token goes to the server that was named, and nowhere else."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from workloop.domain.errors import BadRequest
from workloop.posting import post, post_by_library


class Sends(BaseHTTPRequestHandler):
    """Sends every caller on to another path and remembers who came."""

    seen: list[tuple[str, str]]

    def do_POST(self) -> None:
        """Answer with a redirect."""
        self.seen.append((self.path, self.headers["Authorization"]))
        self.send_response(302)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """Answer with a redirect."""
        self.do_POST()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Serve redirects on loopback; yields the address and who came."""
    handler = type("Remembers", (Sends,), {"seen": []})
    with HTTPServer(("127.0.0.1", 0), handler) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}/first", handler.seen
        served.shutdown()
        thread.join()


def test_a_redirect_is_an_answer_and_takes_no_token_along(server: tuple[str, list[tuple[str, str]]]) -> None:
    """The next hop is nobody that the operator named."""
    url, seen = server
    assert post(url, "secret", {}).status == 302
    assert post_by_library(url, b"{}", {"Authorization": "Bearer secret"}).status == 302
    assert seen == [("/first", "Bearer secret")] * 2


@pytest.mark.parametrize(
    "url", ["http://queue.example/v1", "ftp://127.0.0.1/x", "http://127.0.0.1.example:80", "http://me@127.0.0.1/"]
)
def test_a_token_is_never_sent_in_the_clear_over_a_network(url: str) -> None:
    """Refused before any connection is made."""
    with pytest.raises(BadRequest) as caught:
        post(url, "secret", {})
    assert caught.value.code == "TOKEN_IN_THE_CLEAR"
