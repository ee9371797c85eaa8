"""What must hold at every moment, whatever has befallen the hosts, and what must be true in the end."""

from dataclasses import dataclass, field
from pathlib import Path

from simworkshop import Origin, Tree
from stage import SENTINEL, Stage
from workload import Workload
from world import Host, World

from workloop.domain.item import TERMINAL, State
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.progress import Weight, report_of, weigh
from workloop.service.call import Queue
from workloop.testing.invariants import check_invariants, compare
from workloop.testing.snapshot import Dossier, Snapshot, take

FRUITLESS_MAX = 3
STORY_LINES = 60


class Broken(AssertionError):
    """A promise that did not hold, with the story that led there."""


def fail(world: World, what: str) -> None:
    """Tell what is broken, of which seed, and the last part of its story."""
    raise Broken(f"seed {world.seed}: {what}\n" + "\n".join(world.story[-STORY_LINES:]))


@dataclass
class Backlog:
    """One campaign of the night, checked from outside; one without an origin is somebody else's."""

    world: World
    stage: Stage
    slug: str
    queue: Queue
    people: Workload
    origin: Origin | None = None
    releaser: bool = True
    hosts: dict[str, Host] = field(default_factory=dict[str, Host])
    trees: dict[str, dict[Path, Tree]] = field(default_factory=dict[str, dict[Path, Tree]])
    before: Snapshot | None = None
    looked: int = 0

    def look(self) -> list[str]:
        """Check every promise of the queue, if anything happened since the last look."""
        if self.world.store.commits == self.looked:
            return []
        self.looked = self.world.store.commits
        broken = check_invariants(self.world.store, self.slug)
        after = take(self.world.store, self.slug)
        if self.before is not None:
            broken += compare(self.before, after)
        self.before = after
        for one in after.dossiers.values():
            broken += self.braked(one)
        return broken

    def braked(self, one: Dossier) -> list[str]:
        """Check that no item was worked on more than three times in a row without fruit; people start it anew."""
        if self.origin is None or one.item.role == "verify":
            return []
        streak: list[Claim] = []
        words = [question.answered_at for question in one.questions if question.answered_at is not None]
        for claim in one.claims:
            assert claim.end is None or claim.ended_at is not None
            weight = weigh(claim.end, report_of(claim)) if claim.end is not None else Weight.UNCOUNTED
            if weight is Weight.FRUITFUL or any(claim.claimed_at <= said for said in words) or outside(claim):
                streak = []
            elif weight is Weight.FRUITLESS:
                streak.append(claim)
        return [f"{one.item.key} was worked on {len(streak)} times in vain"] if len(streak) > FRUITLESS_MAX else []

    def settled(self) -> list[str]:
        """In the end everything is over, or waits for something that exists; and no work is lost."""
        self.looked = -1
        broken = self.look()
        assert self.before is not None
        for one in self.before.dossiers.values():
            if not self.over_or_waits(one):
                broken.append(f"{one.item.key} is {one.item.state} and waits for nothing at {self.world.now()}")
        return broken + self.lost_work()

    def over_or_waits(self, one: Dossier) -> bool:
        """Tell whether an item is closed or waits for something that exists."""
        item, now = one.item, self.world.now()
        return (
            item.state in TERMINAL
            or item.state is State.PROPOSED
            or (item.state is State.DEFERRED and any(asked.answered_at is None for asked in one.questions))
            or item.blockers > 0
            or (item.wake_at is not None and item.wake_at > now)
            or (item.state in (State.CANDIDATE, State.REPAIRING) and self.follow_up_open(item.id))
        )

    def follow_up_open(self, root_id: int) -> bool:
        """Tell whether a root's follow-up is still to come."""
        assert self.before is not None
        return any(
            one.item.root_id == root_id and one.item.state not in TERMINAL for one in self.before.dossiers.values()
        )

    def lost_work(self) -> list[str]:
        """Every commit of a session can be reached, and what was left uncommitted was saved."""
        if self.origin is None:
            return []
        broken = [f"commit {sha[-6:]} is lost" for sha in self.origin.lost()] + self.origin.troubles
        for trees in self.trees.values():
            broken += [f"{tree.tree.path.name} was left with work in it" for tree in trees.values() if tree.dirty]
            broken += [f"{tree.tree.path.name} was left behind" for tree in trees.values() if not tree.kept]
        return broken

    def told_nothing(self) -> list[str]:
        """No verifier was told a word that a builder had said."""
        told = [record for record in self.stage.records.values() if SENTINEL in record.prompt]
        return [f"the brief of {record.role or 'a session'} on {record.key} repeats a builder" for record in told]

    def expired_for_nothing(self) -> list[str]:
        """A lease of the loop's lapses only while its host is dead, cut off or asleep."""
        assert self.before is not None
        claims = [(one.item.key, claim) for one in self.before.dossiers.values() for claim in one.claims]
        lapsed = [(key, claim) for key, claim in claims if claim.end is ClaimEnd.EXPIRED and not report_of(claim)]
        found: list[str] = []
        for key, claim in lapsed:
            host = next((host for name, host in self.hosts.items() if f":{name}" in claim.holder), None)
            if host is not None and not host.troubled(claim.claimed_at, claim.ended_at or self.world.now()):
                found.append(f"the lease of {key} lapsed on {host.name}, which could have renewed it")
        return found


def outside(claim: Claim) -> bool:
    """Tell whether somebody else had moved the work on before an attempt began."""
    return report_of(claim).get("outside") is True
