"""Which walls the settings and this machine give to sessions and to checks, and what is hidden behind them."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import workloop
from workloop.config import DriverConfig, SandboxConfig, SandboxWish, Settings, state_home
from workloop.runner.quarters import NO_WALLS, Walls
from workloop.runner.sandbox.enclosure import BARE, Network, Rooms, find_enclosure
from workloop.runner.sandbox.mounts import FREE, PRIVATE, ROOT
from workloop.runner.sandbox.trial import try_bwrap
from workloop.wiring.doors import Doors

SHIMS = "shims"
VENV_MARK = "pyvenv.cfg"


class Building(NamedTuple):
    """The walls of one project: around its sessions, and around its checks."""

    sessions: Walls = NO_WALLS
    checks: Walls = NO_WALLS


class Choice(NamedTuple):
    """What this machine can build: what is recorded of it, which wish fits, and what would help when there is none."""

    name: str
    wish: SandboxWish
    why: str = ""
    remedy: str = ""


def choose() -> Choice:
    """Try the walls for real, and choose: where they work, a loop had better not run without them."""
    trial = try_bwrap(Network.OPEN)
    if trial.program is not None and not trial.failure:
        return Choice(find_enclosure(SandboxWish.BWRAP.value, Network.OPEN).name, SandboxWish.BWRAP)
    return Choice(BARE.name, SandboxWish.AUTO, trial.failure, trial.remedy)


def building_of(
    config: SandboxConfig, hidden: Iterable[Path], environment: Mapping[str, str], doors: Doors | None = None
) -> Building:
    """Choose the walls; raises Fault when what is asked for is impossible here."""
    if config.kind is SandboxWish.NONE:
        return Building()
    rooms = standing_rooms(config, hidden, environment)
    ways = Rooms(ports={} if doors is None else {port: doors.socket(port) for port in config.ports})
    sessions = find_enclosure(config.kind.value, Network(config.network.value))
    checks = find_enclosure(config.kind.value, Network(config.checks_network.value))
    return Building(
        sessions=NO_WALLS if sessions == BARE else Walls(enclosure=sessions, rooms=rooms | ways),
        checks=NO_WALLS if checks == BARE else Walls(enclosure=checks, rooms=rooms),
    )


def standing_rooms(config: SandboxConfig, hidden: Iterable[Path], environment: Mapping[str, str]) -> Rooms:
    """Return what stands open or is hidden for every session and every check.

    Programs on PATH are seen wherever they lie, and so is the interpreter that the loop itself runs on.
    """
    shut = tuple(dict.fromkeys((*hidden, *config.hidden)))
    masked = (*shut, *FREE, *(ROOT / name for name in PRIVATE), Path(environment.get("HOME") or Path.home()))
    tools = (place for place in toolchain(environment) if any(place.is_relative_to(mask) for mask in masked))
    readable = tuple(dict.fromkeys((*tools, *config.readable)))
    return Rooms(readable=readable, hidden=tuple(place for place in shut if not behind(place, shut, readable)))


def behind(place: Path, hidden: Iterable[Path], readable: Iterable[Path]) -> bool:
    """Tell whether a place is hidden already, together with what is around it."""
    around = (other for other in hidden if other != place and place.is_relative_to(other))
    return any(True for _ in around) and not any(place.is_relative_to(shown) for shown in readable)


def toolchain(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of programs on PATH, and what the loop's own interpreter needs.

    A virtual environment is seen whole, and so is what a folder of shims stands for.
    """
    home = Path(environment.get("HOME") or Path.home())
    for name in environment.get("PATH", "").split(os.pathsep):
        folder = Path(name)
        if folder.is_absolute() and folder.is_dir() and not home.is_relative_to(folder):
            whole = folder.name == SHIMS or (folder.parent / VENV_MARK).is_file()
            yield folder.parent if whole and not home.is_relative_to(folder.parent) else folder
    yield from map(Path, dict.fromkeys((sys.prefix, sys.base_prefix)))
    yield Path(workloop.__file__).parent


def hidden_by(settings: Settings, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return what settings hide from every session and check: all state, the settings, secrets, the projects' trees."""
    places = loop_secrets(settings.loop, settings.folder, settings.source, environment)
    for target in settings.targets:
        places += [target.place.folder, target.place.config, target.place.repository]
    return tuple(places)


def loop_secrets(config: DriverConfig, folder: Path, source: Path | None, environment: Mapping[str, str]) -> list[Path]:
    """Return what is hidden whatever the projects are: all state, private files, the settings, the operator's tests."""
    named = [place for place in (source, config.checks_overlay) if place is not None]
    return [state_home(environment), folder, *secrets_of(config), *named]


def secrets_of(config: DriverConfig) -> tuple[Path, ...]:
    """Return the private files that hold what agents are told by variables, and the meter's keys."""
    blocks = config.harnesses.values()
    named = [value for block in blocks for value in block.variables.values()]
    named += [block.meter.key for block in blocks if block.meter is not None]
    return tuple(Path(value[1:]).expanduser() for value in named if value.startswith("@"))
