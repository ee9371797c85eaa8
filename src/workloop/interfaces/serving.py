"""One server on loopback for MCP and the API: its socket, its idle cost and its end."""

import socket
from dataclasses import dataclass, field

import anyio
import uvicorn
from anyio.abc import TaskStatus
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from workloop.client import LocalClient
from workloop.domain.errors import Fault
from workloop.domain.grants import Actor
from workloop.interfaces.mcp.http import McpApp
from workloop.interfaces.web.api import routes
from workloop.interfaces.web.guard import Admissions, Guard, client_of
from workloop.runner.harness.port import McpEndpoint
from workloop.service.call import Queue

LOOPBACK = "127.0.0.1"
MCP_PATH = "/mcp"
CALLS_AT_ONCE = 8
CONNECTIONS_MAX = 256
DRAIN_SECONDS = 1
STOP_SECONDS = 5.0


def make_endpoint(queue: Queue, *, port: int = 0, warm: bool = True) -> "Endpoint":
    """Build the endpoint of a loop; `warm` loads MCP when the first token is given out, not at the first request."""
    return Endpoint(queue=queue, port=port, warm=warm)


@dataclass(slots=True, kw_only=True)
class Endpoint:
    """Serves the actions over MCP and HTTP to whoever holds a token it gave out."""

    queue: Queue
    port: int = 0
    warm: bool = True
    url: str = ""
    admissions: Admissions = field(default_factory=Admissions)
    mcp: McpApp = field(init=False)
    limiter: anyio.CapacityLimiter = field(init=False)

    def __post_init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)
        self.mcp = McpApp(client_of, self.limiter)

    async def serve(self, *, task_status: TaskStatus[str] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled; tells the base URL through task_status once it listens."""
        listener = listen(self.port)
        port = listener.getsockname()[1]
        app = Guard(self.application(), self.admissions, port)
        server = Server(app)
        async with anyio.create_task_group() as group:
            await server.open(listener)
            try:
                group.start_soon(self.mcp.run)
                self.url = f"http://{LOOPBACK}:{port}"
                task_status.started(self.url)
                await anyio.sleep_forever()
            finally:
                self.url = ""
                self.admissions.clients.clear()
                with anyio.move_on_after(STOP_SECONDS, shield=True):
                    await server.close(listener)

    def application(self) -> ASGIApp:
        """Return the two surfaces as one app."""
        api = Starlette(routes=routes(self.limiter))

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await (self.mcp if scope["path"] == MCP_PATH else api)(scope, receive, send)

        return app

    def admit(self, actor: Actor, queue: Queue | None = None, *, over_mcp: bool = True) -> McpEndpoint:
        """Give out a token for an actor, good until dismissed or until the server ends; who uses MCP finds it warm."""
        assert self.url, "the endpoint does not serve yet"
        token = self.admissions.admit(LocalClient(queue or self.queue, actor))
        if self.warm and over_mcp:
            self.mcp.warm()
        return McpEndpoint(url_mcp=self.url + MCP_PATH, url_api=self.url, token=token)

    def dismiss(self, endpoint: McpEndpoint) -> None:
        """Make a token worthless at once."""
        self.admissions.dismiss(endpoint.token)


def listen(port: int) -> socket.socket:
    """Listen on loopback; the protocol is named because asyncio sends small answers at once only when it is."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as failed:
        listener.close()
        raise Fault(
            "PORT_UNAVAILABLE",
            f"cannot listen on {LOOPBACK}:{port}: {failed.strerror}",
            hint="use another port, or 0 for any",
        ) from failed
    return listener


class Server(uvicorn.Server):
    """A uvicorn server without signals, clock ticks or logs of its own."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                limit_concurrency=CONNECTIONS_MAX,
                timeout_graceful_shutdown=DRAIN_SECONDS,
            )
        )

    async def open(self, listener: socket.socket) -> None:
        """Start to listen."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=[listener])

    async def close(self, listener: socket.socket) -> None:
        """Finish the requests under way, within bounds, and close every connection."""
        await self.shutdown(sockets=[listener])
