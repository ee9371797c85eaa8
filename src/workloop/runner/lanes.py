"""How a lane's commands run on this machine, in folders of the lane's own, and what is read of what they print."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from workloop.config.lanes import LANE, LANE_DIR, LANE_FILE, Argv, LaneConfig, filled, port_variable
from workloop.domain.errors import Fault
from workloop.runner.command import Command, CommandEnd, run_command, safe_environment
from workloop.runner.harness.files import write_private
from workloop.runner.orphans import end_orphans
from workloop.runner.sandbox.rooms import Rooms

SERVICE_SECONDS: Final = 30 * 86_400.0
END_SECONDS: Final = 60.0
HEALTH_PAUSE_SECONDS: Final = 0.1
LISTED_BYTES_MAX: Final = 1024 * 1024
LISTED_MAX: Final = 10_000
ASIDE: Final = 'exec "$@" > "$0"'
"""What has /bin/sh put a command's standard output aside, so that what it says on the other is not taken for it."""


class Ports(Protocol):
    """Gives a lane its ports."""

    def __call__(self, lane: str, name: str, wanted: int) -> int:
        """Return the port of a lane by its name there: always the same one, and no other lane's."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnd:
    """How a command ended: what is wrong with it, empty when nothing is, and the end of what it printed."""

    problem: str = ""
    tail: str = ""


class Running(Protocol):
    """What runs along with a grant."""

    def problem(self) -> str:
        """Return why it is of no use any more."""
        ...


class Service:
    """A command that runs in a thread of its own until it is ended."""

    def __init__(self, order: Command) -> None:
        self.order = order
        self.over: CommandEnd | OSError | None = None
        self.thread = threading.Thread(target=self.run, name=f"lane {order.folder.name}", daemon=True)
        self.thread.start()

    def run(self) -> None:
        """Run it to its end; what goes wrong is kept for whoever asks."""
        try:
            self.over = run_command(self.order)
        except OSError as failed:
            self.over = failed

    def problem(self) -> str:
        """Return why it is of no use any more; one that ended well by itself has started something elsewhere."""
        match self.over:
            case OSError():
                return str(self.over)
            case CommandEnd() if self.over.exit_code != 0 and not self.over.stopped:
                return f"it ended with {self.over.exit_code}: {self.over.output_tail[-500:].strip()}"
            case _:
                return ""

    def end(self) -> str:
        """End it with everything it started, and say what is wrong when some of it would not die."""
        self.order.stop.set()
        self.thread.join(END_SECONDS)
        if self.thread.is_alive():
            return "it did not end in time"
        if isinstance(self.over, CommandEnd) and self.over.survivors:
            return f"processes {list(self.over.survivors)} would not die"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRunner:
    """Runs lanes' commands in one project's private folder, with the variables that are allowed to be seen."""

    folder: Path
    ports: Ports
    environment: Mapping[str, str]
    door: Callable[[int], Path] | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def place(self, lane: LaneConfig) -> Path:
        """Return a lane's private folder, made when it is missing."""
        path = self.folder / lane.name
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def room(self, lane: LaneConfig) -> Path:
        """Return the folder that a lane's commands and sessions share."""
        path = self.place(lane) / "room"
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    def variables(self, lane: LaneConfig) -> dict[str, str]:
        """Return a lane's folder and ports."""
        found = {LANE: lane.name, LANE_DIR: str(self.room(lane))}
        return found | {port_variable(name): str(port) for name, port in self.ports_of(lane).items()}

    def rooms(self, lane: LaneConfig) -> Rooms:
        """Return what a lane's sessions see of it behind their walls; where the network is cut, its ports by doors."""
        ports = self.ports_of(lane).values()
        return Rooms(
            readable=lane.readable,
            writable=(self.room(lane), *lane.writable),
            ports={} if self.door is None else {port: self.door(port) for port in ports},
        )

    def ports_of(self, lane: LaneConfig) -> dict[str, int]:
        """Return a lane's ports by name."""
        return {name: self.ports(lane.name, name, wanted) for name, wanted in lane.ports.items()}

    def run(self, lane: LaneConfig, step: str, argv: Argv, variables: Mapping[str, str], paper: object) -> StepEnd:
        """Run one command to its end; without a command all is well."""
        if not argv:
            return StepEnd()
        file = write_private(self.place(lane) / f"{step}.json", json.dumps(paper) + "\n")
        given = {**variables, LANE_FILE: str(file)}
        end = run_command(self.order(lane, step, argv, given, lane.command_seconds))
        return StepEnd(problem=problem_of(end, lane.command_seconds), tail=end.output_tail[-2000:].strip())

    def order(self, lane: LaneConfig, step: str, argv: Argv, variables: Mapping[str, str], seconds: float) -> Command:
        """Return one command with its places filled, standing in the lane's shared folder and marked by its step."""
        place = self.place(lane)
        return Command(
            command=tuple(filled(argument, variables) for argument in argv),
            folder=place / step,
            cwd=self.room(lane),
            log_path=place / f"{step}.log",
            timeout_seconds=seconds,
            env={**safe_environment(self.environment, allowed=lane.visible), **variables},
            stop=self.stop,
        )

    def listed(self, lane: LaneConfig, variables: Mapping[str, str]) -> tuple[str, ...]:
        """Return what a lane's own command lists, each once."""
        if not lane.listing:
            return ()
        aside = self.place(lane) / "list.out"
        aside.unlink(missing_ok=True)
        end = self.run(lane, "list", ("/bin/sh", "-c", ASIDE, str(aside), *lane.listing), variables, {})
        if end.problem:
            raise unlisted(lane, f"{end.problem}: {end.tail}" if end.tail else end.problem)
        if aside.stat().st_size > LISTED_BYTES_MAX:
            raise unlisted(lane, f"it printed more than {LISTED_BYTES_MAX} bytes")
        lines = [line.strip() for line in aside.read_text(encoding="utf-8", errors="replace").splitlines()]
        found = tuple(dict.fromkeys(line for line in lines if line))
        if len(found) > LISTED_MAX:
            raise unlisted(lane, f"it listed more than {LISTED_MAX} things")
        return found

    def healthy(
        self, lane: LaneConfig, variables: Mapping[str, str], service: "Running | None", stopped: Callable[[], bool]
    ) -> StepEnd:
        """Ask a lane's own command until all is well, for as long as it is worth while."""
        until = time.monotonic() + lane.health_seconds
        while True:
            failed = service.problem() if service is not None else ""
            end = StepEnd(problem=f"what it started is of no use: {failed}") if failed else StepEnd()
            if failed or not lane.health:
                return end
            end = self.run(lane, "health", lane.health, variables, {})
            if not end.problem or stopped() or time.monotonic() >= until or self.stop.wait(HEALTH_PAUSE_SECONDS):
                return end

    def start(self, lane: LaneConfig, variables: Mapping[str, str], cwd: Path) -> Service:
        """Start what runs along with a grant, in the checkout that it serves."""
        order = self.order(lane, "start", lane.start, variables, SERVICE_SECONDS)
        return Service(replace(order, cwd=cwd, stop=threading.Event()))

    def end_left(self, lane: LaneConfig) -> tuple[int, ...]:
        """Kill what a killed loop's commands left running, each found by its mark."""
        place = self.place(lane)
        steps = ("prepare", "start", "health", "list", "clean", "stop")
        return end_orphans(*(place / step for step in steps))

    def halt(self) -> None:
        """End at once what is being run."""
        self.stop.set()


def problem_of(end: CommandEnd, seconds: float) -> str:
    """Say what is wrong with how a command ended."""
    if end.survivors:
        return f"processes {list(end.survivors)} would not die"
    if end.timed_out:
        return f"it did not end within {seconds:g} s"
    if end.stopped:
        return "it was stopped"
    return "" if end.exit_code == 0 else f"it ended with {end.exit_code}"


def unlisted(lane: LaneConfig, why: str) -> Fault:
    """Return the fault of a lane whose contents are not known."""
    hint = f"see what its list command prints, in lane.{lane.name}.list"
    return Fault("LANE_UNLISTED", f"what is in lane {lane.name} is not known: {why}", hint=hint)
