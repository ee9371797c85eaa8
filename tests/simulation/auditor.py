"""What must hold whenever a session begins or ends, as somebody sees it who knows all hosts and trusts none."""

from collections import Counter
from dataclasses import dataclass, field

import anyio
from checkers import Backlog
from stage import Record, Stage
from world import Host, Life, World

from workloop.config import ActiveHours
from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.gate import GateKey
from workloop.domain.ids import Fence
from workloop.domain.session import SessionClass
from workloop.service.insights import poll

GUESS_SECONDS = 2400.0
"""A limit without a stated end is expected to last an hour; the clock may be moved by ten minutes meanwhile."""
RESET_PAST_US = 600 * SECOND_US
STOPPING = frozenset({SessionClass.AUTH, SessionClass.BILLING, SessionClass.CONFIG, SessionClass.MODEL_MISSING})
TRANSIENT_MAX, SILENT_MAX, CHAIN_MAX, PHASES_MAX = 8, 3, 3, 2


@dataclass
class Shut:
    """A gate as it must stand for a host: since when, and until when if that was told."""

    since: float
    until: Instant | None = None
    stopped: bool = False


@dataclass
class Auditor:
    """Watches every session; what it finds is kept, because a session's own supervisor would swallow it."""

    world: World
    stage: Stage
    backlogs: dict[str, Backlog]
    lives: dict[str, Life]
    parallel: int
    hours: ActiveHours | None = None
    broken: list[str] = field(default_factory=list[str])
    shut: dict[tuple[str, GateKey], Shut] = field(default_factory=dict[tuple[str, GateKey], Shut])
    paused: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    opened_at: float = -1.0

    def report(self, what: str) -> None:
        """Keep what is broken."""
        self.world.note(f"!! {what}")
        self.broken.append(what)

    def begun(self, record: Record) -> None:
        """Judge the beginning of a session."""
        life = self.lives[record.host]
        here = [live for live in self.stage.live.values() if live.host == record.host]
        if life.draining_since is not None and life.draining_since < record.began:
            self.report(f"{record.host} was to end and began a session on {record.key}")
        if len(here) >= self.parallel:
            self.report(f"{record.host} runs more sessions than it may")
        if record.probe:
            self.probing(record, here)
        else:
            self.passing(record, here)
            self.working(record, life)

    def probing(self, record: Record, here: list[Record]) -> None:
        """A gate that is tried is shut, and only one session tries an account."""
        if (record.host, record.gate) not in self.shut and not self.suspected(record):
            self.report(f"{record.gate} was tried on {record.host} and nothing had shut it")
        if any(live.probe and live.gate.harness == record.gate.harness for live in here):
            self.report(f"two sessions try {record.gate.harness} on {record.host}")

    def suspected(self, record: Record) -> bool:
        """Tell whether an account failed often enough of late to seem to be down."""
        mine = [one for one in self.stage.records.values() if one.host == record.host and one.ended is not None]
        failed = [one for one in mine if one.gate.harness == record.gate.harness and one.session_class is not None]
        return any(one.session_class is not SessionClass.CLEAN for one in failed)

    def passing(self, record: Record, here: list[Record]) -> None:
        """No session but a probe passes a shut gate before its end, and after it one at a time."""
        shut = self.shut.get((record.host, record.gate))
        if shut is None or shut.since >= record.began:
            return
        if shut.stopped and self.said_at() < shut.since:
            self.report(f"{record.gate} is stopped on {record.host} and got a session")
        elif shut.until is not None and self.lives[record.host].now() < shut.until:
            self.report(f"{record.gate} is limited on {record.host} and got a session")
        elif shut.until is None and record.began - shut.since < GUESS_SECONDS and not self.slept(shut):
            self.report(f"{record.gate} is limited on {record.host} without a known end and got a session")
        elif any(live.gate == record.gate and live.began > shut.since and not live.spent for live in here):
            self.report(f"two sessions try {record.gate} on {record.host}")

    def slept(self, shut: Shut) -> bool:
        """Tell whether the machine slept since, so that more time passed than was lived through."""
        return self.world.slept_at >= shut.since

    def working(self, record: Record, life: Life) -> None:
        """There is work for the session: its claim is open, or something could be claimed; and nobody else has it."""
        backlog = self.backlogs[record.target]
        pause = self.paused.get((record.host, record.target))
        if pause is not None and pause < record.began:
            self.report(f"{record.target} is paused on {record.host} and got a session")
        first = not any(one.claim == record.claim for one in self.stage.records.values())
        if first and self.hours is not None and not self.hours.open_at(life.now()):
            self.report(f"{record.host} began a session on {record.key} outside of the hours")
        if not record.key:
            seen = poll(backlog.queue)
            if not (seen.claimable or seen.stale_claimable) and not life.host.in_trouble():
                self.report(f"a session began on {record.target} while nothing was claimable")
            return
        if any(live.claim == record.claim for live in self.stage.live.values()):
            self.report(f"two sessions at once under {record.claim}")
        if not life.host.in_trouble() and not self.open(record, backlog):
            self.report(f"a session began under {record.claim}, which is not held")

    def open(self, record: Record, backlog: Backlog) -> bool:
        """Tell whether a session's claim is open by the queue's own record."""
        with self.world.store.read() as tx:
            campaign = tx.campaign_by_slug(backlog.slug)
            item = tx.item_by_key(campaign.id, record.key) if campaign is not None else None
            claim = tx.claim_get(item.id, Fence(record.fence)) if item is not None else None
        ended_at = claim.ended_at if claim is not None else Instant(0)
        return ended_at is None or ended_at > self.world.now() - SECOND_US

    def over(self, record: Record) -> None:
        """Learn from the end of a session which gate it shut or opened for its host."""
        place, now = (record.host, record.gate), anyio.current_time()
        if record.session_class in STOPPING:
            for gate in {record.gate, *(key for host, key in self.shut if host == record.host)}:
                if gate.harness == record.gate.harness:
                    self.shut[record.host, gate] = Shut(now, stopped=True)
            return
        known = self.shut.get(place)
        if known is not None and known.stopped:
            return
        if record.session_class is SessionClass.LIMITED:
            self.limited(record, known)
        elif known is not None and record.spent and record.began > known.since:
            del self.shut[place]

    def limited(self, record: Record, known: Shut | None) -> None:
        """Take down a limit; one that states no end leaves an end that is known."""
        told, now = record.told_reset, self.lives[record.host].now()
        if told is not None and told < now - RESET_PAST_US:
            told = None
        mono = anyio.current_time()
        if known is None or told is not None:
            self.shut[record.host, record.gate] = Shut(mono, told)

    def said_at(self) -> float:
        """Return when a person last said anything that may open a gate; after that a session may try it."""
        return max(self.opened_at, *(backlog.people.acted_at for backlog in self.backlogs.values()))

    def reopened(self, host: str, gate: str) -> None:
        """Judge that a host calls a gate open: a session showed it, or a person said so."""
        for place in [place for place in self.shut if place[0] == host and str(place[1]) == gate]:
            shut = self.shut.pop(place)
            said = self.said_at()
            shown = [
                one
                for one in self.stage.records.values()
                if (one.host, one.gate) == place and one.began > shut.since and one.session_class not in STOPPING
            ]
            if said < shut.since and not (shown and not shut.stopped):
                self.report(f"{gate} was opened on {host} and nothing had shown it open")

    def would_know(self, record: Record) -> bool:
        """Tell whether a session's loop could know that its claim was lost: it holds it itself, and nothing is amiss.

        A session that claimed for itself renews for itself; the fence keeps its late words out.
        """
        return self.backlogs[record.target].origin is not None and not self.lives_host(record).in_trouble()

    def look(self) -> list[str]:
        """Check what holds at any moment; returns everything found so far."""
        for key, count in Counter(live.claim for live in self.stage.live.values() if live.key).items():
            if count > 1:
                self.report(f"{count} sessions at once under {key}")
        for live in self.stage.live.values():
            others = [one for one in self.stage.live.values() if (one.target, one.key) == (live.target, live.key)]
            late = [one for one in others if one.fence < live.fence and self.would_know(one)]
            if live.key and late and anyio.current_time() > live.began:
                self.report(f"{late[0].host} still works on {live.key}, which it lost")
        return self.broken

    def lives_host(self, record: Record) -> Host:
        """Return a session's host."""
        return self.lives[record.host].host

    def settled(self) -> list[str]:
        """Count in the end what was spent under each claim, and what the hosts' journals say of it."""
        under: dict[tuple[str, str, int, str], list[Record]] = {}
        for record in self.stage.records.values():
            if record.fence:
                under.setdefault((*record.claim, record.host), []).append(record)
        for claim, records in under.items():
            self.bounded(claim[:3], records)
        return self.broken

    def bounded(self, claim: tuple[str, str, int], records: list[Record]) -> None:
        """Check how often a claim's sessions were followed by others."""
        passing = [one for one in records if one.session_class is SessionClass.TRANSIENT]
        silent = [one for one in passing if not one.spent]
        if len(passing) > TRANSIENT_MAX * 2 or len(silent) > SILENT_MAX * 2:
            self.report(f"{claim} was tried again and again: {len(passing)} passing failures, {len(silent)} silent")
        chain = 0
        for one in records:
            chain = chain + 1 if one.handed_off else 0
            if chain > (CHAIN_MAX + 2) * PHASES_MAX:
                self.report(f"{claim} was handed on {chain} times in a row")
        idle = [one for one in records if one.session_class is SessionClass.CLEAN and not one.handed_off]
        if len(idle) > 5:
            self.report(f"{claim} had {len(idle)} sessions that ended well and settled nothing")
