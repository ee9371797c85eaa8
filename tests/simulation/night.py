"""One night: two hosts with a loop each on one store, people, faults, and in the end a calm in which all ends."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from auditor import Auditor
from books import Books, CountedLoop, SimJournal, check_journal
from ceilings import check_booked, check_ceilings
from checkers import Backlog, fail
from faults import Faults
from hosting import Hosting
from scenario import Scenario, campaign, scenario, tracker
from simworkshop import Origin
from stage import Record, Stage
from workload import Workload
from world import Host, HostDead, Life, World

from workloop.config.budgets import Budgets
from workloop.domain.clock import SECOND_US
from workloop.driver.control import Control
from workloop.service.call import Queue
from workloop.service.campaigns import create_campaign
from workloop.testing.clocks import SeededIds

FAULTY_SECONDS = 4 * 3600.0
CALM_SECONDS = 6 * 3600.0
LOOK_SECONDS = 600.0
PARALLEL = 2
FOREIGN = "tracker"


@dataclass
class Night:
    """Everything of one seed."""

    seed: int
    folder: Path
    budgets: Budgets = field(default_factory=Budgets)
    kind: Scenario = field(init=False)
    world: World = field(init=False)
    stage: Stage = field(init=False)
    backlogs: dict[str, Backlog] = field(default_factory=dict[str, Backlog])
    hosts: dict[str, Host] = field(default_factory=dict[str, Host])
    books: dict[str, Books] = field(default_factory=dict[str, Books])
    lives: dict[str, Life] = field(default_factory=dict[str, Life])
    running: dict[str, Control] = field(default_factory=dict[str, Control])

    async def run(self) -> None:
        """Play the night and check it."""
        self.set_up()
        async with anyio.create_task_group() as group:
            for host in self.hosts.values():
                self.start(group, host)
            group.start_soon(self.look_now_and_then)
            group.start_soon(Faults(self, group).befall, FAULTY_SECONDS)
            async with anyio.create_task_group() as people:
                for backlog in self.backlogs.values():
                    people.start_soon(backlog.people.live, FAULTY_SECONDS)
            await anyio.sleep_until(FAULTY_SECONDS + LOOK_SECONDS)
            await self.calm(group)
            group.cancel_scope.cancel()
        self.settled()

    def set_up(self) -> None:
        """Make the world of this seed."""
        self.kind = scenario(self.seed)
        self.world = world = World(self.seed, self.folder)
        world.note(f"-- {self.kind}")
        self.stage = Stage(world)
        for name in ("east", "west"):
            self.hosts[name] = Host(world, name, skew_us=self.skew(), journal=SimJournal())
            self.books[name] = Books(name)
        for slug in self.kind.slugs:
            create_campaign(world.store, slug, campaign(self.kind.landing))
            self.backlogs[slug] = self.backlog(slug, Origin(world))
        if self.kind.foreign:
            create_campaign(world.store, FOREIGN, tracker())
            self.backlogs[FOREIGN] = self.backlog(FOREIGN, None)
        if world.chance.random() < 0.3:
            part = world.chance.choice(["braggart", "blip", "handoff", "transient"])
            self.stage.stubborn = {f"item-{number}": part for number in (0, 3)}
        self.auditor = Auditor(world, self.stage, self.backlogs, self.lives, PARALLEL, self.kind.hours)
        self.stage.begun, self.stage.over = self.auditor.begun, self.auditor.over

    def backlog(self, slug: str, origin: Origin | None) -> Backlog:
        """Make a campaign's people and checkers."""
        queue = Queue(store=self.world.store, ids=SeededIds(self.seed + len(self.backlogs) + 1), slug=slug)
        people = Workload(self.world, self.stage, queue, checks=origin is not None)
        made = Backlog(self.world, self.stage, slug, queue, people, origin, self.kind.releaser, self.hosts)
        made.trees = {name: {} for name in self.hosts}
        return made

    def skew(self) -> int:
        """Draw how wrong a clock is."""
        most = self.kind.skew_seconds
        return round(self.world.chance.uniform(-most, most) * SECOND_US)

    def settled(self) -> None:
        """Check what must be true when everything is over."""
        broken = [f"sessions are left: {self.stage.live}"] if self.stage.live else []
        for backlog in self.backlogs.values():
            broken += backlog.settled() + backlog.told_nothing() + backlog.expired_for_nothing()
        broken += self.auditor.settled()
        for name, host in self.hosts.items():
            assert isinstance(host.journal, SimJournal)
            broken += self.books[name].check()
            broken += check_journal(name, host.journal, self.stage, self.kind.bystanders)
            broken += check_booked(name, host.journal, self.stage)
            if self.lives[name].slots.holders():
                broken.append(f"{name} kept places for sessions: {self.lives[name].slots.holders()}")
        if broken:
            fail(self.world, "; ".join(broken))

    async def calm(self, group: TaskGroup) -> None:
        """End the faults, let the loops finish, and drain them."""
        self.world.note("-- calm")
        self.budgets = Budgets()
        self.stage.quiet = True
        for host in self.hosts.values():
            host.cut_off_until = host.unwritable_until = 0.0
            host.lost_answers = 0
            if host.name not in self.running:
                self.start(group, host)
        end = anyio.current_time() + CALM_SECONDS
        while anyio.current_time() < end:
            self.mend_everything()
            await anyio.sleep(3600.0)
            for host in self.hosts.values():
                if host.name not in self.running:
                    self.start(group, host)
        for name in list(self.running):
            self.drain(name)
        while self.running:
            await anyio.sleep(LOOK_SECONDS)

    def mend_everything(self) -> None:
        """Let people do all that only people can."""
        for account in self.stage.accounts.values():
            account.limited_until = account.locked_until = account.flaps_until = None
        for backlog in self.backlogs.values():
            backlog.people.mend_everything()
        self.auditor.opened_at = anyio.current_time()
        for control in self.running.values():
            control.opened("")

    def start(self, group: TaskGroup, host: Host) -> None:
        """Start a loop on a host."""
        host.lives += 1
        life = self.lives[host.name] = Life(host, host.lives)
        self.world.note(f"{host.name} starts life {life.number}")
        control = self.running[host.name] = Control()
        group.start_soon(self.live, life, control)

    async def live(self, life: Life, control: Control) -> None:
        """Run one loop until it ends or dies."""
        try:
            parts = Hosting(self, life).parts()
            report = await CountedLoop(parts, control, self.books[life.name], self.world).run()
            self.world.note(f"{life.name} ended: {report.reason} {report.detail}")
        except BaseExceptionGroup as several:
            died, rest = several.split(HostDead)
            if rest is not None or died is None:
                raise
        except HostDead:
            pass
        finally:
            if self.running.get(life.name) is control:
                del self.running[life.name]

    def drain(self, name: str) -> None:
        """Stop a loop politely."""
        self.lives[name].draining_since = anyio.current_time()
        self.running[name].drain()

    def tell(self, life: Life, kind: str, facts: object) -> None:
        """Hear what a loop says."""
        life.require()
        self.books[life.name].tell(kind)
        if kind == "reopened" and isinstance(facts, dict):
            self.auditor.reopened(life.name, str(facts["gate"]))
        if kind not in ("agent", "session", "ended", "claimed"):
            self.world.note(f"{life.name} {kind} {facts}")

    async def look_now_and_then(self) -> None:
        """Check every promise all the time."""
        while True:
            await anyio.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Check every promise once."""
        broken = self.auditor.look()
        for name, host in self.hosts.items():
            assert isinstance(host.journal, SimJournal)
            broken += check_ceilings(name, host.journal, self.stage, self.budgets)
        for backlog in self.backlogs.values():
            broken += backlog.look()
        if broken:
            fail(self.world, "; ".join(broken))

    @property
    def records(self) -> list[Record]:
        """Return every session of the night."""
        return list(self.stage.records.values())
