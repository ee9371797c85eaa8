"""Agent programs and an endpoint that exist only in the simulation."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskStatus
from world import Life

from workloop.domain.grants import Actor
from workloop.runner.harness.needs import Needs
from workloop.runner.harness.port import Capabilities, Launch, LaunchRequest, McpEndpoint
from workloop.service.call import Queue


class SimHarness:
    """An agent program that exists only in the simulation."""

    tested_versions: tuple[str, ...] = ()

    def __init__(self, name: str, *, resumes: bool = True) -> None:
        self.name = name
        self.capabilities = Capabilities(
            reports_cost=True,
            reports_reset=True,
            resumes=resumes,
            per_run_mcp=True,
            final_text=True,
            observes_claims=True,
        )

    def version_command(self, environment: object) -> tuple[str, ...]:
        """Return nothing."""
        del environment
        return ()

    def needs(self, environment: object) -> Needs:
        """Need nothing."""
        del environment
        return Needs(home=Path("/nowhere"))

    def launch(self, request: LaunchRequest) -> Launch:
        """Refuse: no process is ever started."""
        raise AssertionError(f"a simulated session was started for real: {request.session_id}")

    def reader(self, request: LaunchRequest) -> Any:
        """Refuse: nothing is ever printed."""
        raise AssertionError(f"a simulated session was read: {request.session_id}")


@dataclass
class SimEndpoint:
    """Lets sessions reach the service by token, as the loop's endpoint does."""

    life: Life
    admitted: dict[str, tuple[Actor, Queue]] = field(default_factory=dict[str, tuple[Actor, Queue]])
    given: int = 0

    async def serve(self, *, task_status: TaskStatus[str]) -> None:
        """Serve until cancelled."""
        task_status.started("http://127.0.0.1:9")
        await anyio.sleep_forever()

    def admit(self, actor: Actor, queue: Queue | None = None, *, over_mcp: bool = True) -> McpEndpoint:
        """Give out a token."""
        del over_mcp
        self.life.require()
        assert queue is not None
        self.given += 1
        token = f"{self.life.name}-{self.life.number}-{self.given}"
        self.admitted[token] = (actor, queue)
        return McpEndpoint(url_mcp="http://127.0.0.1:9/mcp", url_api="http://127.0.0.1:9", token=token)

    def dismiss(self, endpoint: McpEndpoint) -> None:
        """Make a token worthless."""
        self.admitted.pop(endpoint.token, None)
