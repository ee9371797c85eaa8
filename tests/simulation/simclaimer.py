"""Sessions that claim for themselves on a backlog that the loop can only look at, and who looks and releases there."""

import json
from typing import Any

import anyio
from simrunner import Cut, Session
from stage import CLAIMERS

from workloop.domain.clock import Instant, to_text
from workloop.domain.errors import Refusal, WorkloopError
from workloop.domain.grants import Actor, Grant
from workloop.domain.observed import ObservedClaim
from workloop.domain.poll import Poll
from workloop.domain.session import SessionClass, ToolCall, ToolKind, ToolResult, ToolResultClass
from workloop.service.call import Queue
from workloop.service.insights import poll
from workloop.service.perform import perform

TOOL = "mcp__workloop__work_loop"
TRACKER = Actor(principal="tracker", grant=Grant.OPERATOR)


class Claimer(Session):
    """Takes one item over tools of its own, works on it, and settles it, or does not."""

    parts = CLAIMERS

    async def call(self, action: str, **arguments: Any) -> dict[str, Any]:
        """Call the backlog's own tool; the loop sees the call and its answer go by."""
        assert self.place.foreign is not None
        call_id = f"call-{self.counts['tool_call']}"
        self.counts["tool_call"] += 1
        asked = json.dumps({"action": action, **arguments})
        await self.sink(ToolCall(at=self.stamp(), call_id=call_id, name=TOOL, kind=ToolKind.MCP, arguments=asked))
        actor = Actor(principal="agents", grant=Grant.COORDINATOR)
        try:
            answer = dict(perform(self.place.foreign, actor, action, arguments))
        except WorkloopError as failed:
            refused = isinstance(failed, Refusal)
            kind = ToolResultClass.REFUSED if refused else ToolResultClass.INFRASTRUCTURE
            await self.sink(ToolResult(at=self.stamp(), call_id=call_id, name=TOOL, result=kind))
            raise Cut(SessionClass.CLEAN, f"refused: {failed.code}") from failed
        said = json.dumps(answer)
        done = ToolResult(at=self.stamp(), call_id=call_id, name=TOOL, result=ToolResultClass.OK, answer=said)
        await self.sink(done)
        return answer

    async def act(self, part: str) -> None:
        """Claim, work and settle; a keeper ends without settling."""
        if part == "dead":
            raise Cut(SessionClass.DEAD, "nothing was produced")
        await self.spend(20)
        claimed = await self.call("claim", holder=self.request.session_id, executor=self.request.session_id)
        item = claimed["item"]
        if item is None:
            return
        self.record.key, self.record.fence, self.record.item_id = item["key"], item["attempt"], item["id"]
        self.record.role = item["role"]
        await self.spend(120)
        match part:
            case "hung":
                await anyio.sleep(self.limits.quiet_seconds)
                raise Cut(SessionClass.HUNG, "no event")
            case "crash":
                raise Cut(SessionClass.CRASHED, "exit code 139")
            case "transient":
                raise Cut(SessionClass.TRANSIENT, "overloaded")
            case "limited":
                self.use_up()
            case "honest":
                sha = f"{self.record.fence:08x}{item['id'].encode().hex():>32.32}".replace(" ", "0")
                outcome = {"kind": "commit", "ref": sha}
                quoted = claimed["contract_hash"]
                await self.call("complete", token=claimed["token"], contract_hash=quoted, outcome=outcome)
            case _:
                return


class SimPoller:
    """Looks at the foreign backlog."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    async def poll(self) -> Poll:
        """Return how it stands."""
        return poll(self.queue)


class SimReleaser:
    """Gives back what a session claimed and left."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    async def release(self, claim: ObservedClaim, reason: str, not_before: Instant | None) -> None:
        """End a claim without a result."""
        later = {"not_before": to_text(not_before)} if not_before is not None else {}
        perform(self.queue, TRACKER, "release", {"token": claim.token, "reason": reason, **later})
