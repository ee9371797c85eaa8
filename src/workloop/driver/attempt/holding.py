"""What the loop holds while an item is in work: the claim, its contract, and a lease that is kept alive."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import anyio

from workloop.domain.contract import Contract, from_canonical
from workloop.domain.errors import Fault, Refusal
from workloop.domain.grants import Actor
from workloop.domain.happening import Scalar
from workloop.domain.ids import Fence, ItemId, id_number
from workloop.domain.lease import ClaimEnd
from workloop.domain.session import SessionReport
from workloop.driver.attempt.witness import AttemptWitness
from workloop.driver.oversight import SessionFacts
from workloop.driver.seam import run_sync
from workloop.runner.sandbox.rooms import Rooms
from workloop.runner.session import StopRequest
from workloop.service.call import Queue
from workloop.service.perform import perform

LOST = "lease lost"
AGAIN_SECONDS = 1.0
BEATS_PER_LEASE = 3
ENDED_BY_HOLDER = frozenset({ClaimEnd.COMPLETE, ClaimEnd.RETRY, ClaimEnd.DEFER, ClaimEnd.RELEASE, ClaimEnd.INFRA})


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One claim of the loop's, as its answer said."""

    item_id: str
    key: str
    role: str
    root: str
    attempt: int
    token: str = field(repr=False)
    beat_seconds: int
    contract_hash: str
    contract: Contract
    session_id: str

    @classmethod
    def from_answer(cls, answer: dict[str, Any], session_id: str) -> "Held":
        """Read a claim's answer."""
        item = answer["item"]
        return cls(
            item_id=item["id"],
            key=item["key"],
            role=item["role"],
            root=item.get("root", item["key"]),
            attempt=item["attempt"],
            token=answer["token"],
            beat_seconds=answer["beat_seconds"],
            contract_hash=answer["contract_hash"],
            contract=from_canonical(json.dumps(answer["contract"])),
            session_id=session_id,
        )


class Standing(StrEnum):
    """What the queue's record says of a claim."""

    HELD = "held"
    SETTLED = "settled"
    LOST = "lost"


def standing(queue: Queue, held: Held) -> Standing:
    """Look a claim up: still open, ended by its own holder, or taken from it."""
    with queue.store.read() as tx:
        claim = tx.claim_get(ItemId(id_number(held.item_id)), Fence(held.attempt))
    if claim is None:
        return Standing.LOST
    if claim.ended_at is None:
        return Standing.HELD
    return Standing.SETTLED if claim.end in ENDED_BY_HOLDER else Standing.LOST


@dataclass(slots=True, kw_only=True)
class Lease:
    """A claim's life: `stop` ends the session under it, `lost` says that the item is no longer ours.

    While `ending`, the loop itself is closing the claim, and its end is no news. `sessions` are those that were run
    under it; `witness` says what the host saw of them when the claim ends. `environment` and `rooms` are what
    they see of its lane. `refused` is why the commit that its sessions left could not be handed in.
    """

    held: Held
    stop: StopRequest = field(default_factory=StopRequest)
    lost: bool = False
    reason: str = ""
    ending: bool = False
    sessions: list[tuple[SessionFacts, SessionReport]] = field(default_factory=list[tuple[SessionFacts, SessionReport]])
    witness: AttemptWitness | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    rooms: Rooms = field(default_factory=Rooms)
    refused: str = ""

    def lose(self, reason: str) -> None:
        """Stop everything under the claim at once."""
        if not self.lost:
            self.lost, self.reason = True, reason
            self.stop.request(LOST)

    def note(self, facts: Mapping[str, Scalar]) -> None:
        """Have something kept with the claim when it ends; an empty fact is none."""
        if self.witness is not None:
            self.witness.extra.update({name: fact for name, fact in facts.items() if fact != ""})

    def look(self, queue: Queue) -> None:
        """Notice at once that somebody else ended the claim; a settle of its own is none of that."""
        if not self.ending and standing(queue, self.held) is Standing.LOST:
            self.lose("the claim was ended by somebody else")


@asynccontextmanager
async def renewed(queue: Queue, host: Actor, held: Held) -> AsyncGenerator[Lease]:
    """Keep a claim's lease alive until the block is left, salvage and checks included."""
    lease = Lease(held=held)
    async with anyio.create_task_group() as group:
        group.start_soon(beat, queue, host, lease)
        try:
            yield lease
        finally:
            group.cancel_scope.cancel()


async def beat(queue: Queue, host: Actor, lease: Lease) -> None:
    """Renew until settled or refused; one that could not be renewed in time is no longer trusted."""
    every = lease.held.beat_seconds
    due = anyio.current_time() + every
    trusted = due + every * (BEATS_PER_LEASE - 1)
    while True:
        await anyio.sleep_until(due)
        begun = anyio.current_time()
        try:
            await run_sync(perform, queue, host, "heartbeat", {"token": lease.held.token})
        except Refusal as refused:
            if await run_sync(standing, queue, lease.held) is not Standing.SETTLED:
                lease.lose(str(refused))
            return
        except Fault as failed:
            if anyio.current_time() >= trusted:
                lease.lose(f"the lease could not be renewed: {failed}")
                return
            due = anyio.current_time() + AGAIN_SECONDS
            continue
        trusted = begun + every * BEATS_PER_LEASE
        due = next_beat(due, every, anyio.current_time())


def next_beat(due: float, every: float, now: float) -> float:
    """Return the next beat of a fixed rhythm, which a slow beat does not shift; a missed one is due at once."""
    return max(due + every, now)
