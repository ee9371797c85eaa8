"""What the loop holds while an item is in work: the claim, its contract, and a lease that is kept alive."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from workloop.domain.contract import Contract, from_canonical
from workloop.domain.errors import Refusal, StoreUnavailable
from workloop.domain.grants import Actor
from workloop.driver.seam import run_sync
from workloop.runner.session import StopRequest
from workloop.service.call import Queue
from workloop.service.perform import perform

LOST = "lease lost"
AGAIN_SECONDS = 1.0


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


@dataclass(slots=True)
class Lease:
    """A claim's life: `stop` ends the session under it, `lost` says that the item is no longer ours."""

    stop: StopRequest = field(default_factory=StopRequest)
    lost: bool = False
    reason: str = ""

    def lose(self, reason: str) -> None:
        """Stop everything under the claim at once."""
        self.lost, self.reason = True, reason
        self.stop.request(LOST)


@asynccontextmanager
async def renewed(queue: Queue, host: Actor, held: Held) -> AsyncGenerator[Lease]:
    """Keep a claim's lease alive until the block is left, salvage and checks included."""
    lease = Lease()
    async with anyio.create_task_group() as group:
        group.start_soon(beat, queue, host, held, lease)
        try:
            yield lease
        finally:
            group.cancel_scope.cancel()


async def beat(queue: Queue, host: Actor, held: Held, lease: Lease) -> None:
    """Renew at fixed instants, so that a slow beat does not delay the next; a refusal means the lease is lost."""
    due = anyio.current_time() + held.beat_seconds
    while True:
        await anyio.sleep_until(due)
        try:
            await run_sync(perform, queue, host, "heartbeat", {"token": held.token})
        except Refusal as refused:
            lease.lose(str(refused))
            return
        except StoreUnavailable:
            due = anyio.current_time() + AGAIN_SECONDS
            continue
        due = max(due + held.beat_seconds, anyio.current_time())
