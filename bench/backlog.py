"""How long a claim takes with a great many items ready, finished behind, or blocked and delayed in front."""

import os
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

from bench import ours
from bench.result import Result, percentile

SIZE_VARIABLE = "WORKLOOP_BENCH_BACKLOG"
READY = 10_000
SHARE_MAX = 1.5
YEAR_US = 365 * 86_400 * 1_000_000
FOREVER_US = 100 * YEAR_US

Overrides = Mapping[str, str]


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return a table's columns in order."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def copy_many(connection: sqlite3.Connection, first: int, number: int, overrides: Overrides) -> None:
    """Multiply the only item of a store, with its contract; `i` counts from `first` in every override."""
    same = {"id": "i", "key": "printf('c-%09d', i)", "raw_key": "printf('c-%09d', i)", "events": "0", **overrides}
    chosen = ", ".join(same.get(name, f't."{name}"') for name in columns(connection, "item"))
    counted = f"WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {first + number - 1})"
    item = "(SELECT * FROM item ORDER BY id DESC LIMIT 1)"
    contract = "(SELECT * FROM contract ORDER BY item_id DESC LIMIT 1)"
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO item {counted} SELECT {chosen} FROM n, {item} AS t")
    connection.execute(f"INSERT INTO contract {counted} SELECT i, 1, t.text FROM n, {contract} AS t")
    connection.execute("COMMIT")


def build(path: Path, ready: int, others: Mapping[str, Overrides], number: int) -> ours.Ours:
    """Make a store with ready items and many others of each kind; returns a worker on it."""
    ours.create(path, 1)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    first = 1
    for overrides in others.values():
        copy_many(connection, first, number, overrides)
        first += number
    copy_many(connection, first, ready, {})
    connection.execute("ANALYZE")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return ours.Ours(path)


def kinds() -> dict[str, tuple[str, int, Mapping[str, Overrides]]]:
    """Return the stores to compare: a name, how many are ready (0: as many as the others), and what else there is."""
    finished = {"state": "'succeeded'", "ended_at": "t.created_at", "fence": "1", "attempts": "1"}
    blocked = {"blockers": "1", "rank": "t.rank - i"}
    delayed = {"wake_at": f"t.created_at + {FOREVER_US} + i", "rank": "t.rank - i"}
    return {
        "few": ("10,000 ready", READY, {}),
        "ready": ("ready", 0, {}),
        "finished": ("finished behind", READY, {"finished": finished}),
        "front": ("blocked and as many delayed in front", READY, {"blocked": blocked, "delayed": delayed}),
    }


def measure(quick: bool) -> list[Result]:
    """Claim from every store in turns; the completions between are not timed."""
    size = int(os.environ.get(SIZE_VARIABLE) or (20_000 if quick else 100_000))
    rounds, slice_size = (7, 10) if quick else (15, 20)
    times: dict[str, list[list[float]]] = {}
    with ours.scratch() as folder:
        workers = {
            name: build(folder / f"{name}.db", ready or size, others, size)
            for name, (_, ready, others) in kinds().items()
        }
        for _ in range(rounds + 1):
            for name, worker in workers.items():
                times.setdefault(name, []).append([claimed(worker) for _ in range(slice_size)])
        for worker in workers.values():
            worker.close()
    middle = {name: [percentile(part, 0.5) for part in parts[1:]] for name, parts in times.items()}
    results = [Result(name="claim p50, 10,000 ready", values=tuple(middle["few"]), unit="ms")]
    for name, (words, _, _) in list(kinds().items())[1:]:
        shares = tuple(many / few for many, few in zip(middle[name], middle["few"], strict=True))
        results.append(Result(name=f"claim p50, {size:,} {words} / 10,000", values=shares, unit="x", limit=SHARE_MAX))
    return results


def claimed(worker: ours.Ours) -> float:
    """Claim and complete one item; returns the milliseconds of the claim."""
    begun = time.perf_counter()
    key = worker.claim()
    took = (time.perf_counter() - begun) * 1000
    assert key is not None
    worker.complete()
    return took
