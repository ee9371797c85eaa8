"""How a claim's sessions get the lane that its contract asks for, and what follows when it cannot be made ready."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict, Fault, Refusal
from workloop.domain.ids import Fence, ItemId, id_number
from workloop.driver.attempt.concluding import raise_question, release_infra
from workloop.driver.attempt.holding import Lease
from workloop.driver.attempt.insisting import insist, settled
from workloop.driver.lanes.lanes import Guest, Lanes
from workloop.driver.project import Project
from workloop.driver.seam import run_sync
from workloop.runner.sandbox.rooms import Rooms


@asynccontextmanager
async def in_lane(project: Project, lease: Lease, path: Path, sha: str) -> AsyncGenerator[bool]:
    """Have the claim's lane ready inside the block; tells whether it is, else the claim has been given back.

    What runs along with it is dead, and what the claim's sessions recorded in it is seen to, when the block is left.
    """
    lanes, name = project.lanes, lease.held.contract.lane
    if lanes is None or name is None or name not in lanes.configs:
        yield True
        return
    held = lease.held
    guest = Guest(
        item_id=ItemId(id_number(held.item_id)),
        fence=Fence(held.attempt),
        key=held.key,
        token=held.token,
        path=path,
        sha=sha,
    )
    try:
        ready = await made_ready(project, lanes, lease, guest, name)
        yield ready
    finally:
        with anyio.CancelScope(shield=True):
            lease.environment, lease.rooms = {}, Rooms()
            await run_sync(lanes.leave, name)


async def made_ready(project: Project, lanes: Lanes, lease: Lease, guest: Guest, name: str) -> bool:
    """Make a lane ready; where it cannot be, give the claim back, or ask a person when that happened too often."""
    try:
        lease.rooms = await run_sync(lanes.machine.rooms, lanes.configs[name])
        lease.environment = dict(await run_sync(lanes.enter, name, guest, lease.stop.requested.is_set))
    except (Fault, Refusal, OSError) as failed:
        if lease.lost or lease.stop.requested.is_set() or await settled(project, lease):
            return False
        if isinstance(failed, Conflict):
            await insist(project, lease, give_back, project, lease, str(failed), None)
            return False
        lanes.failed(lanes.unready, name, failed)
        await insist(project, lease, concluded, project, lanes, lease, name)
        return False
    return True


def concluded(project: Project, lanes: Lanes, lease: Lease, name: str) -> None:
    """Give a claim back for a while; when the lane's tries are used up, park its item with the question."""
    trouble = lanes.unready[name]
    if not trouble.spent or trouble.question is not None:
        give_back(project, lease, trouble.why, Instant(project.now() + trouble.wait_us))
        return
    asks, held = trouble.asks(name), lease.held
    project.tell("parked", {"key": held.key, "error": asks})
    lease.ending = True
    key = held.root if held.role == "verify" else held.key
    trouble.question = raise_question(project, key, asks, trouble.evidence)


def give_back(project: Project, lease: Lease, why: str, later: Instant | None) -> None:
    """Release a claim that nobody failed; one that ended meanwhile is left alone."""
    lease.ending = True
    try:
        release_infra(project, lease.held, why, later)
    except Refusal as refused:
        project.tell("refused", {"key": lease.held.key, "error": str(refused)})
