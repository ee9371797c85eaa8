"""One night: two hosts with a loop each on one store, people, faults, and in the end a calm in which all ends."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from checkers import SLUG, Checkers
from simagent import SimEndpoint, SimHarness, SimRunner, Stage
from simworkshop import Origin, SimWorkshop, Tree
from workload import Workload
from world import Host, HostDead, Life, LifeStore, World, changed_in_virtual_time

from workloop.config import PhaseConfig
from workloop.domain.campaign import CampaignSettings, Landing
from workloop.domain.clock import SECOND_US
from workloop.domain.contract import Contract
from workloop.domain.gate import GateKey
from workloop.domain.item import Verification
from workloop.domain.suspension import Reading
from workloop.driver.control import Control
from workloop.driver.project import Project, SessionKit
from workloop.driver.report import LoopOptions
from workloop.driver.target import Target
from workloop.driver.turn.desk import LoopParts
from workloop.driver.turn.loop import Loop
from workloop.driver.turn.site import Site
from workloop.runner.watch import SessionLimits
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.testing.clocks import SeededIds

FAULTY_SECONDS = 4 * 3600.0
CALM_SECONDS = 8 * 3600.0
LOOK_SECONDS = 600.0
LANDINGS = (Landing.NONE, Landing.LOCAL_MERGE)
PHASES = (PhaseConfig(name="implement"), PhaseConfig(name="review"))


def settings(landing: Landing) -> CampaignSettings:
    """Return a campaign in which everything is verified by host and session."""
    return CampaignSettings(
        landing=landing,
        boundaries={"spend-money": "May this cost money?"},
        defaults=Contract(title="", objective="", verification=Verification.BOTH, boundaries=("spend-money",)),
    )


@dataclass
class Night:
    """Everything of one seed."""

    seed: int
    folder: Path
    world: World = field(init=False)
    told: list[str] = field(default_factory=list[str])

    async def run(self) -> None:
        """Play the night and check it."""
        self.world = world = World(self.seed, self.folder)
        chance = world.chance
        create_campaign(world.store, SLUG, settings(chance.choice(LANDINGS)))
        self.phases = PHASES if chance.random() < 0.3 else ()
        self.origin = Origin(world)
        self.stage = Stage(world, self.origin)
        queue = Queue(store=world.store, ids=SeededIds(self.seed + 1), slug=SLUG)
        self.people = Workload(world, self.stage, queue)
        self.checkers = Checkers(world, self.stage, queue)
        self.hosts = [
            Host(world, name, skew_us=round(chance.uniform(-300, 300) * SECOND_US)) for name in ("east", "west")
        ]
        self.trees: dict[str, dict[Path, Tree]] = {host.name: {} for host in self.hosts}
        self.lives: dict[str, Life] = {}
        self.controls: dict[str, Control] = {}
        async with anyio.create_task_group() as group:
            for host in self.hosts:
                self.start(group, host)
            group.start_soon(self.look_now_and_then)
            group.start_soon(self.befall, group)
            await self.people.live(FAULTY_SECONDS)
            await anyio.sleep_until(FAULTY_SECONDS + LOOK_SECONDS)
            await self.calm(group)
            group.cancel_scope.cancel()
        self.checkers.settled()

    def skew(self) -> int:
        """Draw how wrong a clock is."""
        return round(self.world.chance.uniform(-300, 300) * SECOND_US)

    async def calm(self, group: TaskGroup) -> None:
        """End the faults, let the loops finish, and drain them."""
        self.world.note("-- calm")
        for host in self.hosts:
            host.cut_off_until = 0.0
            if host.name not in self.lives:
                self.start(group, host)
        end = anyio.current_time() + CALM_SECONDS
        while anyio.current_time() < end:
            self.people.mend_everything()
            for control in self.controls.values():
                control.opened("")
            await anyio.sleep(3600.0)
        for control in self.controls.values():
            control.drain()
        while self.lives:
            await anyio.sleep(LOOK_SECONDS)

    def start(self, group: TaskGroup, host: Host) -> None:
        """Start a loop on a host."""
        host.lives += 1
        life = self.lives[host.name] = Life(host, host.lives)
        self.world.note(f"{host.name} starts life {life.number}")
        group.start_soon(self.live, life)

    async def live(self, life: Life) -> None:
        """Run one loop until it ends or dies."""
        control = self.controls[life.name] = Control()
        try:
            report = await Loop(self.parts(life), control).run()
            self.world.note(f"{life.name} ended: {report.reason} {report.detail}")
        except BaseExceptionGroup as several:
            died, rest = several.split(HostDead)
            if rest is not None or died is None:
                raise
        except HostDead:
            pass
        finally:
            if self.lives.get(life.name) is life:
                del self.lives[life.name]

    def ids(self, life: Life, use: int) -> SeededIds:
        """Return a source of ids that nobody else draws from."""
        place = [host.name for host in self.hosts].index(life.name)
        return SeededIds(((self.seed * 10 + place) * 1000 + life.number) * 10 + use + 100)

    def parts(self, life: Life) -> LoopParts:
        """Put a loop together from the simulated ports."""
        queue = Queue(store=LifeStore(life), ids=self.ids(life, 0), slug=SLUG)
        endpoint = SimEndpoint(life)
        shop = SimWorkshop(life, self.origin, self.trees[life.name])
        runner = SimRunner(life, self.stage, shop, endpoint)

        def tell(kind: str, facts: object) -> None:
            life.require()
            if kind not in ("agent", "session", "ended", "claimed"):
                self.world.note(f"{life.name} {kind} {facts}")

        project = Project(
            queue=queue,
            workshop=shop,
            folder=self.folder / life.name,
            clock=life,
            ids=self.ids(life, 1),
            tell=tell,
            principal="loop",
        )
        kits: dict[GateKey, SessionKit] = {}
        for name in ("one", "two"):
            gate = GateKey(harness=name, account="default", tier="")
            kits[gate] = SessionKit(
                harness=SimHarness(name),
                run=runner,
                endpoint=endpoint,
                gate=gate,
                phases=self.phases,
                limits=SessionLimits(),
            )
        target = Target("main", None, self.folder, queue=queue)
        return LoopParts(
            sites=(Site(target=target, kits=kits, project=project),),
            folder=self.folder / life.name,
            journal=life.host.journal,
            clock=life,
            ids=self.ids(life, 2),
            tell=tell,
            end_session=lambda folder: (),
            options=LoopOptions(parallel=2, idle_poll_seconds=900.0),
            changes=changed_in_virtual_time,
            clocks=lambda: Reading(life.now(), round(anyio.current_time() * SECOND_US)),
            host=life.name,
        )

    async def look_now_and_then(self) -> None:
        """Check every promise all the time."""
        while True:
            await anyio.sleep(LOOK_SECONDS)
            self.checkers.look()

    async def befall(self, group: TaskGroup) -> None:
        """Let hosts die, sleep, lose their way, and accounts be locked."""
        chance = self.world.chance
        while True:
            await anyio.sleep(chance.uniform(300, 2400))
            if anyio.current_time() > FAULTY_SECONDS:
                return
            host = chance.choice(self.hosts)
            match chance.choice(["kill", "kill", "sleep", "cut", "skew", "lock", "drain"]):
                case "kill":
                    await self.kill(group, host)
                case "sleep":
                    seconds = chance.uniform(60, 9000)
                    self.world.note(f"-- the machines sleep for {seconds:.0f} s")
                    self.world.sleep_machine(seconds)
                case "cut":
                    host.cut_off_until = anyio.current_time() + chance.uniform(5, 600)
                    self.world.note(f"-- {host.name} is cut off until {host.cut_off_until:.0f}")
                case "skew":
                    host.skew_us = self.skew()
                case "lock":
                    self.people.lock_an_account()
                case _:
                    await self.drain(group, host)

    async def kill(self, group: TaskGroup, host: Host) -> None:
        """Kill a host's loop without a word, and start it again some time later."""
        life = self.lives.pop(host.name, None)
        if life is None:
            return
        self.world.note(f"-- {host.name} is killed")
        life.dead = True
        for session_id in [one for one, live in self.stage.live.items() if live.host == host.name]:
            del self.stage.live[session_id]
        await anyio.sleep(self.world.chance.uniform(1, 1800))
        self.start(group, host)

    async def drain(self, group: TaskGroup, host: Host) -> None:
        """Stop a loop politely and start it again."""
        life = self.lives.get(host.name)
        if life is None:
            return
        self.world.note(f"-- {host.name} is drained")
        self.controls[host.name].drain()
        while host.name in self.lives:
            await anyio.sleep(30)
        self.start(group, host)
