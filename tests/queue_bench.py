"""How a queue test speaks: one campaign, one clock, and each action as a short call."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from workloop.domain.campaign import CampaignSettings, Ceilings
from workloop.domain.clock import Clock
from workloop.domain.contract import Contract
from workloop.domain.errors import Fault, WorkloopError
from workloop.domain.grants import Actor, Grant
from workloop.domain.ids import ItemId
from workloop.domain.item import Item, Verification
from workloop.domain.question import FactKind
from workloop.service.answering import park_item
from workloop.service.call import Queue
from workloop.service.campaigns import apply_settings, create_campaign, tend
from workloop.service.closing import record_fact
from workloop.service.perform import perform, run_as_host
from workloop.store.memory import MemoryStore
from workloop.store.port import Store
from workloop.store.sqlite.store import SqliteSettings, SqliteStore
from workloop.testing.clocks import FakeClock, SeededIds
from workloop.testing.invariants import check_invariants
from workloop.testing.snapshot import Dossier, Snapshot, take

SLUG = "night"
ANN = Actor(principal="ann", grant=Grant.OPERATOR)
COORDINATOR = Actor(principal="coord", grant=Grant.COORDINATOR)
READER = Actor(principal="eve", grant=Grant.READER)
HOST = Actor(principal="loop", grant=Grant.OPERATOR, host=True)

Answer = dict[str, Any]


def sha(number: int) -> str:
    """Return a full commit SHA that is unlike those of other numbers."""
    return f"{number:040x}"


def settings(**fields: Any) -> CampaignSettings:
    """Return small settings: three slots, two lanes, one boundary, and whatever a test changes."""
    usual = CampaignSettings(
        lanes=("browser", "db"),
        boundaries={"spend-money": "May this cost money?", "delete-data": "May data be deleted?"},
        grantable=("push",),
        ceilings=Ceilings(),
        defaults=Contract(
            title="", objective="", verification=Verification.BOTH, boundaries=("spend-money", "delete-data")
        ),
    )
    return replace(usual, **fields)


@dataclass(frozen=True)
class Bench:
    """One campaign of one store."""

    store: Store
    queue: Queue
    clock: FakeClock
    place: Path = field(default_factory=Path)

    def do(self, action: str, actor: Actor = ANN, **arguments: Any) -> Answer:
        """Perform one action."""
        return perform(self.queue, actor, action, arguments)

    def refused(self, code: str, action: str, actor: Actor = ANN, **arguments: Any) -> WorkloopError:
        """Demand that an action is refused with a code and a hint, and that nothing at all was written."""
        before = self.snapshot()
        with pytest.raises(WorkloopError) as caught:
            perform(self.queue, actor, action, arguments)
        error = caught.value
        assert not isinstance(error, Fault), error
        assert error.code == code, error
        assert error.hint
        assert error.message
        assert self.snapshot() == before
        return error

    def add(self, key: str, **fields: Any) -> Answer:
        """Add one item."""
        return self.do("add_items", items=[{"key": key, "title": key, **fields}])

    def claim(self, key: str | None = None, holder: str = "builder", **more: Any) -> Answer:
        """Claim one item, which must be there."""
        wanted = {} if key is None else {"key": key}
        taken = self.do("claim", holder=holder, **wanted, **more)
        assert taken["item"] is not None, taken
        return taken

    def finish(self, taken: Answer, number: int = 1, **more: Any) -> Answer:
        """Complete a built item with a commit."""
        return self.do("complete", **self.completion(taken, number), **more)

    def completion(self, taken: Answer, number: int = 1) -> Answer:
        """Return the arguments that complete a built item."""
        return {
            "token": taken["token"],
            "contract_hash": taken["contract_hash"],
            "outcome": {"kind": "commit", "ref": sha(number)},
        }

    def verdict(self, taken: Answer, verdict: str = "passed", actor: Actor = ANN, **more: Any) -> Answer:
        """Give a verdict with something that was looked at."""
        said: Answer = {
            "token": taken["token"],
            "contract_hash": taken["contract_hash"],
            "verdict": verdict,
            "evidence": [{"kind": "url", "ref": "https://ci.example/run/7"}],
        }
        if verdict == "rejected":
            said |= {"failed_checks": ["objective"], "reproduction": "run it and look"}
        if verdict == "inconclusive":
            said |= {"reproduction": "the device is not here"}
        return self.do("complete", actor, **{**said, **more})

    def candidate(self, key: str, number: int = 1, holder: str = "builder", **fields: Any) -> str:
        """Add, claim and complete an item; returns its verifier's key."""
        self.add(key, **fields)
        return self.finish(self.claim(key, holder), number)["follow_up"]["key"]

    def judge(self, key: str, verdict: str = "passed", holder: str = "checker") -> Answer:
        """Claim a verifier by its own key and give a verdict."""
        return self.verdict(self.claim(key, holder), verdict)

    def rejected(self, key: str, number: int = 1) -> str:
        """Make an item whose first candidate was rejected; returns its repair's key."""
        return self.judge(self.candidate(key, number), "rejected")["follow_up"]["key"]

    def park(self, key: str, brake: str = "no_progress") -> Answer:
        """Park an item as the host."""
        return dict(
            run_as_host(self.queue, HOST, "park_item", lambda call: park_item(call, key, brake, "What now?", ""))
        )

    def fact(self, key: str, kind: str = "landed", ref: str = "main@1") -> Answer:
        """State a fact as the host."""
        return dict(
            run_as_host(self.queue, HOST, "record_fact", lambda call: record_fact(call, key, FactKind(kind), ref))
        )

    def tend(self) -> Answer:
        """Run one round of upkeep."""
        return dict(run_as_host(self.queue, HOST, "tend", tend))

    def change_settings(self, **fields: Any) -> None:
        """Change the campaign's settings."""
        apply_settings(self.queue, settings(**fields))

    def snapshot(self) -> Snapshot:
        """Return everything the campaign holds."""
        return take(self.store, SLUG)

    def broken(self, *, after_expiry: bool = False) -> list[str]:
        """Return the promises that do not hold."""
        return check_invariants(self.store, SLUG, after_expiry=after_expiry)

    def dossier(self, key: str) -> Dossier:
        """Return an item with its rows."""
        return next(dossier for dossier in self.snapshot().dossiers.values() if dossier.item.key == key)

    def item(self, key: str) -> Item:
        """Return an item."""
        return self.dossier(key).item

    def state(self, key: str) -> str:
        """Return an item's stored state."""
        return self.item(key).state.value

    def keys(self) -> list[str]:
        """Return the keys of all items in order."""
        return sorted(dossier.item.key for dossier in self.snapshot().dossiers.values())

    def key_of(self, item_id: ItemId | None) -> str | None:
        """Return an item's key by its id."""
        return None if item_id is None else self.snapshot().dossiers[item_id].item.key


def make_store(backend: str, place: Path, clock: Clock, seed: int = 1) -> Store:
    """Open a store of one backend."""
    if backend == "memory":
        return MemoryStore(clock, SeededIds(seed))
    return SqliteStore(SqliteSettings(path=place / "queue.db"), clock, SeededIds(seed))


def bench_on(store: Store, clock: FakeClock, place: Path, campaign: CampaignSettings, seed: int = 2) -> Bench:
    """Make the campaign in a store."""
    create_campaign(store, SLUG, campaign)
    return Bench(store, Queue(store=store, ids=SeededIds(seed), slug=SLUG), clock, place)


def open_bench(backend: str, place: Path, **fields: Any) -> Bench:
    """Make a campaign in a fresh store of one backend."""
    clock = FakeClock()
    return bench_on(make_store(backend, place, clock), clock, place, settings(**fields))
