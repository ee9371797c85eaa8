"""Plays sessions instead of starting processes: the port that the driver runs them through."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from simharness import SimEndpoint
from simworkshop import SimWorkshop
from stage import BUILDERS, CLAIMERS, JUDGES, PROBES, Record, Stage
from world import Life

from workloop.domain.clock import SECOND_US, Clock, Instant
from workloop.domain.gate import GateKey
from workloop.domain.session import SessionClass, SessionReport, Stamp, Started, Text, Tokens, Usage
from workloop.driver.turn.probing import PROMPT
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.intake import EventSink
from workloop.runner.session import StopRequest
from workloop.runner.watch import SessionLimits
from workloop.service.call import Queue


class Cut(Exception):
    """The session ends here, with a class."""

    def __init__(self, session_class: SessionClass, detail: str = "", reset_at: Instant | None = None) -> None:
        super().__init__(detail)
        self.session_class = session_class
        self.reset_at = reset_at


@dataclass
class Place:
    """Where sessions of one target play: by a queue of ours with a workshop, or on a foreign backlog."""

    life: Life
    stage: Stage
    target: str
    endpoint: SimEndpoint
    shop: SimWorkshop | None = None
    foreign: Queue | None = None


class Session:
    """What is the same in all sessions: it thinks, spends, says words, and ends in some way."""

    parts: dict[str, int] = PROBES

    def __init__(self, place: Place, gate: GateKey, request: LaunchRequest, facts: dict[str, Any]) -> None:
        self.place = place
        self.stage = place.stage
        self.chance = place.stage.world.chance
        self.request = request
        self.facts = facts
        self.final_text = ""
        self.counts = {"started": 0, "text": 0, "usage": 0, "tool_call": 0, "error": 0}
        self.record = Record(
            session_id=request.session_id,
            target=place.target,
            host=place.life.name,
            gate=gate,
            prompt=request.prompt,
            began=anyio.current_time(),
            key=str(facts.get("key", "")),
            role=str(facts.get("role", "")),
            fence=int(facts.get("attempt", 0)),
            probe=request.prompt == PROMPT,
            resumed=request.resume_id is not None,
        )
        self.sink: EventSink
        self.limits = SessionLimits()

    async def act(self, part: str) -> None:
        """Play a part; a probe says one word."""
        del part
        await self.spend(10)

    async def play(self, stop: StopRequest) -> Cut:
        """Do what the seed says until done, cut short, or stopped from outside."""
        part = self.stage.draw(self.parts, self.record.key)
        self.stage.world.note(f"{self.record.host} {self.record.gate} {self.record.target} {self.record.key}: {part}")
        ended: list[Cut] = []

        async def run() -> None:
            try:
                self.refuse_when_used_up()
                await self.act(part)
                ended.append(Cut(SessionClass.CLEAN))
            except Cut as cut:
                ended.append(cut)
            group.cancel_scope.cancel()

        async def stopped() -> None:
            await stop.requested.wait()
            self.record.stopped_at = anyio.current_time()
            ended.append(Cut(SessionClass.STOPPED, stop.reason))
            group.cancel_scope.cancel()

        async def clock() -> None:
            await anyio.sleep(self.limits.wall_seconds)
            ended.append(Cut(SessionClass.HUNG, "still running"))
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for wait in (run, stopped, clock):
                group.start_soon(wait)
        return ended[0]

    def refuse_when_used_up(self) -> None:
        """Let the provider refuse at once what it would refuse."""
        now, gate = self.stage.world.now(), self.record.gate
        login, window = self.stage.account(gate.harness), self.stage.account(str(gate))
        if login.locked_until is not None and now < login.locked_until:
            raise Cut(SessionClass.AUTH, "log in again")
        if window.limited_until is not None and now < window.limited_until:
            told = window.limited_until if self.chance.random() < 0.7 else None
            raise Cut(SessionClass.LIMITED, "usage limit", told)
        if login.flaps_until is not None and now < login.flaps_until and self.chance.random() < 0.6:
            self.counts["error"] += self.chance.random() < 0.5
            raise Cut(*self.chance.choice([(SessionClass.TRANSIENT, "overloaded"), (SessionClass.DEAD, "no word")]))

    def use_up(self) -> None:
        """Run into the limit of this gate's account."""
        window = self.stage.account(str(self.record.gate))
        window.limited_until = Instant(self.stage.world.now() + round(self.chance.uniform(600, 14_400) * SECOND_US))
        self.refuse_when_used_up()

    def stamp(self) -> Stamp:
        """Number the next event."""
        return Stamp(
            seq=sum(self.counts.values()) + 1,
            arrival_us=round(anyio.current_time() * SECOND_US),
            session_id=self.request.session_id,
        )

    async def spend(self, seconds: float, words: str = "") -> None:
        """Think for a while, then say something and pay for it."""
        await anyio.sleep(seconds * self.chance.uniform(0.3, 1.7))
        self.place.life.require()
        if not self.counts["started"]:
            self.counts["started"] = 1
            await self.sink(Started(at=self.stamp(), resume_id=f"resume-{self.request.session_id}"))
        amount = self.chance.randint(100, 10_000)
        self.record.spent += amount
        self.counts["usage"] += 1
        await self.sink(Usage(at=self.stamp(), tokens=Tokens(output=amount), cost_micros=amount))
        self.counts["text"] += 1
        await self.sink(Text(at=self.stamp(), text=words))


class SimRunner:
    """Runs the sessions of one gate on one target."""

    def __init__(self, place: Place, gate: GateKey) -> None:
        self.place = place
        self.gate = gate

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
        assert harness.name == self.gate.harness
        self.place.life.require()
        session = self.session(request)
        session.sink, session.limits = sink, limits
        started, record = clock.now(), session.record
        self.place.stage.enter(record)
        tree = self.place.shop.trees.get(request.cwd) if self.place.shop is not None else None
        if tree is not None:
            tree.touched = math.inf
        end = await session.play(stop)
        if tree is not None:
            tree.touched = anyio.current_time()
        self.place.life.require()
        self.place.stage.leave(record, end.session_class, end.reset_at)
        return SessionReport(
            session_id=request.session_id,
            session_class=end.session_class,
            started_at=started,
            ended_at=clock.now(),
            exit_code=0 if end.session_class is SessionClass.CLEAN else 1,
            final_text=session.final_text,
            tokens=Tokens(output=record.spent),
            usage_reported=record.spent > 0,
            cost_micros=record.spent,
            reset_at=end.reset_at,
            resume_id=f"resume-{request.session_id}" if record.spent else None,
            detail=str(end),
            event_counts={kind: count for kind, count in session.counts.items() if count},
        )

    def session(self, request: LaunchRequest) -> Session:
        """Return who plays: a probe, one that claims for itself, a verifier or a builder."""
        from simagent import Builder, Judge
        from simclaimer import Claimer

        if request.prompt == PROMPT:
            return Session(self.place, self.gate, request, {})
        if self.place.foreign is not None:
            return Claimer(self.place, self.gate, request, {})
        assert request.item_file is not None
        facts: dict[str, Any] = json.loads(Path(request.item_file).read_text(encoding="utf-8"))
        return (Judge if facts["role"] == "verify" else Builder)(self.place, self.gate, request, facts)


__all__ = ["BUILDERS", "CLAIMERS", "JUDGES", "Cut", "Place", "Session", "SimRunner"]
