"""What a loop is to be, before it runs: its settings, agents and targets, put together piece by piece."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anyio.abc import TaskStatus

from workloop.config import ActiveHours, DriverConfig, HarnessConfig, Place, Settings, TargetSettings
from workloop.config.harnesses import ACCOUNT, TIER_DEFAULT
from workloop.config.landing import LandingConfig
from workloop.config.lanes import LaneConfig
from workloop.domain.clock import seconds_us
from workloop.domain.gate import GateKey
from workloop.domain.grants import Actor
from workloop.domain.progress import BrakePolicy
from workloop.driver.endpoint import SessionEndpoint
from workloop.driver.gitshop import GitShop
from workloop.driver.project import Project, SessionKit, Tell
from workloop.driver.report import LoopOptions
from workloop.driver.scheduling.situation import Halt
from workloop.driver.target import Poller, Target
from workloop.driver.turn.site import Site
from workloop.runner.command import safe_environment
from workloop.runner.gitfacts import commit_identity
from workloop.runner.harness.port import Harness, McpEndpoint
from workloop.runner.quarters import Walls
from workloop.runner.repository import open_repository
from workloop.runner.sandbox.enclosure import Rooms
from workloop.runner.session import run_session
from workloop.runner.watch import SessionLimits
from workloop.service.call import Queue
from workloop.store.system import SystemClock, SystemIds
from workloop.wiring.doors import Doors
from workloop.wiring.harnesses import make_harnesses, session_environment
from workloop.wiring.landing import offsite_of, ways_of
from workloop.wiring.lanes import lanes_of
from workloop.wiring.sandbox import Building, building_of, loop_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """One target with what only the settings say of it; `folder` is its project's private folder."""

    target: Target
    folder: Path
    place: Place | None = None
    integration_branch: str = ""
    hours: ActiveHours | None = None
    sessions_max: int | None = None
    paused: str = ""
    lanes: Mapping[str, LaneConfig] = field(default_factory=dict[str, LaneConfig])
    landing: LandingConfig = field(default_factory=LandingConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A loop before it runs: settings, agents by name, targets, and who hears of it."""

    config: DriverConfig
    folder: Path
    harnesses: Mapping[str, Harness]
    aims: tuple[Aim, ...]
    options: LoopOptions
    tell: Tell
    operator: Actor
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    source: Path | None = None
    doors: Doors | None = None

    def building(self, aim: Aim) -> Building:
        """Choose the walls of one target."""
        return building_of(self.config.sandbox, self.hidden(aim), self.environment, self.doors)

    def hidden(self, aim: Aim) -> list[Path]:
        """Return what one target's walls hide; a session that claims for itself works in the project's own folder."""
        hidden = loop_secrets(self.config, self.folder, self.source, self.environment)
        for other in self.aims:
            hidden += [other.folder] if other.place is None else [other.folder, other.place.config]
            hidden += [] if other is aim and aim.target.queue is None else [other.target.work_dir]
        return hidden


def plan_of(settings: Settings, options: LoopOptions, queues: Sequence[Queue], tell: Tell, operator: Actor) -> Plan:
    """Plan a loop from settings; the queues are those of its targets, in order."""
    loop = settings.loop
    aims = [
        Aim(
            target=Target(
                target.name,
                poller_of(target, queue, tell),
                target.place.repository,
                target.config.mcp_config_path,
                target.config.mcp_config_paths,
                queue=queue,
                agents=target.config.agents,
            ),
            folder=target.place.folder,
            place=target.place,
            integration_branch=target.config.integration_branch or loop.integration_branch,
            hours=target.config.active_hours or loop.active_hours,
            sessions_max=target.config.sessions_max or loop.sessions_max_target,
            paused=target.config.paused,
            lanes=target.config.lanes,
            landing=target.config.landing,
        )
        for target, queue in zip(settings.targets, queues, strict=True)
    ]
    harnesses = make_harnesses(loop, settings.folder)
    return Plan(
        config=loop,
        folder=settings.folder,
        harnesses=harnesses,
        aims=tuple(aims),
        options=options,
        tell=tell,
        operator=operator,
        source=settings.source,
    )


def poller_of(target: TargetSettings, queue: Queue, tell: Tell) -> Poller | None:
    """Return what keeps a queue in step with the project's own tracker; None where there is none."""
    if target.config.tracker is None:
        return None
    from workloop.wiring.tracking import mirror_of

    def problem(said: str) -> None:
        """Say what stands in the way of the mirror."""
        tell("tracker", {"target": target.name, "error": said})

    return mirror_of(target.config.tracker, queue, problem)


def opening_gates(config: DriverConfig, own: tuple[str, ...] = ()) -> tuple[GateKey, ...]:
    """Return whose accounts the first session of an item may use, the preferred one first."""
    first = config.phases[0] if config.phases else None
    harness, tier = (first.harness, first.tier) if first is not None else ("", "")
    return tuple(dict.fromkeys(gate_of(config, harness or agent, tier) for agent in config.agent_names(own)))


def gate_of(config: DriverConfig, name: str, tier: str) -> GateKey:
    """Return the gate of one harness and tier."""
    block = config.harnesses.get(name)
    return GateKey(harness=name, account=block.account if block is not None else ACCOUNT, tier=tier or TIER_DEFAULT)


def site_of(plan: Plan, aim: Aim, endpoint: SessionEndpoint | None, tell: Tell) -> Site:
    """Put one target together with its project and its agents."""
    building = plan.building(aim)
    project = make_project(plan, aim, tell, building) if aim.target.queue is not None else None
    tools = endpoint if endpoint is not None else Unserved()
    crowd = aim.sessions_max if project is not None else min(aim.sessions_max or 1, 1)
    return Site(
        target=aim.target,
        kits=opening_kits(plan, aim, tools, building.sessions),
        project=project,
        hours=aim.hours,
        sessions_max=crowd,
        paused=halt_of(aim.paused),
    )


def opening_kits(plan: Plan, aim: Aim, endpoint: SessionEndpoint, walls: Walls) -> dict[GateKey, SessionKit]:
    """Return what an item's first session may be started with, the preferred agent first; each knows of the others."""
    first = plan.config.phases[0] if plan.config.phases else None
    harness, tier = (first.harness, first.tier) if first is not None else ("", "")
    found: dict[GateKey, SessionKit] = {}
    for agent in plan.config.agent_names(aim.target.agents):
        kit = Kits(plan, aim, endpoint, agent, walls).kit(harness, tier)
        found.setdefault(kit.gate, kit)
    return {key: replace(kit, others=tuple(other for other in found if other != key)) for key, kit in found.items()}


def halt_of(reason: str) -> Halt | None:
    """Return the pause that settings ask for."""
    return Halt(reason=reason) if reason else None


def make_project(plan: Plan, aim: Aim, tell: Tell, building: Building) -> Project:
    """Put together what the loop works with in one project; raises a Refusal when its repository cannot be used."""
    assert aim.target.queue is not None
    opened = open_repository(aim.target.work_dir, aim.folder / "git", aim.integration_branch or None)
    repository = replace(opened, outputs=plan.config.disk.outputs)
    several = len(plan.aims) > 1

    def named(kind: str, facts: Mapping[str, Any]) -> None:
        """Say which target something is about, where there are several."""
        tell(kind, {"target": aim.target.name, **facts} if several else facts)

    made = Project(
        queue=aim.target.queue,
        workshop=GitShop(
            repository,
            disk=plan.config.disk,
            offsite=offsite_of(repository, aim.landing, plan.environment),
            ways=ways_of(repository, aim.target.queue, aim.landing, plan.environment),
        ),
        folder=aim.folder,
        clock=SystemClock(),
        ids=SystemIds(),
        tell=named,
        principal=f"loop:{plan.config.harness}",
        check_environment=dict(plan.environment),
        brake=BrakePolicy(waits_us=tuple(seconds_us(wait) for wait in plan.config.fruitless_waits)),
        walls=building.sessions,
        check_walls=building.checks,
        check_overlay=plan.config.checks_overlay,
        landing=aim.landing,
    )
    return replace(made, lanes=lanes_of(made, aim.lanes, plan.environment, plan.doors))


@dataclass(frozen=True, slots=True)
class Kits:
    """The agents of one target for items that one of them began, each made when it is asked for."""

    plan: Plan
    aim: Aim
    endpoint: SessionEndpoint
    own: str
    walls: Walls

    def kit(self, harness: str, tier: str) -> SessionKit:
        """Return what sessions of one harness and tier are started with; an empty name is the one that began."""
        config, aim = self.plan.config, self.aim
        name = harness or self.own
        block = config.harnesses.get(name)
        visible = visible_to(config, name, self.plan.environment)
        return SessionKit(
            harness=self.plan.harnesses[name],
            run=run_session,
            endpoint=self.endpoint,
            gate=gate_of(config, name, tier),
            crew=self.kit,
            mcp_config=aim.target.mcp_config_for(name) or (block.mcp_config if block is not None else None),
            phases=config.phases,
            limits=SessionLimits(
                wall_seconds=config.bounds.wall_seconds,
                quiet_seconds=config.bounds.silent_seconds,
                progress_seconds=config.bounds.idle_seconds,
            ),
            environment={**commit_identity(aim.target.work_dir), **visible},
            model=block.model_for(tier) if block is not None else None,
            turns_max=block.turns_max if block is not None else None,
            cost_micros_max=block.cost_micros_max if block is not None else None,
            walls=self.walls if block is None else opened(self.walls, block),
        )


def opened(walls: Walls, block: HarnessConfig) -> Walls:
    """Return walls in which what the settings name for one harness stands open."""
    return replace(walls, rooms=walls.rooms | Rooms(readable=block.readable, writable=block.writable))


def visible_to(config: DriverConfig, name: str, source: Mapping[str, str]) -> dict[str, str]:
    """Return what a harness's sessions see of the environment; of one that no settings describe, the usual few."""
    if name in config.harnesses:
        return session_environment(config, name, source)
    return {**safe_environment(source), **{word: source[word] for word in config.environment if word in source}}


class Unserved:
    """The endpoint of a loop without a queue of ours: its sessions bring their own way to their backlog."""

    async def serve(self, *, task_status: TaskStatus[str]) -> None:
        """Serve nothing."""
        task_status.started("")

    def admit(self, actor: object, queue: object = None, *, over_mcp: bool = True) -> McpEndpoint:
        """Give out no token."""
        raise AssertionError("no session of this loop has a queue of ours")

    def dismiss(self, endpoint: object) -> None:
        """Take back nothing."""
