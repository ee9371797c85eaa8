"""What the children of the queue's process tests do; each opens the store for itself and runs on the real clock."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from queue_bench import ANN, COORDINATOR, HOST, SLUG, sha
from workloop.domain.errors import Refusal, StoreUnavailable
from workloop.service.call import Queue
from workloop.service.campaigns import tend
from workloop.service.perform import perform, run_as_host
from workloop.store.sqlite.store import SqliteSettings, SqliteStore
from workloop.store.system import SystemClock, SystemIds

WAIT_SECONDS = 60.0
Work = Callable[[Queue, int], Any]


class Report(NamedTuple):
    """What one child did, and when by a clock that all processes share."""

    began: float
    ended: float
    result: Any


def open_queue(path: Path) -> Queue:
    """Open the store's file as a program of its own would."""
    store = SqliteStore(SqliteSettings(path=path, wait_seconds=WAIT_SECONDS), SystemClock(), SystemIds())
    return Queue(store=store, ids=SystemIds(), slug=SLUG)


class Crew:
    """Children of one leader, forked once everything is imported, that begin together."""

    def __init__(self, path: Path, work: Work, count: int) -> None:
        here = Path(__file__).parent
        self.leader = subprocess.Popen(
            [sys.executable, __file__, str(path), work.__name__, str(count)],
            env={**os.environ, "PYTHONPATH": str(here.parent)},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def reports(self) -> list[Report]:
        """Return what each did, once all have ended well."""
        said, _ = self.leader.communicate(timeout=WAIT_SECONDS)
        assert self.leader.returncode == 0
        return [Report(*row) for row in json.loads(said)]

    def kill(self) -> None:
        """Kill the leader and every child at once."""
        os.killpg(self.leader.pid, signal.SIGKILL)
        self.leader.communicate(timeout=WAIT_SECONDS)


def child(path: Path, barrier: Any, pipe: Connection, work: Work, number: int) -> None:
    """Wait for the others, work, and report."""
    queue = open_queue(path)
    barrier.wait(WAIT_SECONDS)
    began = time.monotonic()
    result = work(queue, number)
    pipe.send((began, time.monotonic(), result))
    queue.store.close()


def lead(path: Path, work: Work, count: int) -> list[Any]:
    """Fork the children and gather their reports."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(count)
    pipes = [context.Pipe() for _ in range(count)]
    members = [
        context.Process(target=child, args=(path, barrier, theirs, work, number))
        for number, (_, theirs) in enumerate(pipes)
    ]
    for member in members:
        member.start()
    reports = [ours.recv() for ours, _ in pipes if ours.poll(WAIT_SECONDS)]
    for member in members:
        member.join(WAIT_SECONDS)
    assert len(reports) == count
    assert all(member.exitcode == 0 for member in members)
    return reports


def overlapped(reports: list[Report]) -> bool:
    """Tell whether at some moment all were at work."""
    return max(report.began for report in reports) < min(report.ended for report in reports)


def some_overlap(reports: list[Report]) -> bool:
    """Tell whether some were at work while others were."""
    ordered = sorted(reports)
    return any(later.began < earlier.ended for earlier, later in pairwise(ordered))


def try_claim(queue: Queue, number: int) -> str:
    """Claim the one item; returns what came of it."""
    try:
        return "won" if perform(queue, ANN, "claim", {"holder": f"h{number}", "key": "x"})["item"] else "nothing"
    except Refusal as error:
        return f"{error.code} {error.details.get('holder', '')} {error.details.get('lease_until', '')}"


def drain(queue: Queue, number: int) -> list[str]:
    """Claim and complete until nothing is left; returns the keys done."""
    done: list[str] = []
    while (taken := perform(queue, ANN, "claim", {"holder": f"h{number}"}))["item"] is not None:
        perform(queue, ANN, "complete", completion(taken, len(done) + 1))
        done.append(taken["item"]["key"])
    return done


def completion(taken: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the arguments of a completion."""
    return {
        "token": taken["token"],
        "contract_hash": taken["contract_hash"],
        "outcome": {"kind": "commit", "ref": sha(number)},
    }


def create(queue: Queue, number: int) -> str:
    """Add one item of one's own."""
    answer = perform(queue, ANN, "add_items", {"items": [{"key": f"item-{number}", "title": "t"}]})
    return answer["items"][0]["result"]


def create_same(queue: Queue, number: int) -> str:
    """Add the item that all add."""
    return perform(queue, ANN, "add_items", {"items": [{"key": "same", "title": "t"}]})["items"][0]["result"]


def resume(queue: Queue, number: int) -> str:
    """Answer the parked item's question."""
    answer = perform(queue, ANN, "answer", {"key": "x", "text": "go on"})
    return answer.get("follow_up", {}).get("key", "replayed" if answer.get("replayed") else "")


def start_cold(queue: Queue, number: int) -> list[str]:
    """Claim two items as one of two hosts that begin together."""
    taken = [perform(queue, ANN, "claim", {"holder": f"host{number}-{slot}"}) for slot in range(2)]
    return [claim["item"]["key"] for claim in taken if claim["item"] is not None]


def hurry(queue: Queue, number: int) -> list[str]:
    """Do random things with short leases until the time is up; returns the keys whose completion was accepted."""
    chance, done = random.Random(number), list[str]()
    until = time.monotonic() + 6
    claims: list[dict[str, Any]] = []
    while time.monotonic() < until:
        try:
            hurried_step(queue, chance, number, claims, done)
        except Refusal:
            continue
        except StoreUnavailable:
            continue
    return done


def hurried_step(
    queue: Queue, chance: random.Random, number: int, claims: list[dict[str, Any]], done: list[str]
) -> None:
    """Do one random thing."""
    if not claims or chance.random() < 0.35:
        taken = perform(queue, ANN, "claim", {"holder": f"h{number}", "lease_seconds": 1})
        if taken["item"] is None:
            run_as_host(queue, HOST, "tend", tend)
        else:
            claims.append(taken)
        return
    taken = claims[-1] if chance.random() < 0.8 else chance.choice(claims)
    token = taken["token"]
    match chance.choice(["beat", "complete", "complete", "lane", "record", "clean", "answer", "replace", "defer"]):
        case "beat":
            perform(queue, ANN, "heartbeat", {"token": token, "lease_seconds": 1})
        case "complete":
            said: dict[str, Any] = completion(taken, chance.randint(1, 9))
            if taken["item"]["role"] == "verify":
                verdict = chance.choice(["passed", "passed", "rejected"])
                said = {
                    "token": token,
                    "contract_hash": taken["contract_hash"],
                    "verdict": verdict,
                    "failed_checks": ["objective"],
                    "reproduction": "look",
                    "evidence": [{"kind": "url", "ref": "https://ci.example/7"}],
                }
            if not perform(queue, ANN, "complete", said).get("replayed"):
                done.append(taken["item"]["key"])
        case "lane":
            perform(queue, ANN, "lane_acquire", {"token": token})
        case "record":
            perform(queue, ANN, "lane_record", {"token": token, "resources": ["tab"]})
        case "clean":
            perform(queue, COORDINATOR, "lane_clean", {"lane": "browser", "resources": ["tab"]})
        case "answer":
            perform(queue, ANN, "answer", {"key": taken["item"]["key"], "text": "go on"})
        case "replace":
            key = f"item-{chance.randint(0, 39)}"
            perform(queue, ANN, "supersede", {"key": key, "replacement": f"spare-{number}", "reason": "r"})
        case _:
            perform(queue, ANN, "defer", {"token": token, "boundary": "spend-money", "asks": "May I?"})


def burst(queue: Queue, number: int) -> None:
    """Work without end; somebody kills it."""
    chance, claims, done = random.Random(number), list[dict[str, Any]](), list[str]()
    while True:
        try:
            hurried_step(queue, chance, number, claims, done)
        except Refusal:
            continue


if __name__ == "__main__":
    reported = lead(Path(sys.argv[1]), globals()[sys.argv[2]], int(sys.argv[3]))
    sys.stdout.write(json.dumps(reported))
