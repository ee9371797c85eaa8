"""How a shut gate is tried: one short session of its agent that touches nothing, booked like any other."""

import uuid

from workloop.domain.errors import BudgetSpent, Fault
from workloop.domain.session import SessionEvent
from workloop.driver.oversight import SessionFacts
from workloop.driver.turn.desk import Desk, Work
from workloop.driver.turn.watching import Watch, watched
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.quarters import quartered
from workloop.runner.sandbox.enclosure import Rooms
from workloop.runner.watch import SessionLimits

PROMPT = "Answer with the single word OK. Use no tool and change nothing.\n"
KEY = "probe"
HOME = "home"
WALL_SECONDS = 120.0
QUIET_SECONDS = 60.0
TURNS_MAX = 1


async def probe(desk: Desk, work: Work) -> None:
    """Run one short session behind a shut gate; what it meets decides whether the gate opens."""
    try:
        await tried(desk, work)
    except (BudgetSpent, Fault, OSError) as failed:
        desk.parts.tell("probe", {"gate": str(work.gate), "error": str(failed)})
    finally:
        desk.leave(work)


async def tried(desk: Desk, work: Work) -> None:
    """Run the session in its own private folder, which is also its work dir."""
    watch = Watch(desk, work)
    kit = watched(watch, work.site.kits[work.gate])
    session_id = str(uuid.UUID(int=desk.parts.ids.bits(128), version=4))
    folder = desk.parts.folder / "sessions" / session_id
    cwd = folder / "empty"
    cwd.mkdir(mode=0o700, parents=True)
    facts = SessionFacts(
        session_id=session_id,
        gate=work.gate,
        key="",
        item_id="",
        attempt=0,
        role=KEY,
        cwd=cwd,
        folder=folder,
        model=kit.model or "",
    )
    watch.began(facts, probe=True)
    request = LaunchRequest(
        prompt=PROMPT,
        cwd=cwd,
        session_dir=folder,
        session_id=session_id,
        environment=kit.environment,
        model=kit.model,
        turns_max=TURNS_MAX if kit.harness.capabilities.turn_cap else None,
        read_only=True,
        rooms=Rooms(writable=(cwd,)),
    )
    request = quartered(kit.harness, request, kit.walls, folder / HOME)
    limits = SessionLimits(
        wall_seconds=WALL_SECONDS, quiet_seconds=QUIET_SECONDS, progress_seconds=QUIET_SECONDS, ladder=kit.limits.ladder
    )

    async def sink(event: SessionEvent) -> None:
        """Nobody need read what it says."""

    desk.parts.tell("probe", {"gate": str(work.gate), "session": session_id})
    report = await kit.run(kit.harness, request, limits=limits, clock=desk.parts.clock, sink=sink, stop=work.stop)
    watch.ended(facts, report)
    desk.parts.tell("probed", {"gate": str(work.gate), "class": report.session_class.value})
