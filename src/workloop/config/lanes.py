"""What the loop is told of an exclusive lane: the operator's own commands around it, its ports and its clocks."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from workloop.config.paths import read_places
from workloop.domain.ids import SLUG
from workloop.domain.reader import Json, Reader, bad

Argv = tuple[str, ...]

PORT_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,30}")
VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
PLACE: Final = re.compile(r"\$\{(WORKLOOP_[A-Z0-9_]*)\}")
OWN_PREFIX: Final = "WORKLOOP_"
LANE: Final = "WORKLOOP_LANE"
GRANT: Final = "WORKLOOP_GRANT"
LANE_DIR: Final = "WORKLOOP_LANE_DIR"
LANE_FILE: Final = "WORKLOOP_LANE_FILE"
CHECKOUT: Final = "WORKLOOP_CHECKOUT"
CHECKOUT_SHA: Final = "WORKLOOP_CHECKOUT_SHA"
PORT_PREFIX: Final = "WORKLOOP_PORT_"
VARIABLES: Final = (LANE, GRANT, LANE_DIR, LANE_FILE, CHECKOUT, CHECKOUT_SHA)
COMMAND_SECONDS: Final = 60.0
HEALTH_SECONDS: Final = 30.0
SECONDS_MAX: Final = 3600.0
PORT_MAX: Final = 65_535
TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneConfig:
    """One lane: each command is an argument list and may be empty; a port is a number, or 0 for one of the host's.

    `start` runs as long as its grant; the others run to their end. `environment` is exported to the commands and to the
    session, `visible` names variables of the loop that the commands may see, readable and writable are places that its
    sessions see behind their walls. `adopt` counts what appeared in the lane
    during a grant as recorded, though nobody recorded it.
    """

    name: str
    prepare: Argv = ()
    start: Argv = ()
    health: Argv = ()
    listing: Argv = ()
    clean: Argv = ()
    stop: Argv = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    visible: tuple[str, ...] = ()
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    adopt: bool = False
    command_seconds: float = COMMAND_SECONDS
    health_seconds: float = HEALTH_SECONDS
    tries: int = TRIES


def read_lanes(value: Json, base: Path, path: str = "lane") -> dict[str, LaneConfig]:
    """Read every lane that the loop is to keep."""
    reader = Reader({} if value is None else value, path)
    found = {name: read_lane(name, reader.take(name), base, reader.at(name)) for name in reader.values}
    fixed = dict[int, str]()
    for name, lane in found.items():
        for port_name, port in lane.ports.items():
            if port and fixed.setdefault(port, name) != name:
                raise bad(f"{path}.{name}.ports.{port_name}", f"port {port} is lane {fixed[port]}'s", hint="give it 0")
    return found


def read_lane(name: str, value: Json, base: Path, path: str) -> LaneConfig:
    """Read one lane."""
    if not SLUG.match(name) or ".." in name:
        raise bad(path, f"{name!r} is no name of a lane", hint="use lower-case letters, digits, '.', '-' and '_'")
    reader = Reader(value, path)
    lane = LaneConfig(
        name=name,
        prepare=reader.texts("prepare"),
        start=reader.texts("start"),
        health=reader.texts("health"),
        listing=reader.texts("list"),
        clean=reader.texts("clean"),
        stop=reader.texts("stop"),
        environment=read_environment(reader),
        visible=reader.texts("visible"),
        ports=read_ports(reader),
        readable=read_places(reader, "readable", base),
        writable=read_places(reader, "writable", base),
        adopt=reader.flag("adopt"),
        command_seconds=seconds(reader, "command_seconds", COMMAND_SECONDS),
        health_seconds=seconds(reader, "health_seconds", HEALTH_SECONDS),
        tries=reader.whole("tries", default=TRIES, lowest=1, highest=100),
    )
    reader.done()
    check_lane(lane, path)
    return lane


def read_environment(reader: Reader) -> dict[str, str]:
    """Read what is exported; the names that begin with WORKLOOP_ are the loop's own."""
    table = reader.table("environment")
    for name in table:
        if VARIABLE.fullmatch(name) is None or name.startswith(OWN_PREFIX):
            hint = "use capitals, digits and _, and another beginning than WORKLOOP_"
            raise bad(f"{reader.at('environment')}.{name}", f"{name!r} cannot be a variable's name here", hint=hint)
    return table


def read_ports(reader: Reader) -> dict[str, int]:
    """Read the ports by name."""
    table = Reader(reader.take("ports") or {}, reader.at("ports"))
    for name in table.values:
        if PORT_NAME.fullmatch(name) is None:
            raise bad(table.at(name), f"{name!r} cannot be a port's name", hint="use lower-case letters, digits and _")
    return {name: table.whole(name, default=0, lowest=0, highest=PORT_MAX) for name in table.values}


def check_lane(lane: LaneConfig, path: str) -> None:
    """Refuse places that nothing fills, and closing without a look at what is there."""
    known = {*VARIABLES, *(port_variable(name) for name in lane.ports)}
    for entry, text in texts_of(lane):
        unknown = sorted(set(PLACE.findall(text)) - known)
        if unknown:
            raise bad(f"{path}.{entry}", f"nothing fills ${{{unknown[0]}}}", hint=f"known: {', '.join(sorted(known))}")
    if lane.adopt and not lane.listing:
        raise bad(f"{path}.adopt", "needs list: without it nobody can tell what appeared", hint="name a list command")
    if lane.adopt and not lane.clean:
        raise bad(f"{path}.adopt", "needs clean: what is adopted must be closed", hint="name a clean command")


def texts_of(lane: LaneConfig) -> Iterator[tuple[str, str]]:
    """Yield every text of a lane in which places are filled, with the entry it stands in."""
    commands = {"prepare": lane.prepare, "start": lane.start, "health": lane.health, "list": lane.listing}
    for entry, argv in {**commands, "clean": lane.clean, "stop": lane.stop}.items():
        for argument in argv:
            yield entry, argument
    for name, text in lane.environment.items():
        yield f"environment.{name}", text


def port_variable(name: str) -> str:
    """Return the variable that holds a named port."""
    return PORT_PREFIX + name.upper()


def filled(text: str, values: Mapping[str, str]) -> str:
    """Fill the places of a text; what belongs to a shell stays as it is."""
    return PLACE.sub(lambda found: values.get(found[1], found[0]), text)


def seconds(reader: Reader, name: str, default: float) -> float:
    """Read one of a lane's clocks."""
    return reader.number(name, default=default, lowest=0.1, highest=SECONDS_MAX)
