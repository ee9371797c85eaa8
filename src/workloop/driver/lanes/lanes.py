"""The lanes that one loop keeps in one project: made ready for a grant, cleaned after it, and nothing else touched."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workloop.config.lanes import CHECKOUT, CHECKOUT_SHA, GRANT, LaneConfig, filled
from workloop.domain.clock import SECOND_US, Clock
from workloop.domain.errors import Conflict, Fault, Refusal
from workloop.domain.grants import Actor
from workloop.domain.ids import Fence, ItemId
from workloop.domain.lane import HOST_MARK, Lane, LaneGrant, LaneKeeper, LaneState, left_over, own_doing
from workloop.driver.lanes.note import Note, read_note, write_note
from workloop.driver.lanes.port import LaneHost, Service
from workloop.driver.lanes.trouble import Trouble
from workloop.service.call import Queue, require_campaign
from workloop.service.perform import perform

Tell = Callable[[str, Mapping[str, Any]], None]
SHOWN_MAX = 20
LOOK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """Whose claim a lane was given to, and the checkout that it is to serve."""

    item_id: ItemId
    fence: Fence
    key: str
    token: str = field(repr=False)
    path: Path
    sha: str


@dataclass(slots=True, kw_only=True)
class Lanes:
    """What is known of the lanes while the loop runs; every call but the properties blocks.

    `stays` are the lanes that are made use of or cleaned now, with what runs along with their grants. `dirty` are the
    lanes that were found dirty at the last look and are this loop's to clean. A lane's `troubles` end when it comes
    clean, and its trouble in `unready` when it was made ready, for the one says nothing about the other.
    """

    queue: Queue
    host: Actor
    machine: LaneHost
    configs: Mapping[str, LaneConfig]
    place: str
    clock: Clock
    tell: Tell
    stays: dict[str, Service | None] = field(default_factory=dict[str, Service | None])
    dirty: list[str] = field(default_factory=list[str])
    troubles: dict[str, Trouble] = field(default_factory=dict[str, Trouble])
    unready: dict[str, Trouble] = field(default_factory=dict[str, Trouble])
    unknown: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.troubles = {name: Trouble(tries=lane.tries) for name, lane in self.configs.items()}
        self.unready = {name: Trouble(tries=lane.tries) for name, lane in self.configs.items()}

    @property
    def mark(self) -> str:
        """Return what this loop records in every grant, and acknowledges last."""
        return HOST_MARK + self.place

    @property
    def keeper(self) -> LaneKeeper:
        """Return what a claim is told of the lanes."""
        now = self.clock.now()
        shut = [name for name in self.configs if self.troubles[name].spent or not self.unready[name].due(now)]
        return LaneKeeper(mark=self.mark, names=frozenset(self.configs), shut=frozenset(shut))

    def due(self) -> list[str]:
        """Return the lanes that are to be cleaned now."""
        now = self.clock.now()
        return [name for name in self.dirty if name not in self.stays and self.troubles[name].due(now)]

    def due_in(self) -> float:
        """Return in how many seconds the first dirty lane that may be tried again is due."""
        now = self.clock.now()
        open_ = [self.troubles[name] for name in self.dirty if not self.troubles[name].spent]
        return min(((trouble.again_at or now) - now) / SECOND_US for trouble in open_) if open_ else LOOK_SECONDS

    @property
    def busy(self) -> bool:
        """Tell whether a lane may still come free by this loop's own doing."""
        return any(not self.troubles[name].spent for name in self.dirty)

    def collect(self) -> None:
        """Look which lanes wait for this loop to clean them."""
        with self.queue.store.read() as tx:
            campaign = require_campaign(tx, self.queue.slug)
            lanes = [lane for lane in tx.lanes(campaign.id) if lane.name in self.configs]
            grants = [tx.grant_get(campaign.id, lane.name, lane.grant) for lane in lanes]
        self.dirty = [lane.name for lane, grant in zip(lanes, grants, strict=True) if self.is_ours(lane, grant)]
        strange = self.configs.keys() - {lane.name for lane in lanes} - self.unknown
        for name in sorted(strange):
            self.tell("lane", {"lane": name, "error": "it is not in campaign.lanes, so no contract can ask for it"})
        self.unknown |= strange

    def is_ours(self, lane: Lane, grant: LaneGrant | None) -> bool:
        """Tell whether a lane is dirty, and not another machine's loop's to clean."""
        if lane.state is not LaneState.DIRTY or grant is None:
            return False
        marks = [one for one in left_over(grant) if one.startswith(HOST_MARK)]
        return not marks or self.mark in marks

    def enter(self, name: str, guest: Guest, stopped: Callable[[], bool]) -> Mapping[str, str]:
        """Make a lane ready for the claim that holds it; returns what its sessions see of it.

        Raises Conflict when the claim does not hold it, and Fault when it cannot be made ready.
        """
        lane = self.configs[name]
        grant = self.granted(name, guest)
        self.stays[name] = None
        variables = self.variables(lane, grant, str(guest.path), guest.sha)
        self.sweep_processes(lane)
        self.step(lane, "prepare", lane.prepare, variables, {"lane": name, "grant": grant})
        foreign = self.machine.listed(lane, variables)
        note = Note(grant=grant, key=guest.key, checkout=str(guest.path), sha=guest.sha, foreign=foreign)
        write_note(self.machine.place(lane), note)
        checkout = {"checkout_root": str(guest.path), "checkout_sha": guest.sha}
        perform(self.queue, self.host, "lane_record", {"token": guest.token, "lane": name, "resources": [], **checkout})
        if stopped():
            raise Fault("LANE_STOPPED", f"lane {name} was not made ready: its claim is to end", hint="try again")
        service = self.machine.start(lane, variables, guest.path) if lane.start else None
        self.stays[name] = service
        end = self.machine.healthy(lane, variables, service, stopped)
        if end.problem:
            raise unready(lane, "health" if lane.health else "start", end.problem, end.tail)
        self.unready[name].over()
        self.tell("lane", {"lane": name, "key": guest.key, "grant": grant, "state": "ready"})
        return variables

    def granted(self, name: str, guest: Guest) -> int:
        """Return the number of the grant by which a claim holds a lane."""
        with self.queue.store.read() as tx:
            for lane in tx.lanes_held(guest.item_id):
                if lane.name == name and lane.fence == guest.fence:
                    return lane.grant
        raise Conflict("LANE_NOT_HELD", f"{guest.key} does not hold lane {name}", hint="try again", retryable=True)

    def variables(self, lane: LaneConfig, grant: int, checkout: str, sha: str) -> dict[str, str]:
        """Return everything that a lane's commands see of one grant."""
        own = self.machine.variables(lane) | {GRANT: str(grant), CHECKOUT: checkout, CHECKOUT_SHA: sha}
        return own | {name: filled(text, own) for name, text in lane.environment.items()}

    def step(
        self, lane: LaneConfig, name: str, argv: tuple[str, ...], variables: Mapping[str, str], paper: object
    ) -> None:
        """Run one of a lane's commands; raises Fault when it does not end well."""
        end = self.machine.run(lane, name, argv, variables, paper)
        if end.problem:
            raise unready(lane, name, end.problem, end.tail)

    def sweep_processes(self, lane: LaneConfig) -> None:
        """Kill what an earlier grant left running; raises Fault when some of it would not die."""
        alive = self.machine.end_left(lane)
        if alive:
            raise Fault("LANE_ALIVE", f"processes {list(alive)} of lane {lane.name} survive", hint="end them by hand")

    def leave(self, name: str) -> None:
        """End what runs along with a grant, and clean the lane when its claim has ended.

        Where the claim still stands, the lane is dirty as soon as it ends, and is found then.
        """
        service = self.stays.get(name)
        try:
            if service is not None:
                problem = service.end()
                if problem:
                    self.tell("lane", {"lane": name, "error": f"what it started: {problem}"})
            self.clean(name)
        finally:
            self.stays.pop(name, None)

    def clean(self, name: str) -> None:
        """Close what the last grant recorded, and free the lane; a failure is counted and told."""
        try:
            self.clean_now(self.configs[name])
        except (Fault, Refusal, OSError) as failed:
            self.failed(self.troubles, name, failed)
            return
        self.troubles[name].over()
        self.dirty = [other for other in self.dirty if other != name]

    def failed(self, of: Mapping[str, Trouble], name: str, failure: Exception) -> None:
        """Count a failure of a lane among its `troubles` or those of making it ready, and tell it."""
        trouble, why = of[name], str(failure)
        trouble.failed(why, evidence_of(failure), self.clock.now())
        self.tell("lane", {"lane": name, "error": why, "failures": trouble.failures})

    def clean_now(self, lane: LaneConfig) -> None:
        """Clean a dirty lane; raises when it cannot be done, with what is closed already acknowledged."""
        with self.queue.store.read() as tx:
            campaign = require_campaign(tx, self.queue.slug)
            row = tx.lane_get(campaign.id, lane.name)
            grant = tx.grant_get(campaign.id, lane.name, row.grant) if row is not None else None
        if row is None or grant is None or not self.is_ours(row, grant):
            return
        self.sweep_processes(lane)
        note = read_note(self.machine.place(lane), row.grant)
        left = own_doing(left_over(grant))
        if note is not None or left:
            checkout = (note.checkout, note.sha) if note is not None else (grant.checkout_root, grant.checkout_sha)
            variables = self.variables(lane, row.grant, *checkout)
            closed = self.close(lane, variables, left, note)
            self.step(lane, "stop", lane.stop, variables, {"lane": lane.name, "grant": row.grant})
            self.tell("lane", {"lane": lane.name, "grant": row.grant, "closed": closed[:SHOWN_MAX], "state": "clean"})
        self.acknowledge(lane.name, [*left, *(one for one in left_over(grant) if one.startswith(HOST_MARK))])

    def close(
        self, lane: LaneConfig, variables: Mapping[str, str], left: Sequence[str], note: Note | None
    ) -> list[str]:
        """Close what a grant recorded and what is still there of it; returns that. What was there before is let be."""
        foreign = frozenset(note.foreign) if note is not None else frozenset[str]()
        now = self.machine.listed(lane, variables)
        wanted = [one for one in left if one not in foreign and (one in now or not lane.listing)]
        appeared = [one for one in now if one not in foreign and one not in left] if note is not None else []
        if lane.adopt:
            wanted += appeared
        elif appeared:
            said = "appeared during the grant, was recorded by nobody and is left alone"
            self.tell("lane", {"lane": lane.name, "left": appeared[:SHOWN_MAX], "detail": said})
        if not wanted or not (lane.clean or lane.listing):
            return []
        if not lane.clean:
            raise unready(lane, "clean", f"nothing closes {', '.join(wanted[:SHOWN_MAX])}", "")
        paper = {"lane": lane.name, "grant": int(variables[GRANT]), "resources": wanted, "foreign": sorted(foreign)}
        end = self.machine.run(lane, "clean", lane.clean, variables, paper)
        still = frozenset(self.machine.listed(lane, variables)) if lane.listing else frozenset[str]()
        open_still = [one for one in wanted if one in still]
        if end.problem or open_still:
            self.acknowledge(lane.name, [one for one in left if one not in open_still] if lane.listing else [])
            problem = end.problem or f"{', '.join(open_still[:SHOWN_MAX])} is still there"
            raise unready(lane, "clean", problem, end.tail)
        return wanted

    def acknowledge(self, name: str, resources: Sequence[str]) -> None:
        """Tell the queue that these are closed; somebody who did so before is not contradicted."""
        if not resources:
            return
        try:
            perform(self.queue, self.host, "lane_clean", {"lane": name, "resources": list(resources)})
        except Conflict as refused:
            if refused.code != "LANE_NOT_DIRTY":
                raise

    def halt(self) -> None:
        """End at once what is being run: somebody insists on the end. The next loop cleans."""
        self.machine.halt()


def unready(lane: LaneConfig, step: str, problem: str, tail: str) -> Fault:
    """Return the fault of one of a lane's commands; what it printed is kept as evidence."""
    hint = f"see lane.{lane.name}.{step} in the settings"
    return Fault("LANE_FAILED", f"lane {lane.name}: {step}: {problem}", hint=hint, evidence=tail)


def evidence_of(failed: Exception) -> str:
    """Return what a failed command printed."""
    return str(failed.details.get("evidence") or "") if isinstance(failed, Fault) else ""
