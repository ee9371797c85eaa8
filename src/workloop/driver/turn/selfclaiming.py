"""How a session is run that claims for itself, and how what it left open is given back."""

import uuid
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import anyio

from workloop.domain.clock import Instant
from workloop.domain.errors import BudgetSpent, Fault
from workloop.domain.observed import Observed, ObservedClaim, ended, observe
from workloop.domain.progress import Weight
from workloop.domain.session import SessionClass, SessionEvent, SessionReport
from workloop.driver.attempt.events import told
from workloop.driver.control import OPERATOR_STOP
from workloop.driver.oversight import SessionFacts
from workloop.driver.turn.desk import Desk, Work
from workloop.driver.turn.paying import brought
from workloop.driver.turn.watching import Watch, settle_up, watched
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.quarters import quartered
from workloop.runner.sandbox.enclosure import Rooms

RELEASE_SECONDS = 20.0
HOME = "home"
GUARDED = ("config", "hooks", "info")
UNCOUNTED = frozenset(
    {
        SessionClass.LIMITED,
        SessionClass.TRANSIENT,
        SessionClass.AUTH,
        SessionClass.BILLING,
        SessionClass.CONFIG,
        SessionClass.MODEL_MISSING,
        SessionClass.STOPPED,
    }
)


class Onlooker:
    """What is seen of a session's own claims while it runs."""

    def __init__(self, desk: Desk, work: Work) -> None:
        self.desk = desk
        self.work = work
        self.seen = Observed()
        self.unclaimed = True
        work.site.unclaimed += 1

    async def hear(self, event: SessionEvent) -> None:
        """Take one event into account, and tell it."""
        before = self.seen
        self.seen = observe(self.seen, event)
        for claim in self.seen.held:
            if claim not in before.held:
                self.desk.parts.tell("claimed", {"key": claim.key, "attempt": claim.fence, "by": "session"})
                self.work.key, self.work.item_id, self.work.fence = claim.key, claim.item_id, claim.fence
                self.claimed()
        for why in self.seen.unclear[len(before.unclear) :]:
            self.desk.parts.tell("unclear", {"target": self.work.site.name, "error": why})
        self.desk.parts.tell("agent", {"target": self.work.site.name, **told(event)})

    def claimed(self) -> None:
        """Let the next session of the target be started: this one has an item, or will get none."""
        if self.unclaimed:
            self.unclaimed = False
            self.work.site.unclaimed -= 1
            self.work.site.look_at = float("-inf")
            self.desk.nudge()


async def attend_own(desk: Desk, work: Work) -> None:
    """Run one session that claims for itself, and release what it left open."""
    onlooker = Onlooker(desk, work)
    try:
        report = await run(desk, work, onlooker)
        onlooker.seen = ended(onlooker.seen)
        settled = [how for _, how in onlooker.seen.settled]
        settle_up(desk, work, settled[-1] if settled else "")
        work.site.ended(weight(report, onlooker.seen), desk.now())
        brought(desk, work, weight(report, onlooker.seen))
        desk.attended += 1
        await release_all(desk, work, onlooker.seen, report)
    except BudgetSpent as spent:
        desk.parts.tell("budget", {"target": work.site.name, "detail": spent.message})
    except (Fault, OSError) as failed:
        work.site.faulted(str(failed), desk.now())
        desk.parts.tell("fault", {"target": work.site.name, "error": str(failed)})
    finally:
        onlooker.claimed()
        desk.leave(work)


async def run(desk: Desk, work: Work, onlooker: Onlooker) -> SessionReport:
    """Run the session in the target's own work dir, with the operator's MCP servers."""
    watch = Watch(desk, work)
    kit = watched(watch, work.site.kits[work.gate])
    session_id = str(uuid.UUID(int=desk.parts.ids.bits(128), version=4))
    folder = desk.parts.folder / "sessions" / session_id
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = work.site.target
    facts = facts_of(work, kit.gate.harness, folder, kit.model or "")
    watch.began(facts)
    if desk.ending:
        work.stop.request(OPERATOR_STOP)
    request = LaunchRequest(
        prompt=files("workloop.driver.turn").joinpath("briefs/own_claim.md").read_text(encoding="utf-8"),
        cwd=target.work_dir,
        session_dir=folder,
        session_id=session_id,
        environment=kit.environment,
        mcp_config=target.mcp_config_for(kit.gate.harness),
        model=kit.model,
        turns_max=kit.turns_max,
        cost_micros_max=kit.cost_micros_max,
    )
    request = quartered(kit.harness, replace(request, rooms=own_rooms(target.work_dir)), kit.walls, folder / HOME)
    desk.parts.tell("session", {"target": target.name, "session": session_id})
    report = await kit.run(
        kit.harness, request, limits=kit.limits, clock=desk.parts.clock, sink=onlooker.hear, stop=work.stop
    )
    watch.ended(facts, report)
    facts_told = {"target": target.name, "class": report.session_class.value, "detail": report.detail}
    desk.parts.tell("ended", facts_told)
    return report


def own_rooms(work_dir: Path) -> Rooms:
    """Return the project's own folder, but not what would run there for its owner, who works in it too."""
    git = work_dir / ".git"
    return Rooms(writable=(work_dir,), readable=tuple(place for name in GUARDED if (place := git / name).exists()))


def facts_of(work: Work, harness: str, folder: Path, model: str) -> SessionFacts:
    """Return what is known of such a session before it begins."""
    assert harness == work.gate.harness
    return SessionFacts(
        session_id=folder.name,
        gate=work.gate,
        key="",
        item_id="",
        attempt=0,
        role="",
        cwd=work.site.target.work_dir,
        folder=folder,
        model=model,
    )


def weight(report: SessionReport, seen: Observed) -> Weight:
    """Say whether a session brought its target forward."""
    if any(how in ("complete", "defer") for _, how in seen.settled):
        return Weight.FRUITFUL
    return Weight.UNCOUNTED if report.session_class in UNCOUNTED else Weight.FRUITLESS


async def release_all(desk: Desk, work: Work, seen: Observed, report: SessionReport) -> None:
    """Give back every claim that the session still held; without a releaser they end with their leases."""
    for claim in seen.held:
        reason = f"session {report.session_id} ended as {report.session_class}: {report.detail or 'it settled nothing'}"
        not_before = report.reset_at if report.session_class is SessionClass.LIMITED else None
        await release(desk, work, claim, reason, not_before)


async def release(desk: Desk, work: Work, claim: ObservedClaim, reason: str, not_before: Instant | None) -> None:
    """Give one claim back, within bounds; whatever the releaser does, the loop goes on."""
    releaser, facts = work.site.target.releaser, {"target": work.site.name, "key": claim.key}
    if releaser is None:
        desk.parts.tell("unreleased", {**facts, "reason": "the target has no releaser, so its lease must lapse"})
        return
    try:
        with anyio.fail_after(RELEASE_SECONDS, shield=True):
            await releaser.release(claim, reason, not_before)
    except Exception as failed:
        desk.parts.tell("unreleased", {**facts, "reason": f"{type(failed).__name__}: {failed}"})
    else:
        desk.parts.tell("released", {**facts, "reason": reason})
