"""What walls add to the start of a session: to the first word of the agent, above the same start without them."""

import os
import resource
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import anyio

from bench.result import Result
from workloop.runner.harness.port import Launch
from workloop.runner.process import StopLadder, spawn
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Network, Rooms, find_enclosure, git_rooms
from workloop.runner.sandbox.receiving import receive
from workloop.testing.gitrepo import scratch_repository

ADDED_MS_MAX = 60.0
AGENT = ("/bin/sh", "-c", "echo up")
BRANCH = "workloop/itm_bench/a-feature"
LADDER = StopLadder(interrupt_seconds=5)
PORT = 8_123
FILES, COMMITS = 200, 50


def measure(quick: bool) -> list[Result]:
    """Measure in turns, so that what the machine does meanwhile falls on all."""
    return anyio.run(compared, 10 if quick else 40)


async def compared(rounds: int) -> list[Result]:
    """Start the same agent bare, behind walls, and behind walls with a door, again and again."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        tree = work_tree(folder)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(folder / "door"))
            bare, walled, cut = list[Cost](), list[Cost](), list[Cost]()
            received: list[float] = []
            for _ in range(rounds):
                bare.append(await started(folder, tree, BARE, {}))
                walled.append(await started(folder, tree, find_enclosure("bwrap", Network.OPEN), {}))
                doors = {PORT: folder / "door"}
                cut.append(await started(folder, tree, find_enclosure("bwrap", Network.LOOPBACK), doors))
                received.append(commit_received(folder, tree))
    return [
        Result(name="session start, bare", values=tuple(one.wall for one in bare), unit="ms"),
        Result(name="session start, walls, above bare", values=above(walled, bare), unit="ms", limit=ADDED_MS_MAX),
        Result(name="the same, processor time alone", values=worked_above(walled, bare), unit="ms", limit=ADDED_MS_MAX),
        Result(name="session start, walls and a door, above bare", values=above(cut, bare), unit="ms"),
        Result(name="one commit taken over", values=tuple(received), unit="ms"),
    ]


class Cost(NamedTuple):
    """What a start took, and what of it processors worked; milliseconds."""

    wall: float
    worked: float


def above(costs: Sequence[Cost], base: Sequence[Cost]) -> tuple[float, ...]:
    """Return the differences, round by round."""
    return tuple(cost.wall - plain.wall for cost, plain in zip(costs, base, strict=True))


def worked_above(costs: Sequence[Cost], base: Sequence[Cost]) -> tuple[float, ...]:
    """Return the differences of what processors worked."""
    return tuple(cost.worked - plain.worked for cost, plain in zip(costs, base, strict=True))


def worked() -> float:
    """Return what this process and its children that have ended worked so far, in milliseconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) * 1000


def work_tree(folder: Path) -> Path:
    """Make a repository with some history, and a work tree of it."""
    shop = scratch_repository(folder / "shop", {f"file{number}.txt": f"{number}\n" for number in range(FILES)})
    for number in range(COMMITS):
        shop.commit({"file0.txt": f"{number}\n"})
        shop.git("branch", f"topic/{number}")
    tree = folder / "trees" / "itm_bench-1"
    shop.git("worktree", "add", "--quiet", "-b", BRANCH, str(tree))
    return tree


async def started(folder: Path, tree: Path, walls: Enclosure, doors: dict[int, Path]) -> Cost:
    """Start the agent and wait for its first word."""
    place = folder / str(uuid.uuid4())
    place.mkdir(mode=0o700)
    env = {"PATH": os.environ["PATH"], "HOME": str(Path.home())}
    before, began = worked(), time.perf_counter()
    rooms = Rooms() if walls is BARE else git_rooms(tree, BRANCH) | Rooms(ports=doors, readable=(place,))
    inside = walls.enclose(AGENT, env, tree, rooms)
    launch = Launch(argv=inside.argv, env=inside.env, cwd=tree, walled=inside.walled)
    child = spawn(launch, session_dir=place, session_id=place.name)
    said = await child.stdout.receive()
    took = (time.perf_counter() - began) * 1000
    assert said == b"up\n", said
    await child.wait()
    cost = Cost(took, worked() - before)
    await child.end(LADDER)
    child.close()
    return cost


def commit_received(folder: Path, tree: Path) -> float:
    """Commit as a session would, in its stand-in, and take that over; returns the milliseconds of the latter."""
    walls = find_enclosure("bwrap", Network.OPEN)
    name = {f"GIT_{who}_{what}": "bench@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **name}
    script = f"echo {time.perf_counter_ns()} > file1.txt && git commit -qam work"
    inside = walls.enclose(("/bin/sh", "-c", script), env, tree, git_rooms(tree, BRANCH))
    subprocess.run(inside.argv, env=inside.env, check=True)
    began = time.perf_counter()
    assert receive(tree).tip is not None
    return (time.perf_counter() - began) * 1000
