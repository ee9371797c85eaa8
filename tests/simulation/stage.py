"""What the sessions of all hosts share: what each does, what providers allow, and a record of every one."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
from world import World

from workloop.domain.clock import Instant
from workloop.domain.gate import GateKey
from workloop.domain.session import SessionClass

HANDOFF = "=====WORKLOOP HANDOFF====="
SENTINEL = "SENTINEL-OF-THE-BUILDER"
BUILDERS = {
    "honest": 40,
    "liar": 8,
    "empty": 4,
    "quitter": 6,
    "half": 4,
    "repeater": 4,
    "asker": 4,
    "dead": 4,
    "crash": 3,
    "hung": 3,
    "transient": 6,
    "blip": 3,
    "limited": 4,
    "capped": 2,
    "context": 2,
    "denied": 2,
    "handoff": 6,
    "slow": 4,
    "deaf": 2,
    "toolless": 3,
    "proposer": 3,
}
JUDGES = {
    "honest": 60,
    "careless": 6,
    "unsure": 4,
    "quitter": 4,
    "dead": 4,
    "transient": 4,
    "limited": 3,
    "hung": 2,
    "toolless": 2,
}
CLAIMERS = {"honest": 50, "keeper": 8, "quitter": 6, "dead": 4, "crash": 4, "transient": 5, "limited": 5, "hung": 2}
PROBES = {"honest": 1}


@dataclass
class Account:
    """A provider's account as the provider sees it: used up, locked, or answering only now and then."""

    limited_until: Instant | None = None
    locked_until: Instant | None = None
    flaps_until: Instant | None = None


@dataclass
class Record:
    """One session as seen from outside, from its start to its end or its death with its host."""

    session_id: str
    target: str
    host: str
    gate: GateKey
    prompt: str
    began: float
    key: str = ""
    role: str = ""
    fence: int = 0
    item_id: str = ""
    probe: bool = False
    resumed: bool = False
    spent: int = 0
    dirty: bool = False
    handed_off: bool = False
    stopped_at: float | None = None
    ended: float | None = None
    session_class: SessionClass | None = None
    told_reset: Instant | None = None
    killed: bool = False

    @property
    def claim(self) -> tuple[str, str, int]:
        """Return which claim it works under."""
        return self.target, self.key, self.fence


@dataclass
class Stage:
    """The theatre of one night; `begun` and `over` hear of each session."""

    world: World
    quiet: bool = False
    stubborn: dict[str, str] = field(default_factory=dict[str, str])
    accounts: dict[str, Account] = field(default_factory=dict[str, Account])
    live: dict[str, Record] = field(default_factory=dict[str, Record])
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    begun: Callable[[Record], None] = lambda _record: None
    over: Callable[[Record], None] = lambda _record: None

    def account(self, name: str) -> Account:
        """Return a provider's account."""
        return self.accounts.setdefault(name, Account())

    def draw(self, parts: dict[str, int], key: str) -> str:
        """Choose what a session does; once the faults are over, everybody is honest."""
        if self.quiet:
            return "honest"
        if key in self.stubborn and "half" in parts:
            return self.stubborn[key]
        return self.world.chance.choices(list(parts), list(parts.values()))[0]

    def enter(self, record: Record) -> None:
        """Note that a session begins."""
        self.begun(record)
        self.live[record.session_id] = self.records[record.session_id] = record

    def leave(self, record: Record, session_class: SessionClass, reset: Instant | None) -> None:
        """Note how a session ended."""
        del self.live[record.session_id]
        record.ended, record.session_class, record.told_reset = anyio.current_time(), session_class, reset
        self.over(record)

    def kill(self, host: str) -> None:
        """Let all sessions of a host die with it."""
        for record in [record for record in self.live.values() if record.host == host]:
            del self.live[record.session_id]
            record.ended, record.killed = anyio.current_time(), True
