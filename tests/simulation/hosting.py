"""How a loop is put together on one host from the simulated ports."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from ceilings import retold
from checkers import Backlog
from scenario import ONE, TWO
from simclaimer import SimPoller, SimReleaser
from simharness import SimEndpoint, SimHarness
from simrunner import Place, SimRunner
from simworkshop import SimWorkshop
from world import Life, LifeStore, changed_in_virtual_time

from workloop.domain.clock import SECOND_US
from workloop.domain.gate import GateKey
from workloop.domain.suspension import Reading
from workloop.driver.project import Project, SessionKit
from workloop.driver.report import LoopOptions
from workloop.driver.target import Target
from workloop.driver.turn.desk import LoopParts
from workloop.driver.turn.site import Site
from workloop.runner.watch import SessionLimits
from workloop.service.call import Queue
from workloop.testing.clocks import SeededIds

if TYPE_CHECKING:
    from night import Night

IDLE_SECONDS = 900.0
PARALLEL = 2


@dataclass
class Hosting:
    """One life of a loop."""

    night: "Night"
    life: Life

    def ids(self, use: int) -> SeededIds:
        """Return a source of ids that nobody else draws from."""
        place = list(self.night.hosts).index(self.life.name)
        return SeededIds(((self.night.seed * 10 + place) * 1000 + self.life.number) * 100 + use)

    def parts(self) -> LoopParts:
        """Put a loop together."""
        life, kind = self.life, self.night.kind
        endpoint = SimEndpoint(life)
        return LoopParts(
            sites=tuple(self.site(backlog, endpoint) for backlog in self.night.backlogs.values()),
            folder=self.night.folder / life.name,
            journal=life.host.journal,
            clock=life,
            ids=self.ids(2),
            tell=lambda kind, facts: self.night.tell(life, kind, facts),
            end_session=lambda folder: (),
            options=LoopOptions(parallel=PARALLEL, idle_poll_seconds=IDLE_SECONDS, sessions_host=kind.sessions_host),
            policy=kind.policy,
            slots=life.slots,
            changes=changed_in_virtual_time,
            clocks=lambda: Reading(life.now(), round(anyio.current_time() * SECOND_US)),
            host=life.name,
            budgets=self.night.budgets,
            reread=lambda row: retold(self.night.stage, row),
        )

    def site(self, backlog: Backlog, endpoint: SimEndpoint) -> Site:
        """Put one target together, by a queue of ours or as somebody else's backlog."""
        life, night, slug = self.life, self.night, backlog.slug
        use = 10 * (1 + list(night.backlogs).index(slug))
        queue = Queue(store=LifeStore(life), ids=self.ids(use + 1), slug=slug)
        folder = night.folder / f"{life.name}-{slug}"
        if backlog.origin is None:
            place = Place(life, night.stage, slug, endpoint, foreign=queue)
            releaser = SimReleaser(queue) if backlog.releaser else None
            target = Target(slug, SimPoller(queue), folder, releaser=releaser)
            return Site(target=target, kits=self.kits(place), hours=night.kind.hours, sessions_max=2)
        shop = SimWorkshop(life, backlog.origin, backlog.trees[life.name])
        project = Project(
            queue=queue,
            workshop=shop,
            folder=folder,
            clock=life,
            ids=self.ids(use),
            tell=lambda kind, facts: night.tell(life, kind, facts),
            principal="loop",
        )
        kits = self.kits(Place(life, night.stage, slug, endpoint, shop))
        target = Target(slug, None, folder, queue=queue)
        return Site(target=target, kits=kits, project=project, hours=night.kind.hours)

    def kits(self, place: Place) -> dict[GateKey, SessionKit]:
        """Return the agents that may open an item, the preferred one first; each knows all others for later phases."""
        return {gate: self.kit(place, gate, gate) for gate in (ONE, TWO)}

    def kit(self, place: Place, own: GateKey, gate: GateKey) -> SessionKit:
        """Return one agent; a phase that names none is played by the agent that opened the item."""

        def crew(harness: str, tier: str) -> SessionKit:
            return self.kit(place, own, GateKey(harness=harness or own.harness, account=own.account, tier=tier))

        return SessionKit(
            harness=SimHarness(gate.harness, resumes=gate.harness == ONE.harness or self.night.kind.two_resumes),
            run=SimRunner(place, gate),
            endpoint=place.endpoint,
            gate=gate,
            crew=crew,
            phases=self.night.kind.phases,
            limits=SessionLimits(),
        )
