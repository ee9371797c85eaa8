"""What a project must offer so that the loop can drive it: a look at its backlog, and perhaps a queue."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Protocol

from workloop.domain.clock import Instant
from workloop.domain.errors import BadRequest
from workloop.domain.observed import ObservedClaim
from workloop.domain.poll import Poll
from workloop.driver.seam import run_sync
from workloop.service.call import Queue
from workloop.service.insights import poll


class Poller(Protocol):
    """Looks at a backlog; cheap, and called once a turn."""

    async def poll(self) -> Poll:
        """Return how the backlog stands now; raises anything when it cannot be looked at."""
        ...


class Releaser(Protocol):
    """Gives back what a session claimed for itself and did not settle."""

    async def release(self, claim: ObservedClaim, reason: str, not_before: Instant | None) -> None:
        """End a claim without a result; the item is not to be handed out before an instant, when one is given."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """One project the loop drives.

    With a queue of ours, the loop claims and each session is given its item; otherwise the session claims for itself
    over the operator's own MCP servers, `mcp_config_path` or the one named for its harness. Without a releaser, what a
    session leaves open ends with its lease. `agents` are the harnesses that may take its work, the preferred one first,
    when they are not the loop's.
    """

    name: str
    poller: Poller | None
    work_dir: Path
    mcp_config_path: Path | None = None
    mcp_config_paths: Mapping[str, Path] = field(default_factory=dict[str, Path])
    releaser: Releaser | None = None
    _: KW_ONLY
    queue: Queue | None = None
    agents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise BadRequest("BAD_REQUEST", "a target needs a name", hint="name it after its project", field="name")
        if self.poller is None and self.queue is None:
            raise BadRequest(
                "BAD_REQUEST", f"target {self.name} has neither poller nor queue", hint="give one", field="poller"
            )

    def looks(self) -> Poller:
        """Return who looks at the backlog: the target's own poller, else its queue."""
        if self.poller is not None:
            return self.poller
        assert self.queue is not None
        return QueuePoller(self.queue)

    def mcp_config_for(self, harness: str) -> Path | None:
        """Return the operator's file of MCP servers for one harness."""
        return self.mcp_config_paths.get(harness, self.mcp_config_path)


class QueuePoller:
    """Looks at a queue of ours by indexed reads."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    async def poll(self) -> Poll:
        """Return how the campaign stands now."""
        return await run_sync(poll, self.queue)
