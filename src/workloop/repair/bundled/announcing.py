"""Whether the servers of a harness announce, once they run, exactly the tools that the harness declares.

Each is started as a session would start it, but behind the walls of a check: it sees its own files and nothing of the
repository, writes a scratch folder of its own, and reaches no network.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from workloop.domain.errors import Refusal
from workloop.repair.bundled.files import CODE
from workloop.repair.bundled.laying import lay
from workloop.repair.bundled.listening import PHASE_OVER, ServerLimits, ServerOrder, announced_by
from workloop.repair.bundled.manifest import MANIFEST, HarnessSpec
from workloop.repair.bundled.mapping import TOOL_SERVER, packages_of, servers_of
from workloop.repair.bundled.packages.announced import require_same
from workloop.repair.port import Verdict
from workloop.repair.verification.ground import Bounds, Ground, check_ground
from workloop.repair.verification.keeping import keep
from workloop.runner.checks.plan import CheckPlan
from workloop.runner.checks.room import open_room, variables
from workloop.runner.registry import Workspace
from workloop.runner.removal import discard_checkout
from workloop.runner.sandbox.enclosure import Rooms

EVIDENCE: Final = "servers.json"
LIMITS: Final = ServerLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What one server has to announce, and where that stands."""

    tools: tuple[str, ...]
    at: str


def require_servers(
    ground: Ground, bounds: Bounds, harness: HarnessSpec, commit: str, limits: ServerLimits = LIMITS
) -> None:
    """Start every server of the harness at a commit, one after the other, and compare what each announces.

    What they announced is kept as servers.json in the evidence. Raises BadRequest that names rule and server for a
    defect of the harness, Refusal where the ground is not safe, Conflict with PHASE_OVER once there is no time left.
    """
    check_ground(ground, ())
    declared = declared_by(harness)
    if not declared:
        return
    plan = ground.plan(commit)
    room = open_room(ground.repository, plan, commit, ground.repository.folder("checkouts") / f"{ground.run}-servers")
    rows: list[dict[str, object]] = []
    try:
        for order in orders(ground, plan, room, harness, limits):
            names = announced_by(order, bounds)
            rows.append({"server": order.server.name, "tools": list(names), "sandbox": ground.enclosure.name})
            require_same(declared[order.server.name].tools, names, declared[order.server.name].at)
    finally:
        discard_checkout(ground.repository, room)
        keep(ground.evidence, (json.dumps(rows, indent=1) + "\n").encode(), EVIDENCE)


def with_servers(
    verdict: Verdict, ground: Ground, bounds: Bounds, harness: HarnessSpec, limits: ServerLimits = LIMITS
) -> Verdict:
    """Return a verdict that passed as one that did not, where a server announces other tools; any other as it is."""
    if not verdict.passed:
        return verdict
    try:
        require_servers(ground, bounds, harness, verdict.commit, limits)
    except Refusal as error:
        if error.code not in (CODE, PHASE_OVER):
            raise
        return replace(verdict, passed=False, why=error.message)
    return verdict


def declared_by(harness: HarnessSpec) -> dict[str, Declared]:
    """Return by server what it has to announce; the tools of the harness itself are offered by one server."""
    own = {TOOL_SERVER: Declared(tools=tuple(tool.name for tool in harness.tools), at=MANIFEST)}
    bundles = {bundle.name: Declared(tools=bundle.tools, at=bundle.path) for bundle in harness.bundles}
    return {**(own if harness.tools else {}), **bundles}


def orders(
    ground: Ground, plan: CheckPlan, room: Workspace, harness: HarnessSpec, limits: ServerLimits
) -> Iterator[ServerOrder]:
    """Lay the packages out once, to be read only, and yield the servers, each with a home and a scratch of its own."""
    packages = room.path / "packages"
    packages.mkdir(mode=0o700)
    lay(packages_of(harness), packages)
    declared = declared_by(harness)
    for number, server in enumerate(servers_of(harness, packages), start=1):
        home, scratch = (private(room.path / f"{name}-{number}") for name in ("home", "scratch"))
        places = {"HOME": str(home), **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(scratch))}
        yield ServerOrder(
            server=server,
            at=declared[server.name].at,
            folder=room.path,
            cwd=scratch,
            env={**variables(plan, room), **places, **server.env},
            enclosure=ground.enclosure,
            rooms=rooms(ground, packages, home, scratch),
            limits=limits,
        )


def private(folder: Path) -> Path:
    """Make a folder that is nobody else's."""
    folder.mkdir(mode=0o700)
    return folder


def rooms(ground: Ground, packages: Path, home: Path, scratch: Path) -> Rooms:
    """Return what one server may reach."""
    return Rooms(
        writable=(scratch,),
        readable=(packages, *ground.readable),
        hidden=ground.masked,
        home=home,
    )
