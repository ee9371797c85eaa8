"""Builders and verifiers that work, lie, stop short, break and run into limits; they act through the real service."""

import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from simrunner import Cut, Session
from simworkshop import Tree
from stage import BUILDERS, HANDOFF, JUDGES, SENTINEL

from workloop.domain.errors import Refusal, WorkloopError
from workloop.domain.session import SessionClass
from workloop.service.perform import perform

NOT_THE_LAST = "Do not call `complete`"
ENDS = {
    "crash": (SessionClass.CRASHED, "exit code 139"),
    "transient": (SessionClass.TRANSIENT, "overloaded"),
    "capped": (SessionClass.TURN_CAP, "the turn cap was hit"),
    "context": (SessionClass.CONTEXT, "the context ran out"),
    "denied": (SessionClass.DENIED, "a tool was denied"),
}


class Worker(Session):
    """A session that was given an item and a token."""

    def call(self, action: str, **arguments: Any) -> dict[str, Any]:
        """Call an action with this session's own token; a refusal is told to the model, which gives up."""
        assert self.request.endpoint is not None
        self.counts["tool_call"] += 1
        admitted = self.place.endpoint.admitted.get(self.request.endpoint.token)
        if admitted is None:
            raise Cut(SessionClass.CLEAN, "the token is worthless")
        actor, queue = admitted
        try:
            return dict(perform(queue, actor, action, {"token": actor.token, **arguments}))
        except Refusal as refused:
            raise Cut(SessionClass.CLEAN, f"refused: {refused.code}") from refused
        except WorkloopError as failed:
            raise Cut(SessionClass.CLEAN, f"failed: {failed.code}") from failed

    async def hang(self) -> None:
        """Say nothing more until the clocks end it."""
        await anyio.sleep(min(self.limits.quiet_seconds, math.inf))
        raise Cut(SessionClass.HUNG, "no event")

    def end_badly(self, part: str) -> None:
        """Stop short; a quitter ends well and settles nothing."""
        if part == "limited":
            self.use_up()
        if part in ENDS:
            self.counts["error"] += part == "transient"
            raise Cut(*ENDS[part])


class Builder(Worker):
    """Works on an item or repairs it."""

    parts = BUILDERS

    @property
    def tree(self) -> Tree:
        """Return the work tree this session stands in."""
        assert self.place.shop is not None
        return self.place.shop.trees[self.request.cwd]

    def commit(self, *, good: bool) -> str:
        """Commit something on the branch; what was not committed before is in it."""
        shop, tree = self.place.shop, self.tree
        assert shop is not None
        made = shop.origin.commit(shop.tip(tree.tree) or "", tree.order.root_id, good=good)
        shop.origin.branches[tree.tree.branch] = made.sha
        tree.dirty = 0
        return made.sha

    def hand_in(self, sha: str) -> None:
        """Claim that a commit is the result, unless a session after this one is to do so."""
        self.counts["tool_call"] += 1
        if NOT_THE_LAST not in self.request.prompt:
            self.call(
                "complete",
                contract_hash=self.facts["contract_hash"],
                outcome={"kind": "commit", "ref": sha},
                summary=SENTINEL,
            )

    async def act(self, part: str) -> None:
        """Play the part of a worker."""
        if part == "dead":
            raise Cut(SessionClass.DEAD, "nothing was produced")
        if part == "blip":
            raise Cut(SessionClass.TRANSIENT, "connection reset")
        await self.spend(120, SENTINEL)
        if self.chance.random() < 0.3 and self.place.shop is not None:
            self.place.shop.soil(self.tree)
        act: dict[str, Callable[[], Awaitable[None]]] = {
            "honest": self.work,
            "slow": self.work_slowly,
            "handoff": self.hand_off,
            "hung": self.hang,
            "deaf": self.hang,
        }
        if part in act:
            await act[part]()
        else:
            self.settle_badly(part)
            self.end_badly(part)

    def settle_badly(self, part: str) -> None:
        """Do what is no use, or not what was asked for."""
        match part:
            case "liar":
                self.hand_in(self.commit(good=False))
            case "empty":
                assert self.place.shop is not None
                self.hand_in(self.place.shop.origin.main)
            case "half":
                self.commit(good=self.chance.random() < 0.5)
            case "toolless" | "quitter" | "braggart":
                self.counts["tool_call"] += part != "braggart"
                self.final_text = f"all done, {SENTINEL}"
            case "repeater":
                self.call("retry", failed="it", cause="it is hard", next_action="try again")
            case "asker":
                self.call("defer", boundary="spend-money", asks="May I?", resume_when="a person says so")
            case "proposer":
                sha = self.commit(good=True)
                wish = {"key": f"idea-{sha[-6:]}", "title": "an idea", "checks": self.facts["contract"]["checks"]}
                self.call("add_items", items=[wish])
                self.hand_in(sha)
            case _:
                return

    async def work(self) -> None:
        """Do the work, in most cases well."""
        sha = self.commit(good=True)
        await self.spend(60, SENTINEL)
        self.hand_in(sha)

    async def work_slowly(self) -> None:
        """Work for longer than a lease holds, unless somebody renews it."""
        for _ in range(4):
            await self.spend(900, SENTINEL)
        await self.work()

    async def hand_off(self) -> None:
        """Ask for a successor in the last message."""
        self.commit(good=True)
        await self.spend(30, SENTINEL)
        self.counts["tool_call"] += 1
        self.record.handed_off = True
        self.final_text = f"half way\n{HANDOFF}\ngo on with the rest"


class Judge(Worker):
    """Verifies a candidate."""

    parts = JUDGES

    async def act(self, part: str) -> None:
        """Play the part of a verifier."""
        if part == "dead":
            raise Cut(SessionClass.DEAD, "nothing was produced")
        await self.spend(60)
        if part == "hung":
            await self.hang()
        self.end_badly(part)
        if part not in ("quitter", "toolless"):
            self.judge(part)

    def judge(self, part: str) -> None:
        """Give a verdict."""
        assert self.place.shop is not None
        candidate = self.facts["candidate"]["sha"]
        good = self.place.shop.origin.commits[candidate].good
        verdict = {"unsure": "inconclusive", "careless": "passed"}.get(part, "passed" if good else "rejected")
        said: dict[str, Any] = {"contract_hash": self.facts["contract_hash"], "verdict": verdict}
        said["evidence"] = [{"kind": "url", "ref": "https://ci.example/run/7"}]
        if verdict == "rejected":
            said |= {"failed_checks": ["objective"], "reproduction": "run it and look"}
        if verdict == "inconclusive":
            said |= {"reproduction": "the device is not here"}
        self.call("complete", **said)
