"""What the lanes ask of the machine they are on: a command run to its end, one that runs along, and their folders."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from workloop.config.lanes import Argv, LaneConfig
from workloop.runner.lanes import StepEnd
from workloop.runner.sandbox.rooms import Rooms


class Service(Protocol):
    """A command that runs as long as a grant."""

    def problem(self) -> str:
        """Return why it is of no use any more, empty while it runs or when it ended well by itself."""
        ...

    def end(self) -> str:
        """End it with everything it started; returns what is wrong when some of it would not die."""
        ...


class LaneHost(Protocol):
    """Runs a lane's commands on this machine; every call blocks."""

    def place(self, lane: LaneConfig) -> Path:
        """Return a lane's private folder, made when it is missing."""
        ...

    def variables(self, lane: LaneConfig) -> dict[str, str]:
        """Return what is the same for every grant of a lane: its folder and its ports; raises when there are none."""
        ...

    def rooms(self, lane: LaneConfig) -> Rooms:
        """Return what a lane's sessions see of it behind their walls."""
        ...

    def ports_of(self, lane: LaneConfig) -> dict[str, int]:
        """Return a lane's ports by name, always the same; raises when there are none left."""
        ...

    def run(self, lane: LaneConfig, step: str, argv: Argv, variables: Mapping[str, str], paper: object) -> StepEnd:
        """Run one command to its end, its limit or a stop; it may read `paper` as JSON in WORKLOOP_LANE_FILE."""
        ...

    def listed(self, lane: LaneConfig, variables: Mapping[str, str]) -> tuple[str, ...]:
        """Return what is in a lane now, a line each; raises Fault when its command does not tell."""
        ...

    def healthy(
        self, lane: LaneConfig, variables: Mapping[str, str], service: Service | None, stopped: Callable[[], bool]
    ) -> StepEnd:
        """Ask a lane's own command until all is well; gives up at its limit, and when what runs along has failed."""
        ...

    def start(self, lane: LaneConfig, variables: Mapping[str, str], cwd: Path) -> Service:
        """Start what runs along with a grant."""
        ...

    def end_left(self, lane: LaneConfig) -> tuple[int, ...]:
        """Kill what an earlier grant left running; returns the processes that would not die."""
        ...

    def halt(self) -> None:
        """End at once what is being run: somebody insists on the end."""
        ...
