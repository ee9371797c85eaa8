"""What must hold at every moment, whatever has befallen the hosts, and what must be true in the end."""

from collections import Counter
from dataclasses import dataclass, field

from simagent import SENTINEL, Stage
from world import World

from workloop.domain.clock import SECOND_US
from workloop.domain.item import TERMINAL, Role, State
from workloop.service.call import Queue
from workloop.testing.invariants import check_invariants, compare
from workloop.testing.snapshot import Snapshot, take

SLUG = "main"


class Broken(AssertionError):
    """A promise that did not hold, with the story that led there."""


@dataclass
class Checkers:
    """Looks at the whole world from outside."""

    world: World
    stage: Stage
    queue: Queue
    before: Snapshot | None = None
    looked: int = 0
    seen: Counter[str] = field(default_factory=Counter[str])

    def fail(self, what: str) -> None:
        """Tell what is broken, of which seed, and the last part of its story."""
        story = "\n".join(self.world.story[-60:])
        raise Broken(f"seed {self.world.seed}: {what}\n{story}")

    def look(self) -> None:
        """Check every promise of the queue, and that no item has two live sessions."""
        if self.world.store.commits == self.looked and not self.stage.live:
            return
        self.looked = self.world.store.commits
        broken = check_invariants(self.world.store, SLUG)
        after = take(self.world.store, SLUG)
        if self.before is not None:
            broken += compare(self.before, after)
        self.before = after
        keys = Counter(live.key for live in self.stage.live.values())
        fenced = [key for key, count in keys.items() if key and count > 1 and not self.orphaned(key)]
        broken += [f"two live sessions on {key}" for key in fenced]
        self.seen.update(dossier.item.state.value for dossier in after.dossiers.values())
        if broken:
            self.fail("; ".join(broken))

    def orphaned(self, key: str) -> bool:
        """Tell whether one of two sessions belongs to a host that lost its lease and has not noticed yet."""
        return len({live.host for live in self.stage.live.values() if live.key == key}) > 1

    def told_nothing(self) -> None:
        """No verifier was told a word that a builder had said."""
        for role, prompt in self.stage.prompts:
            if role == Role.VERIFY.value and SENTINEL in prompt:
                self.fail("a verifier's brief repeats what a builder said")

    def settled(self) -> None:
        """In the end everything is over, or waits for something that exists."""
        self.looked = -1
        self.look()
        self.told_nothing()
        if self.stage.live:
            self.fail(f"sessions are left: {self.stage.live}")
        now = self.world.now()
        assert self.before is not None
        items = {dossier.item.id: dossier for dossier in self.before.dossiers.values()}
        for dossier in items.values():
            item = dossier.item
            if item.state in TERMINAL:
                continue
            waits = (
                (item.state is State.DEFERRED and any(q.answered_at is None for q in dossier.questions))
                or item.blockers > 0
                or (item.wake_at is not None and item.wake_at > now)
                or (item.state in (State.CANDIDATE, State.REPAIRING) and self.follow_up_open(item.id))
            )
            if not waits:
                self.fail(f"{item.key} is {item.state} and waits for nothing at {now / SECOND_US}")

    def follow_up_open(self, root_id: int) -> bool:
        """Tell whether a root's follow-up is still to come."""
        assert self.before is not None
        return any(
            one.item.root_id == root_id and one.item.state not in TERMINAL for one in self.before.dossiers.values()
        )
