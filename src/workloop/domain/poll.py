"""What one cheap look at a backlog tells a loop, before it tries to claim anything."""

from dataclasses import dataclass

from workloop.domain.clock import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """How a backlog stands now.

    `version` grows with every change. `claimable` says how many items could be claimed, or only whether one could;
    `stale_claimable` the same of items whose last holder is gone. `next_wake` is when something changes by itself.
    """

    version: int
    claimable: int | bool
    stale_claimable: int | bool = False
    open_questions: int = 0
    paused: bool = False
    next_wake: Instant | None = None

    @property
    def work(self) -> int:
        """Return how many sessions could find work, as far as is known."""
        return 0 if self.paused else int(self.claimable) + int(self.stale_claimable)
