"""An endpoint whose tokens never reach a log: whatever it gives out, the redactor is told."""

from dataclasses import replace

from anyio.abc import TaskStatus

from workloop.domain.grants import Actor
from workloop.domain.redaction import Redactor
from workloop.driver.endpoint import SessionEndpoint
from workloop.runner.harness.port import McpEndpoint
from workloop.service.call import Queue
from workloop.wiring.doors import Doors, port_of


class LearningEndpoint:
    """Another endpoint, with a redactor that learns each token before anybody can print it."""

    def __init__(self, endpoint: SessionEndpoint, redactor: Redactor, doors: Doors | None = None) -> None:
        self.endpoint = endpoint
        self.redactor = redactor
        self.doors = doors

    async def serve(self, *, task_status: TaskStatus[str]) -> None:
        """Serve until cancelled."""
        await self.endpoint.serve(task_status=task_status)

    def admit(self, actor: Actor, queue: Queue | None = None, *, over_mcp: bool = True) -> McpEndpoint:
        """Give out a token that logs will not show; with doors, also say by which socket it is used."""
        admitted = self.endpoint.admit(actor, queue, over_mcp=over_mcp)
        self.redactor.learn([admitted.token])
        return (
            admitted if self.doors is None else replace(admitted, socket=self.doors.socket(port_of(admitted.url_api)))
        )

    def dismiss(self, endpoint: McpEndpoint) -> None:
        """Make a token worthless at once."""
        self.endpoint.dismiss(endpoint)
