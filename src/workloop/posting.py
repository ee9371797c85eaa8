"""How one JSON document is posted over HTTP: by hand where it is plain, because an agent's every call pays for it."""

import json
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from workloop.domain.errors import BadRequest
from workloop.domain.origin import keeps_secrets

ANSWER_BYTES_MAX = 64 * 1024 * 1024
BLOCK_BYTES = 64 * 1024
TIMEOUT_SECONDS = 30.0


class Posted(NamedTuple):
    """What came back."""

    status: int
    body: bytes


def post(url: str, token: str, document: object) -> Posted:
    """Post a document with a bearer token, past any proxy; raises OSError when no whole answer came back.

    The token goes to the URL's own server alone, never in the clear over a network, and follows no redirect.
    """
    if not keeps_secrets(url):
        raise BadRequest(
            "TOKEN_IN_THE_CLEAR",
            f"{url} would get the token where others can read it",
            hint="use https, or an address of this machine such as http://127.0.0.1",
        )
    parts = urlsplit(url)
    data = json.dumps(document).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    if parts.scheme != "http":
        return post_by_library(url, data, headers)
    return post_by_hand(parts, data, headers)


def post_by_library(url: str, data: bytes, headers: dict[str, str]) -> Posted:
    """Post with all that the standard library knows, encryption included; any status is an answer, a redirect too."""
    from http.client import HTTPResponse
    from urllib.request import HTTPErrorProcessor, ProxyHandler, Request, build_opener

    class Verbatim(HTTPErrorProcessor):
        """Takes every answer as it is."""

        def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
            """Return the answer."""
            return response

        https_response = http_response

    request = Request(url, data=data, headers=headers)
    with build_opener(ProxyHandler({}), Verbatim()).open(request, timeout=TIMEOUT_SECONDS) as response:
        return Posted(response.status, response.read(ANSWER_BYTES_MAX))


def post_by_hand(parts: SplitResult, data: bytes, headers: dict[str, str]) -> Posted:
    """Post in HTTP/1.0, whose answers end where the connection ends."""
    import socket

    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"POST {path} HTTP/1.0", f"Host: {parts.netloc}", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any(not line.isascii() or not line.isprintable() for line in lines):
        raise OSError("the address or the token holds characters that no HTTP header may hold")
    answer = bytearray()
    with socket.create_connection((parts.hostname or "localhost", parts.port or 80), TIMEOUT_SECONDS) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + data)
        while block := connection.recv(BLOCK_BYTES):
            answer += block
            if len(answer) > ANSWER_BYTES_MAX:
                raise OSError(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
    return read_answer(bytes(answer))


def read_answer(answer: bytes) -> Posted:
    """Take an answer apart; raises OSError when it is none, or was cut short."""
    head, found, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if not found or len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdecimal():
        raise OSError("the answer is not HTTP")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    if fields.get("content-length", str(len(body))) != str(len(body)):
        raise OSError("the answer was cut short")
    return Posted(int(words[1]), body)
