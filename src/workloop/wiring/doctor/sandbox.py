"""How the doctor looks at the walls: which there are, why there are none, and whether each agent starts inside them."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from workloop.config import HarnessKind, NetworkWish, SandboxWish, Settings
from workloop.domain.errors import WorkloopError
from workloop.runner.harness.port import Harness
from workloop.runner.quarters import Walls, there
from workloop.runner.sandbox.enclosure import Rooms
from workloop.wiring.doctor.finding import Finding, broken, doubtful, fine, refused
from workloop.wiring.harnesses import make_harnesses, session_environment
from workloop.wiring.planning import opened
from workloop.wiring.sandbox import Building, building_of, choose, hidden_by

START_SECONDS = 60.0
SAID_CHARACTERS_MAX = 300


def look_at_sandbox(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Tell what sessions and checks run in, and try every agent's program inside."""
    try:
        building = building_of(settings.loop.sandbox, hidden_by(settings, environment), environment)
    except WorkloopError as error:
        yield refused("sandbox", error)
        return
    yield standing(settings, building)
    if not building.sessions.stand:
        return
    try:
        harnesses = make_harnesses(settings.loop, settings.folder)
    except WorkloopError:
        return  # look_at_agents says it
    for name in settings.harness_names:
        yield look_inside(settings, name, harnesses[name], building.sessions, environment)


def standing(settings: Settings, building: Building) -> Finding:
    """Tell which walls there are; without any, who could do what, and what would help."""
    config = settings.loop.sandbox
    if building.sessions.stand:
        named = f"sessions {building.sessions.name}, checks {building.checks.name}"
        if config.kind is SandboxWish.AUTO and config.network is NetworkWish.OPEN:
            return fine("sandbox", f'{named}; sandbox.kind = "bwrap" would refuse to run without')
        return fine("sandbox", named)
    user = "root" if os.geteuid() == 0 else "you"
    said = f"sandbox: none: sessions and checks run as {user}, and could read your files, use your logins, and answer"
    if config.kind is SandboxWish.NONE:
        return doubtful("sandbox", f"{said}; so the settings wish it", 'set sandbox.kind = "auto"')
    choice = choose()
    return doubtful("sandbox", f"{said}; {choice.why}", choice.remedy)


def look_inside(
    settings: Settings, name: str, harness: Harness, walls: Walls, environment: Mapping[str, str]
) -> Finding:
    """Start an agent's program inside the walls as a session would, without a session."""
    check = f"sandbox[{name}]"
    block = settings.loop.harness_config(name)
    visible = session_environment(settings.loop, name, environment)
    try:
        needs = harness.needs(visible)
        argv = harness.version_command(visible)
        rooms = opened(walls, block).rooms | Rooms(readable=there(needs.readable, needs.home))
        if not argv and block.kind in (HarnessKind.COMMAND, HarnessKind.ACP) and block.command[0].startswith("/"):
            walls.enclosure.enclose(block.command, visible, Path(tempfile.gettempdir()), rooms)
        if not argv:
            return fine(check, "its program is seen inside")
        return started(check, argv, visible, walls, rooms)
    except WorkloopError as error:
        return refused(check, error)


def started(check: str, argv: tuple[str, ...], visible: Mapping[str, str], walls: Walls, rooms: Rooms) -> Finding:
    """Run what prints a program's version inside the walls."""
    with tempfile.TemporaryDirectory(prefix="workloop-doctor-") as cwd:
        inside = walls.enclosure.enclose(argv, visible, Path(cwd), rooms)
        try:
            done = subprocess.run(
                inside.argv,
                env=dict(inside.env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=START_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as failed:
            return broken(check, f"it does not start inside: {failed}", f"name what it needs: {entry_of(check)}")
    if done.returncode == 0:
        return fine(check, "it starts inside")
    said = (done.stderr.strip() or done.stdout.strip())[-SAID_CHARACTERS_MAX:]
    return broken(check, f"it does not start inside: {said}", f"name what it needs: {entry_of(check)}")


def entry_of(check: str) -> str:
    """Return the settings entry that opens a place to an agent."""
    return f"[harness.{check[len('sandbox[') : -1]}] readable = [...]"
