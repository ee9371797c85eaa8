"""What the loop asks of whoever lets its sessions reach the queue."""

from typing import Protocol

from anyio.abc import TaskStatus

from workloop.domain.grants import Actor
from workloop.runner.harness.port import McpEndpoint
from workloop.service.call import Queue


class SessionEndpoint(Protocol):
    """Serves the actions over MCP and HTTP on loopback, to whoever holds a token it gave out."""

    async def serve(self, *, task_status: TaskStatus[str]) -> None:
        """Serve until cancelled; tells the base URL through task_status once it listens."""
        ...

    def admit(self, actor: Actor, queue: Queue | None = None, *, over_mcp: bool = True) -> McpEndpoint:
        """Give out a token for an actor, good until dismissed or until the loop ends; needs a running server.

        A queue of its own lets the actor's results be looked at by the probe of its own workspace. Whoever will not
        come over MCP spares the server its loading.
        """
        ...

    def dismiss(self, endpoint: McpEndpoint) -> None:
        """Make a token worthless at once."""
        ...
