"""Who gets in: requests of this machine's own programs that carry a token which was given out."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from workloop.client import LocalClient
from workloop.domain.errors import BadRequest, Forbidden, WorkloopError
from workloop.interfaces.web.problems import problem_response

BODY_BYTES_MAX = 4 * 1024 * 1024
TOKEN_BYTES = 32
HOSTS = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS = frozenset({"/health"})
CLIENT: Final = "workloop.client"


@dataclass(slots=True)
class Admissions:
    """The tokens that are good now, known by their digest only."""

    clients: dict[bytes, LocalClient] = field(default_factory=dict[bytes, LocalClient])

    def admit(self, client: LocalClient) -> str:
        """Make a token for a client."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self.clients[digest(token)] = client
        return token

    def dismiss(self, token: str) -> None:
        """Make a token worthless."""
        self.clients.pop(digest(token), None)

    def find(self, token: str) -> LocalClient | None:
        """Return whose token this is, in a time that does not depend on it."""
        asked, found = digest(token), None
        for known, client in tuple(self.clients.items()):
            if hmac.compare_digest(known, asked):
                found = client
        return found


def digest(token: str) -> bytes:
    """Return what is remembered of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


@dataclass(frozen=True, slots=True)
class Guard:
    """Checks the name, the origin, the size and the token of every request before anything else sees it."""

    app: ASGIApp
    admissions: Admissions
    port: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, with its client in the scope, or answer why not."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refused = self.stranger(headers) or too_large(headers)
        status = 413 if isinstance(refused, BadRequest) else None
        if refused is None and scope["path"] not in OPEN_PATHS:
            client = self.admissions.find(bearer(headers))
            refused, status = (None if client else unknown_token()), 401
            scope = {**scope, CLIENT: client}
        if refused is not None:
            await problem_response(refused, status)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def stranger(self, headers: Headers) -> WorkloopError | None:
        """Refuse a name or an origin that is not ours: a web page may have led a browser here."""
        ours = {f"{host}:{self.port}" for host in HOSTS}
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in ours or len(headers.getlist("host")) > 1:
            return Forbidden("HOST_REFUSED", "this name is not ours", hint=f"use http://127.0.0.1:{self.port}")
        if origin is not None and origin not in {f"http://{name}" for name in ours}:
            return Forbidden("ORIGIN_REFUSED", "web pages may not call this", hint="call it from a program")
        return None


def too_large(headers: Headers) -> WorkloopError | None:
    """Refuse a body that says it is too large; one that does not say is counted while it is read."""
    declared = headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and len(declared) < 16 and int(declared) <= BODY_BYTES_MAX:
        return None
    return body_too_large()


def body_too_large() -> BadRequest:
    """Build the refusal of a body above the bound."""
    return BadRequest("TOO_LARGE", f"the body is larger than {BODY_BYTES_MAX} bytes", hint="send less at a time")


def bearer(headers: Headers) -> str:
    """Return the bearer token of a request, or nothing."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def unknown_token() -> Forbidden:
    """Build the refusal of a missing or unknown token."""
    return Forbidden(
        "TOKEN_UNKNOWN",
        "the bearer token is missing or not good any more",
        hint="send Authorization: Bearer and the token of a live session, or of the project's operator.token",
    )


def client_of(scope: Scope) -> LocalClient:
    """Return the client that a request was let in as."""
    client = scope[CLIENT]
    assert isinstance(client, LocalClient)
    return client
