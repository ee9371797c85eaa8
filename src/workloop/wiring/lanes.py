"""How a project's lanes are put together: the operator's commands, and the ports that this host has for them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from workloop.config import state_home
from workloop.config.lanes import LaneConfig
from workloop.driver.lanes.lanes import Lanes
from workloop.driver.project import Project
from workloop.runner.lanes import LaneRunner
from workloop.store.journal.ports import FileHostPorts, PortOwner
from workloop.wiring.doors import Doors

PORTS_NAME: Final = "host-ports"
FOLDER_NAME: Final = "lanes"


def lanes_of(
    project: Project, configs: Mapping[str, LaneConfig], environment: Mapping[str, str], doors: Doors | None
) -> Lanes | None:
    """Return the lanes that a loop keeps in a project; None when its settings name none."""
    if not configs:
        return None
    ports = host_ports(environment)

    def port(lane: str, name: str, wanted: int) -> int:
        """Return the port of one of this project's lanes."""
        return ports.take(PortOwner(folder=str(project.folder), use=f"lane {lane}, {name}"), wanted)

    folder = project.folder / FOLDER_NAME
    return Lanes(
        queue=project.queue,
        host=project.host,
        machine=LaneRunner(folder=folder, ports=port, environment=environment, door=doors and doors.socket),
        configs=configs,
        place=project.place,
        clock=project.clock,
        tell=project.tell,
    )


def host_ports(environment: Mapping[str, str]) -> FileHostPorts:
    """Return the ports that all loops of this user share on this host."""
    return FileHostPorts(state_home(environment) / PORTS_NAME)


def lane_ports(projects: Iterable[Project | None]) -> Iterator[int]:
    """Yield the port of every lane, so that there is a door to it where the network of sessions is cut."""
    for project in projects:
        if project is not None and project.lanes is not None:
            for lane in project.lanes.configs.values():
                yield from project.lanes.machine.ports_of(lane).values()
