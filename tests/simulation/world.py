"""Virtual time, one seed for all chance, and hosts that die, sleep and lose their way to the store."""

import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import trio
import trio.testing

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.errors import StoreUnavailable
from workloop.domain.ids import EventId
from workloop.driver.seam import INLINE
from workloop.store.journal.memory import MemoryHostSlots, MemoryJournal
from workloop.store.memory import MemoryStore
from workloop.store.memory.tables import Tables
from workloop.store.port import Reading, Store, Writing
from workloop.testing.clocks import BEGINNING, SeededIds

LATE_SECONDS = 70.0
LEASE_SECONDS = 1800.0
"""How long after an outage a host may still not have looked again; its looks come at growing distances."""


class HostDead(BaseException):
    """Raised by everything a dead host touches, so that no clean-up of its own can change the world."""


class SimStore(MemoryStore):
    """The store of all hosts; whoever waits for a change is woken in virtual time."""

    def __init__(self, world: "World") -> None:
        super().__init__(world, SeededIds(world.seed))
        self.news = anyio.Event()

    def commit(self, draft: Tables) -> None:
        """Make a draft the truth and wake whoever waits."""
        before = self.commits
        super().commit(draft)
        if self.commits != before:
            self.news.set()
            self.news = anyio.Event()


@dataclass
class World:
    """What all hosts share: the wall clock, chance, and the store; made inside of virtual time."""

    seed: int
    folder: Path
    skipped_us: int = 0
    slept_at: float = -1.0
    chance: random.Random = field(init=False)
    store: SimStore = field(init=False)
    story: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.store = SimStore(self)

    def now(self) -> Instant:
        """Return the wall clock; it moves with virtual time, and while the machine sleeps also without it."""
        return Instant(BEGINNING + round(anyio.current_time() * SECOND_US) + self.skipped_us)

    def sleep_machine(self, seconds: float) -> None:
        """Let the wall clock jump while every monotonic clock stands still."""
        self.skipped_us += round(seconds * SECOND_US)
        self.slept_at = anyio.current_time()

    def note(self, text: str) -> None:
        """Write a line of the story that a failing seed tells."""
        self.story.append(f"{(self.now() - BEGINNING) / SECOND_US:9.0f} {text}")


@dataclass
class Host:
    """One machine with a clock that may be wrong; what it holds on disk outlives its lives."""

    world: World
    name: str
    skew_us: int = 0
    cut_off_until: float = 0.0
    unwritable_until: float = 0.0
    lost_answers: int = 0
    lives: int = 0
    troubles: list[tuple[Instant, Instant]] = field(default_factory=list[tuple[Instant, Instant]])
    journal: MemoryJournal = field(default_factory=MemoryJournal)

    def cut_off(self, seconds: float) -> None:
        """Take away its way to the store for a while."""
        self.cut_off_until = anyio.current_time() + seconds
        self.trouble(seconds)

    def make_unwritable(self, seconds: float) -> None:
        """Let the store be read and not written for a while, as on a full disk."""
        self.unwritable_until = anyio.current_time() + seconds
        self.trouble(seconds)

    def trouble(self, seconds: float) -> None:
        """Note that it could not do its duty from now on for a while."""
        now = self.world.now()
        self.troubles.append((now, Instant(now + round((seconds + LATE_SECONDS) * SECOND_US))))

    def troubled(self, since: Instant, until: Instant) -> bool:
        """Tell whether anything kept it from its duty in between."""
        return any(begin <= until and since <= end for begin, end in self.troubles)

    def in_trouble(self) -> bool:
        """Tell whether anything keeps it from its duty now, or did a moment ago."""
        return self.troubled(self.world.now(), self.world.now())


@dataclass
class Life:
    """One process of the loop on a host, from its start to its end or its death."""

    host: Host
    number: int
    dead: bool = False
    slots: MemoryHostSlots = field(default_factory=MemoryHostSlots)
    draining_since: float | None = None

    @property
    def world(self) -> World:
        """Return the world."""
        return self.host.world

    @property
    def name(self) -> str:
        """Return the host's name."""
        return self.host.name

    def now(self) -> Instant:
        """Return the time as this host believes it to be."""
        self.require()
        return Instant(self.world.now() + self.host.skew_us)

    def require(self) -> None:
        """Stop whoever goes on after the death."""
        if self.dead:
            raise HostDead(self.name)

    def require_connected(self) -> None:
        """Refuse what needs the store while it cannot be reached."""
        self.require()
        if anyio.current_time() < self.host.cut_off_until:
            raise StoreUnavailable("STORE_UNREACHABLE", "no way to the store", hint="wait", retryable=True)


class LifeStore:
    """The shared store as one life reaches it."""

    def __init__(self, life: Life) -> None:
        self.life = life

    @contextmanager
    def write(self) -> Generator[Writing]:
        """Begin a write transaction."""
        host = self.life.host
        self.life.require_connected()
        if anyio.current_time() < host.unwritable_until:
            raise StoreUnavailable("STORE_UNREACHABLE", "the disk is full", hint="wait", retryable=True)
        with self.life.world.store.write() as tx:
            yield tx
        if host.lost_answers:
            host.lost_answers -= 1
            host.trouble(LEASE_SECONDS)  # a claim whose answer was lost is nobody's until its lease lapses
            raise StoreUnavailable("STORE_UNREACHABLE", "the answer was lost", hint="wait", retryable=True)

    @contextmanager
    def read(self) -> Generator[Reading]:
        """Begin a consistent read."""
        self.life.require_connected()
        with self.life.world.store.read() as tx:
            yield tx

    def changes(self, stopped: Callable[[float], bool]) -> Iterator[EventId]:
        """Refuse: a thread would not keep to virtual time."""
        del stopped
        raise AssertionError("the simulation listens by itself")

    def close(self) -> None:
        """Leave the shared store open."""


@asynccontextmanager
async def changed_in_virtual_time(store: Store) -> AsyncGenerator[Callable[[], Awaitable[object]]]:
    """Yield `wait`, which returns after each commit, first at once."""
    assert isinstance(store, LifeStore)
    shared, seen = store.life.world.store, [-1]

    async def wait() -> int:
        while True:
            store.life.require_connected()
            if shared.commits != seen[0]:
                seen[0] = shared.commits
                return seen[0]
            await shared.news.wait()

    yield wait


def play(seed: int, story: Callable[[], Awaitable[None]]) -> None:
    """Run a story in virtual time, every choice of the scheduler drawn from the seed."""
    runner = trio._core._run  # the names that Hypothesis' own hook uses; trio offers no public ones
    before = runner._ALLOW_DETERMINISTIC_SCHEDULING
    runner._ALLOW_DETERMINISTIC_SCHEDULING = True
    runner._r = random.Random(seed)
    inline = INLINE.set(True)
    try:
        anyio.run(story, backend="trio", backend_options={"clock": trio.testing.MockClock(autojump_threshold=0)})
    finally:
        INLINE.reset(inline)
        runner._ALLOW_DETERMINISTIC_SCHEDULING = before
