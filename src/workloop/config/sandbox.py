"""What sessions and checks may reach of the machine, as a settings file says it."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from workloop.config.paths import read_places
from workloop.domain.reader import Json, Reader, bad, one_of

PORT_MAX = 65_535
PORTS_MAX = 32


class SandboxWish(StrEnum):
    """Which walls are wanted: the best that this machine has, or exactly these."""

    AUTO = "auto"
    BWRAP = "bwrap"
    NONE = "none"


class NetworkWish(StrEnum):
    """What of the network is reached: all of it, named ports of this machine, or nothing."""

    OPEN = "open"
    LOOPBACK = "loopback"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxConfig:
    """The walls around sessions and checks.

    readable and hidden are places of the operator's choice, ports the ports of this machine that sessions still reach
    when their network is loopback; the loop's own port is always one of them.
    """

    kind: SandboxWish = SandboxWish.AUTO
    network: NetworkWish = NetworkWish.OPEN
    checks_network: NetworkWish = NetworkWish.OPEN
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    ports: tuple[int, ...] = ()


def read_sandbox(value: Json, base: Path) -> SandboxConfig:
    """Read the walls."""
    reader, usual = Reader({} if value is None else value, "sandbox"), SandboxConfig()
    config = SandboxConfig(
        kind=one_of(reader, "kind", SandboxWish, reader.text("kind", default=usual.kind)),
        network=read_network(reader, "network", usual.network),
        checks_network=read_network(reader, "checks_network", usual.checks_network),
        readable=read_places(reader, "readable", base),
        hidden=read_places(reader, "hidden", base),
        ports=read_ports(reader),
    )
    reader.done()
    if config.ports and config.network is not NetworkWish.LOOPBACK:
        raise bad("sandbox.ports", "does nothing unless sandbox.network is loopback", hint="leave it out")
    return config


def read_network(reader: Reader, name: str, usual: NetworkWish) -> NetworkWish:
    """Read what of the network is reached."""
    return one_of(reader, name, NetworkWish, reader.text(name, default=usual))


def read_ports(reader: Reader) -> tuple[int, ...]:
    """Read ports of this machine; none is there twice."""
    ports: list[int] = []
    for path, value in reader.entries("ports"):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= PORT_MAX or value in ports:
            raise bad(path, f"expected a port from 1 to {PORT_MAX}, each once")
        ports.append(value)
    if len(ports) > PORTS_MAX:
        raise bad(reader.at("ports"), f"are more than {PORTS_MAX}")
    return tuple(ports)
