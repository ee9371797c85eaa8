"""Our queue as a benchmark's worker drives it: through the same function as every surface, on a real file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workloop.domain.campaign import CampaignSettings
from workloop.domain.grants import Actor, Grant
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.service.perform import perform
from workloop.store.sqlite.store import SqliteSettings, SqliteStore
from workloop.store.system import SystemClock, SystemIds

SLUG = "bench"
SLOTS = 100
ITEMS_PER_CALL = 500
OPERATOR = Actor(principal="bench", grant=Grant.OPERATOR)
EVIDENCE = [{"kind": "url", "ref": "https://ci.example/run/7", "result": "passed"}]
OUTCOME = {"kind": "commit", "ref": "0123456789abcdef0123456789abcdef01234567"}


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a fresh folder on a real disk, which WORKLOOP_BENCH_DIR may name."""
    with TemporaryDirectory(prefix="workloop-bench-", dir=os.environ.get("WORKLOOP_BENCH_DIR")) as made:
        yield Path(made)


def open_queue(path: Path) -> Queue:
    """Open the benchmark's campaign, and make it when it is not there."""
    store = SqliteStore(SqliteSettings(path=path, wait_seconds=60), SystemClock(), SystemIds())
    create_campaign(store, SLUG, CampaignSettings(slots=SLOTS))
    return Queue(store=store, ids=SystemIds(), slug=SLUG)


def item(number: int, **fields: Any) -> dict[str, Any]:
    """Return an item of the size of the bare queue's that needs no verification."""
    return {
        "key": f"k-{number:09d}",
        "title": "x" * 60,
        "objective": "y" * 120,
        "priority": 1 + number % 4,
        "verification": "none",
        **fields,
    }


def create(path: Path, items: int) -> None:
    """Make a store with ready items."""
    queue = open_queue(path)
    for start in range(0, items, ITEMS_PER_CALL):
        wishes = [item(number) for number in range(start, min(start + ITEMS_PER_CALL, items))]
        perform(queue, OPERATOR, "add_items", {"items": wishes})
    settle(queue)
    queue.store.close()


def settle(queue: Queue) -> None:
    """Empty the write-ahead log, so that a measurement does not begin with somebody else's."""
    assert isinstance(queue.store, SqliteStore)
    queue.store.checkpoint()


class Ours:
    """One who claims and completes with one piece of evidence."""

    def __init__(self, path: Path, name: str = "w") -> None:
        self.queue = open_queue(path)
        self.name = name
        self.held: dict[str, Any] = {}

    def claim(self) -> str | None:
        """Take the next item."""
        self.held = perform(self.queue, OPERATOR, "claim", {"holder": self.name})
        return None if self.held["item"] is None else self.held["item"]["key"]

    def complete(self) -> None:
        """Complete the item that was taken last."""
        said = {
            "token": self.held["token"],
            "contract_hash": self.held["contract_hash"],
            "outcome": OUTCOME,
            "evidence": EVIDENCE,
        }
        assert perform(self.queue, OPERATOR, "complete", said)["state"] == "succeeded"

    def close(self) -> None:
        """Close the store."""
        self.queue.store.close()
