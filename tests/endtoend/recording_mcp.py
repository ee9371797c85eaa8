"""A small MCP server on loopback with a bearer token: one tool, every call recorded."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server import MCPServer
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

START_SECONDS = 20.0
PARAMETERS = ("action", "contract_hash", "outcome", "verdict", "evidence", "failed_checks", "reproduction", "summary")


@dataclass
class RecordingMcp:
    """What the server was asked, and where it listens."""

    token: str
    url: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: list[str] = field(default_factory=list[str])

    def configuration(self, *, token: str | None = None) -> dict[str, object]:
        """Return the MCP configuration that Claude Code takes."""
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        return {"mcpServers": {"workloop": {"type": "http", "url": self.url, "headers": headers}}}


class StartAnnounced(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


def guarded(app: ASGIApp, record: RecordingMcp) -> ASGIApp:
    """Let in only requests with the right bearer token."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", [])).get(b"authorization", b"").decode()
        if scope["type"] == "http" and given != f"Bearer {record.token}":
            record.refused.append(given)
            await PlainTextResponse("unauthorized", status_code=401)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return check


def recording_app(record: RecordingMcp, answer: str) -> ASGIApp:
    """Build the server: the tool `work_loop`, which takes an action and flat arguments."""

    def work_loop(
        action: str,
        contract_hash: str | None = None,
        outcome: dict[str, str] | None = None,
        verdict: str | None = None,
        evidence: list[dict[str, str]] | None = None,
        failed_checks: list[str] | None = None,
        reproduction: str | None = None,
        summary: str | None = None,
    ) -> str:
        """Work on the claimed item."""
        given = {**locals()}
        record.calls.append({name: given[name] for name in PARAMETERS if given[name] is not None})
        return answer

    server = MCPServer("workloop", log_level="ERROR")
    server.add_tool(work_loop)
    return guarded(server.streamable_http_app(), record)


@contextmanager
def recording_mcp(token: str, answer: str = "ok") -> Generator[RecordingMcp]:
    """Serve on a free port while the block runs."""
    record = RecordingMcp(token=token)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        record.url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        config = uvicorn.Config(recording_app(record, answer), log_level="error", timeout_graceful_shutdown=1)
        server = StartAnnounced(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="recording-mcp")
        thread.start()
        try:
            if not server.listening.wait(START_SECONDS):
                raise TimeoutError("the MCP server did not start")
            yield record
        finally:
            server.should_exit = True
            thread.join()
