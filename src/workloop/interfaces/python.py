"""How a Python program runs the loop: what it gives is what is published here, all the rest is filled in."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from workloop.config import DriverConfig, HarnessConfig, HarnessKind, NetworkWish, SandboxConfig, SandboxWish
from workloop.domain.errors import BadRequest
from workloop.domain.observed import ObservedClaim
from workloop.domain.poll import Poll
from workloop.driver.report import LoopEndReason, LoopOptions, LoopReport
from workloop.driver.target import Poller, Releaser, Target
from workloop.runner.harness.port import Harness
from workloop.service.call import Queue

if TYPE_CHECKING:
    from workloop.wiring.planning import Aim, Plan

__all__ = [
    "Driver",
    "DriverConfig",
    "HarnessConfig",
    "HarnessKind",
    "LoopEndReason",
    "LoopReport",
    "NetworkWish",
    "ObservedClaim",
    "Poll",
    "Poller",
    "Releaser",
    "SandboxConfig",
    "SandboxWish",
    "Target",
    "open_queue",
]


def open_queue(work_dir: Path | str, campaign: str = "") -> Queue:
    """Open the queue of a project that `workloop init` has prepared, for a target whose items the loop claims."""
    from workloop.wiring import project_queue

    return project_queue(Path(work_dir), campaign)


class Driver:
    """A loop in a program of one's own.

    The harness is an adapter, or the name of one that the settings describe; `harnesses` adds adapters by name for
    phases that run on another one. `tell` hears what the loop does. One driver runs once at a time; several in one
    process need folders of their own.
    """

    def __init__(
        self,
        config: DriverConfig,
        harness: Harness | str,
        poller: Poller | Queue,
        *,
        harnesses: Mapping[str, Harness] | None = None,
    ) -> None:
        if config.work_dir is None:
            hint = "name the folder in which the sessions work"
            raise BadRequest("BAD_REQUEST", "work_dir: is required for one project", hint=hint, field="work_dir")
        name = config.work_dir.resolve().name or "project"
        queue = poller if isinstance(poller, Queue) else None
        target = Target(name, None if isinstance(poller, Queue) else poller, config.work_dir, queue=queue)
        self.set_up(config, harness, (target,), harnesses)

    @classmethod
    def multi(
        cls,
        config: DriverConfig,
        harness: Harness | str,
        targets: Sequence[Target],
        *,
        harnesses: Mapping[str, Harness] | None = None,
    ) -> Self:
        """Drive several projects, each given sessions in its turn."""
        driver = cls.__new__(cls)
        driver.set_up(config, harness, tuple(targets), harnesses)
        return driver

    def set_up(
        self,
        config: DriverConfig,
        harness: Harness | str,
        targets: tuple[Target, ...],
        harnesses: Mapping[str, Harness] | None,
    ) -> None:
        """Keep what the loop is to be, and refuse at once what cannot work; raises BadRequest that names the entry."""
        check_targets(targets)
        self.config = named(config, harness)
        self.targets = targets
        self.given = {**(harnesses or {}), **({} if isinstance(harness, str) else {harness.name: harness})}
        self.tell: Callable[[str, Mapping[str, Any]], None] = lambda kind, facts: None
        self.plan()

    def plan(self) -> "Plan":
        """Put together what is to run; raises BadRequest for what cannot work together."""
        from workloop.config.validation import validate
        from workloop.wiring import operator
        from workloop.wiring.harnesses import make_harness
        from workloop.wiring.planning import Plan

        config, folder = self.config, self.folder()
        also = (agent for target in self.targets for agent in target.agents)
        wanted = dict.fromkeys((*config.harness_names(also), *config.harnesses))
        harnesses = {name: self.given.get(name) or make_harness(config, name, folder) for name in wanted}
        harnesses = {**self.given, **harnesses}
        validate(config, {name: harness.capabilities for name, harness in harnesses.items()}, self.targets)
        return Plan(
            config=config,
            folder=folder,
            harnesses=harnesses,
            aims=tuple(self.aim(target, folder) for target in self.targets),
            options=LoopOptions(
                sessions=config.max_iterations,
                parallel=config.sessions_max,
                idle_poll_seconds=config.idle_poll_interval,
                run_seconds=config.run_seconds_max,
                sessions_host=config.sessions_max_host,
            ),
            tell=self.tell,
            operator=operator(),
        )

    def aim(self, target: Target, folder: Path) -> "Aim":
        """Say where the loop keeps what it needs for a target."""
        from workloop.wiring.planning import Aim

        return Aim(
            target=target,
            folder=folder / "targets" / quote(target.name, safe=""),
            integration_branch=self.config.integration_branch,
            hours=self.config.active_hours,
            sessions_max=self.config.sessions_max_target,
        )

    def folder(self) -> Path:
        """Return the loop's private folder: the named one, else one in the user's state directory."""
        import os

        from workloop.config.place import digest_name, refuse_inside, state_home

        work_dirs = tuple(target.work_dir.resolve() for target in self.targets)
        usual = state_home(os.environ) / "drivers" / digest_name(work_dirs[0])
        folder = (self.config.state_dir or usual).expanduser().resolve()
        refuse_inside(folder, work_dirs)
        return folder

    async def run(self) -> LoopReport:
        """Work until there is a reason to end, and say which; a cancellation ends the sessions before it is raised.

        Returns normally when it was stopped, halted, or met a ceiling; raises only what no waiting can mend.
        """
        from workloop.interfaces.serving import make_endpoint
        from workloop.wiring.running import run_plan, sole

        plan = self.plan()
        with sole([plan.folder, *(aim.folder for aim in plan.aims)]):
            return await run_plan(plan, make_endpoint, signals=False)


def check_targets(targets: Sequence[Target]) -> None:
    """Refuse a loop over nothing, and two targets of one name."""
    if not targets:
        raise BadRequest("BAD_REQUEST", "targets: is empty", hint="name a project", field="targets")
    seen = set[str]()
    for target in targets:
        if target.name in seen:
            hint = "give each target a name of its own"
            raise BadRequest("BAD_REQUEST", f"two targets are named {target.name}", hint=hint, field="targets")
        seen.add(target.name)


def named(config: DriverConfig, harness: Harness | str) -> DriverConfig:
    """Return settings in which the given harness is the loop's own."""
    from dataclasses import replace

    return replace(config, harness=harness if isinstance(harness, str) else harness.name)
