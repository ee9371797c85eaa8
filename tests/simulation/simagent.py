"""Agents that work, lie, stop short, break and run into limits, as a seed says; they act through the real service."""

import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskStatus
from simworkshop import Origin, SimWorkshop, Tree
from world import Life, World

from workloop.domain.clock import SECOND_US, Clock, Instant
from workloop.domain.errors import Refusal, WorkloopError
from workloop.domain.grants import Actor
from workloop.domain.session import SessionClass, SessionReport, Stamp, Started, Text, Tokens, Usage
from workloop.runner.harness.port import Capabilities, Harness, Launch, LaunchRequest, McpEndpoint
from workloop.runner.intake import EventSink
from workloop.runner.session import StopRequest
from workloop.runner.watch import SessionLimits
from workloop.service.call import Queue
from workloop.service.perform import perform

HANDOFF = "=====WORKLOOP HANDOFF====="
SENTINEL = "SENTINEL-OF-THE-BUILDER"
BUILDERS = {
    "honest": 40,
    "liar": 8,
    "empty": 4,
    "quitter": 8,
    "half": 4,
    "repeater": 4,
    "asker": 4,
    "dead": 4,
    "crash": 3,
    "hung": 3,
    "transient": 6,
    "limited": 4,
    "capped": 2,
    "context": 2,
    "denied": 2,
    "handoff": 4,
    "slow": 4,
    "deaf": 2,
}
JUDGES = {"honest": 60, "careless": 6, "unsure": 4, "quitter": 4, "dead": 4, "transient": 4, "limited": 3, "hung": 2}


class SimHarness:
    """An agent program that exists only in the simulation."""

    tested_versions: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.capabilities = Capabilities(
            reports_cost=True, reports_reset=True, resumes=True, per_run_mcp=True, final_text=True, observes_claims=True
        )

    def version_command(self, environment: object) -> tuple[str, ...]:
        """Return nothing."""
        del environment
        return ()

    def launch(self, request: LaunchRequest) -> Launch:
        """Refuse: no process is ever started."""
        raise AssertionError(f"a simulated session was started for real: {request.session_id}")

    def reader(self, request: LaunchRequest) -> Any:
        """Refuse: nothing is ever printed."""
        raise AssertionError(f"a simulated session was read: {request.session_id}")


@dataclass
class SimEndpoint:
    """Lets sessions reach the service by token, as the loop's endpoint does."""

    life: Life
    admitted: dict[str, tuple[Actor, Queue]] = field(default_factory=dict[str, tuple[Actor, Queue]])
    given: int = 0

    async def serve(self, *, task_status: TaskStatus[str]) -> None:
        """Serve until cancelled."""
        task_status.started("http://127.0.0.1:9")
        await anyio.sleep_forever()

    def admit(self, actor: Actor, queue: Queue | None = None, *, over_mcp: bool = True) -> McpEndpoint:
        """Give out a token."""
        del over_mcp
        self.life.require()
        assert queue is not None
        self.given += 1
        token = f"{self.life.name}-{self.life.number}-{self.given}"
        self.admitted[token] = (actor, queue)
        return McpEndpoint(url_mcp="http://127.0.0.1:9/mcp", url_api="http://127.0.0.1:9", token=token)

    def dismiss(self, endpoint: McpEndpoint) -> None:
        """Make a token worthless."""
        self.admitted.pop(endpoint.token, None)


@dataclass
class Account:
    """A provider's account as the provider sees it; every session on it is refused while it is used up or locked."""

    limited_until: Instant | None = None
    locked_until: Instant | None = None


@dataclass
class Live:
    """One session that runs now."""

    session_id: str
    key: str
    role: str
    host: str
    harness: str


@dataclass
class Stage:
    """Everything the sessions of all hosts share."""

    world: World
    origin: Origin
    quiet: bool = False
    accounts: dict[str, Account] = field(default_factory=dict[str, Account])
    live: dict[str, Live] = field(default_factory=dict[str, Live])
    begun: int = 0
    tokens: int = 0
    prompts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def draw(self, parts: dict[str, int]) -> str:
        """Choose what a session does; once the faults are over, everybody is honest."""
        if self.quiet:
            return "honest"
        return self.world.chance.choices(list(parts), list(parts.values()))[0]


class Cut(Exception):
    """The session ends here, with a class."""

    def __init__(self, session_class: SessionClass, detail: str = "", reset_at: Instant | None = None) -> None:
        super().__init__(detail)
        self.session_class = session_class
        self.reset_at = reset_at


class SimRunner:
    """Plays sessions instead of starting processes; the port that the driver runs them through."""

    def __init__(self, life: Life, stage: Stage, shop: SimWorkshop, endpoint: SimEndpoint) -> None:
        self.life = life
        self.stage = stage
        self.shop = shop
        self.endpoint = endpoint

    async def __call__(
        self,
        harness: Harness,
        request: LaunchRequest,
        *,
        limits: SessionLimits,
        clock: Clock,
        sink: EventSink,
        stop: StopRequest,
    ) -> SessionReport:
        """Play one session from beginning to end."""
        self.life.require()
        session = SimSession(self, harness, request, limits, sink, stop)
        self.stage.begun += 1
        self.stage.live[request.session_id] = session.live
        started = clock.now()
        try:
            session_class, detail, reset = await session.play()
        finally:
            self.stage.live.pop(request.session_id, None)
        self.life.require()
        self.stage.tokens += session.spent
        return SessionReport(
            session_id=request.session_id,
            session_class=session_class,
            started_at=started,
            ended_at=clock.now(),
            exit_code=0 if session_class is SessionClass.CLEAN else 1,
            final_text=session.final_text,
            tokens=Tokens(input=session.spent),
            usage_reported=session.spent > 0,
            cost_micros=session.spent,
            reset_at=reset,
            resume_id=f"resume-{request.session_id}" if session.spent else None,
            detail=detail,
            event_counts={"usage": 1} if session.spent else {},
        )


class SimSession:
    """One session: what it was given, what it does with it."""

    def __init__(
        self,
        runner: SimRunner,
        harness: Harness,
        request: LaunchRequest,
        limits: SessionLimits,
        sink: EventSink,
        stop: StopRequest,
    ) -> None:
        self.runner = runner
        self.stage = runner.stage
        self.chance = runner.stage.world.chance
        self.request = request
        self.limits = limits
        self.sink = sink
        self.stop = stop
        self.spent = 0
        self.final_text = ""
        self.seq = 0
        self.facts: dict[str, Any] = json.loads(Path(request.item_file).read_text()) if request.item_file else {}
        self.live = Live(
            request.session_id,
            str(self.facts.get("key", "")),
            str(self.facts.get("role", "")),
            runner.life.name,
            harness.name,
        )

    async def play(self) -> tuple[SessionClass, str, Instant | None]:
        """Do what the seed says until done, cut short, or stopped from outside."""
        judging = self.live.role == "verify"
        part = self.stage.draw(JUDGES if judging else BUILDERS)
        self.stage.world.note(f"{self.live.host} {self.live.harness} {self.live.key}: {part}")
        self.stage.prompts.append((self.live.role, self.request.prompt))
        ended: list[tuple[SessionClass, str, Instant | None]] = []

        async def run() -> None:
            try:
                self.refuse_when_used_up()
                await (self.judge(part) if judging else self.build(part))
                ended.append((SessionClass.CLEAN, "", None))
            except Cut as cut:
                ended.append((cut.session_class, str(cut), cut.reset_at))
            group.cancel_scope.cancel()

        async def stopped() -> None:
            await self.stop.requested.wait()
            ended.append((SessionClass.STOPPED, self.stop.reason, None))
            group.cancel_scope.cancel()

        async def clock() -> None:
            await anyio.sleep(self.limits.wall_seconds)
            ended.append((SessionClass.HUNG, "still running", None))
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for wait in (run, stopped, clock):
                group.start_soon(wait)
        return ended[0]

    def refuse_when_used_up(self) -> None:
        """Let the provider refuse at once what it would refuse."""
        account = self.stage.accounts.setdefault(self.live.harness, Account())
        now = self.stage.world.now()
        if account.locked_until is not None and now < account.locked_until:
            raise Cut(SessionClass.AUTH, "log in again")
        if account.limited_until is not None and now < account.limited_until:
            told = account.limited_until if self.chance.random() < 0.7 else None
            raise Cut(SessionClass.LIMITED, "usage limit", told)

    async def spend(self, seconds: float) -> None:
        """Think for a while."""
        await anyio.sleep(seconds * self.chance.uniform(0.3, 1.7))
        self.runner.life.require()
        amount = self.chance.randint(100, 10_000)
        self.spent += amount
        self.seq += 1
        at = Stamp(seq=self.seq, arrival_us=round(anyio.current_time() * SECOND_US), session_id=self.request.session_id)
        await self.sink(Started(at=at) if self.seq == 1 else Usage(at=at, tokens=Tokens(input=amount)))
        await self.sink(Text(at=at, text=SENTINEL))

    def call(self, action: str, **arguments: Any) -> dict[str, Any]:
        """Call an action with this session's own token; a refusal is told to the model, which gives up."""
        assert self.request.endpoint is not None
        admitted = self.runner.endpoint.admitted.get(self.request.endpoint.token)
        if admitted is None:
            raise Cut(SessionClass.CLEAN, "the token is worthless")
        actor, queue = admitted
        try:
            return dict(perform(queue, actor, action, {"token": actor.token, **arguments}))
        except Refusal as refused:
            raise Cut(SessionClass.CLEAN, f"refused: {refused.code}") from refused
        except WorkloopError as failed:
            raise Cut(SessionClass.CLEAN, f"failed: {failed.code}") from failed

    @property
    def tree(self) -> Tree | None:
        """Return the work tree this session stands in."""
        return self.runner.shop.trees.get(self.request.cwd)

    def commit(self, *, good: bool) -> str:
        """Commit something on the branch."""
        tree = self.tree
        assert tree is not None, self.request.cwd
        made = self.stage.origin.commit(self.runner.shop.tip(tree.tree) or "", tree.order.root_id, good=good)
        self.stage.origin.branches[tree.tree.branch] = made.sha
        return made.sha

    def hand_in(self, sha: str) -> None:
        """Claim that a commit is the result."""
        self.call(
            "complete",
            contract_hash=self.facts["contract_hash"],
            outcome={"kind": "commit", "ref": sha},
            summary=SENTINEL,
        )

    async def build(self, part: str) -> None:
        """Play the part of a worker."""
        if part == "dead":
            raise Cut(SessionClass.DEAD, "nothing was produced")
        await self.spend(120)
        if self.tree is not None:
            self.tree.dirty = self.chance.random() < 0.3
        act: dict[str, Callable[[], Awaitable[None]]] = {
            "honest": self.work,
            "slow": self.work_slowly,
            "handoff": self.hand_off,
            "hung": self.hang,
            "deaf": self.hang,
        }
        if part in act:
            await act[part]()
            return
        self.end_badly(part)

    def end_badly(self, part: str) -> None:
        """Stop short in one of many ways."""
        match part:
            case "liar":
                self.hand_in(self.commit(good=False))
            case "empty":
                self.hand_in(self.stage.origin.main)
            case "half":
                self.commit(good=self.chance.random() < 0.5)
            case "repeater":
                self.call("retry", failed="it", cause="it is hard", next_action="try again")
            case "asker":
                self.call("defer", boundary="spend-money", asks="May I?", resume_when="a person says so")
            case "crash":
                raise Cut(SessionClass.CRASHED, "exit code 139")
            case "transient":
                raise Cut(SessionClass.TRANSIENT, "overloaded")
            case "limited":
                account = self.stage.accounts[self.live.harness]
                account.limited_until = Instant(
                    self.stage.world.now() + round(self.chance.uniform(600, 14_400) * SECOND_US)
                )
                self.refuse_when_used_up()
            case "capped":
                raise Cut(SessionClass.TURN_CAP, "the turn cap was hit")
            case "context":
                raise Cut(SessionClass.CONTEXT, "the context ran out")
            case "denied":
                raise Cut(SessionClass.DENIED, "a tool was denied")
            case _:
                return

    async def work(self) -> None:
        """Do the work, in most cases well."""
        sha = self.commit(good=True)
        await self.spend(60)
        self.hand_in(sha)

    async def work_slowly(self) -> None:
        """Work for longer than a lease holds, unless somebody renews it."""
        for _ in range(4):
            await self.spend(900)
        await self.work()

    async def hand_off(self) -> None:
        """Ask for a successor in the last message."""
        self.commit(good=True)
        await self.spend(30)
        self.final_text = f"half way\n{HANDOFF}\ngo on with the rest"

    async def hang(self) -> None:
        """Say nothing more until the clocks end it."""
        await anyio.sleep(min(self.limits.quiet_seconds, math.inf))
        raise Cut(SessionClass.HUNG, "no event")

    async def judge(self, part: str) -> None:
        """Play the part of a verifier."""
        if part == "dead":
            raise Cut(SessionClass.DEAD, "nothing was produced")
        await self.spend(60)
        if part in ("transient", "limited", "quitter"):
            self.end_badly(part)
            return
        if part == "hung":
            await self.hang()
        candidate = self.facts["candidate"]["sha"]
        good = self.stage.origin.commits[candidate].good
        verdict = {"unsure": "inconclusive", "careless": "passed"}.get(part, "passed" if good else "rejected")
        said: dict[str, Any] = {"contract_hash": self.facts["contract_hash"], "verdict": verdict}
        said["evidence"] = [{"kind": "url", "ref": "https://ci.example/run/7"}]
        if verdict == "rejected":
            said |= {"failed_checks": ["objective"], "reproduction": "run it and look"}
        if verdict == "inconclusive":
            said |= {"reproduction": "the device is not here"}
        self.call("complete", **said)
