"""The tool over streamable HTTP, loaded only when somebody is about to use it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from workloop.client import LocalClient

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

ClientOf = Callable[[Scope], LocalClient]


def load() -> "Callable[[ClientOf, anyio.CapacityLimiter], StreamableHTTPSessionManager]":
    """Import the SDK, which takes seconds."""
    from workloop.interfaces.mcp.sdk import make_manager

    return make_manager


class McpApp:
    """An ASGI app whose SDK is imported in a worker thread at the first sign of a caller."""

    def __init__(self, client_of: ClientOf, limiter: anyio.CapacityLimiter) -> None:
        self.client_of = client_of
        self.limiter = limiter
        self.wanted = anyio.Event()
        self.ready = anyio.Event()
        self.app: ASGIApp | None = None

    def warm(self) -> None:
        """Ask for the SDK before the first request comes."""
        self.wanted.set()

    async def run(self) -> None:
        """Serve until cancelled; costs nothing before somebody asks."""
        await self.wanted.wait()
        build = await to_thread.run_sync(load)
        manager = build(self.client_of, self.limiter)
        async with manager.run():
            self.app = manager.handle_request
            self.ready.set()
            await anyio.sleep_forever()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST; there is no stream to open and no session to end."""
        if scope["method"] != "POST":
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        self.warm()
        await self.ready.wait()
        assert self.app is not None
        await self.app(scope, receive, send)
