"""What the scheduler is shown: the loop at one instant, with nothing left to look up."""

from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.clock import Instant
from workloop.domain.gate import GateKey
from workloop.domain.poll import Poll


class Standing(StrEnum):
    """Whether sessions may pass a gate."""

    OPEN = "open"
    LIMITED = "limited"
    STOPPED = "stopped"
    PROBING = "probing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """A ceiling on spending that leaves no room for a session: which one, what would lift it, and when it resets.

    Without `until` only a person lifts it.
    """

    sentence: str
    unblock: str
    until: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """One (harness, account, tier) as it stands.

    A limited one may be tried by a real session from `until` on, and by a cheap probe from `probe_at` on; `by` is the
    gate that shuts it, which may be another one of its account. `stated` tells whether the agent itself named `until`,
    so that hoping for less is idle. `remedy` is what a person must do about a stopped one. `spent` is a ceiling of its
    harness that leaves no room, however the gate stands.
    """

    key: GateKey
    standing: Standing = Standing.OPEN
    until: Instant | None = None
    probe_at: Instant | None = None
    stated: bool = False
    remedy: str = ""
    by: GateKey | None = None
    spent: Spent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """Why something rests, and until when; without an end only a person ends it."""

    reason: str
    until: Instant | None = None

    def holds(self, now: Instant) -> bool:
        """Tell whether it still rests."""
        return self.until is None or self.until > now


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """One target as it stands.

    `looked` is None when its backlog could not be looked at, and `problem` says why. `gates` are the agents that may
    work on it, the preferred one first, and `resting` says why others may not just now. `unclaimed` sessions are under
    way and have not taken an item yet; `served` is the number of the start that it was last given, over all targets.
    `spent` is a ceiling of its own that leaves no room, `disk` says why its disk leaves none.
    """

    name: str
    gates: tuple[GateKey, ...]
    resting: tuple[str, ...] = ()
    looked: Poll | None = None
    problem: str = ""
    pause: Halt | None = None
    back_off: Halt | None = None
    opens_at: Instant | None = None
    sessions_max: int | None = None
    live: int = 0
    unclaimed: int = 0
    served: int = 0
    spent: Spent | None = None
    disk: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that a decision rests on.

    `sessions_left` counts down to the ceiling on sessions, `spent` is a ceiling of the whole loop that leaves no room,
    `ends_at` is the end of the run's time. `busy` is work of the loop's own without a session, such as a landing. A run
    that is `once` ends when nothing more can be claimed.
    """

    now: Instant
    targets: tuple[TargetView, ...]
    gates: tuple[GateView, ...] = ()
    live: int = 0
    sessions_max: int = 1
    host_free: bool = True
    asked_to_end: str = ""
    sessions_left: int | None = None
    spent: Spent | None = None
    ends_at: Instant | None = None
    once: bool = False
    busy: bool = False
    worked: bool = False

    @property
    def idle(self) -> bool:
        """Tell whether nothing at all is under way."""
        return self.live == 0 and not self.busy

    def gate(self, key: GateKey) -> GateView:
        """Return how a gate stands; one that nothing is known of is open."""
        return next((view for view in self.gates if view.key == key), GateView(key=key))
