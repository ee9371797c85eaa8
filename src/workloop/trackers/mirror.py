"""How a foreign backlog is kept in step with ours: by key, one way, and never against work that has begun here.

What its people write may only propose, unless they are trusted. What they take into their hands is parked here, what
they finish is cancelled, and what cannot be read changes nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from workloop.domain.errors import NotFound, Refusal
from workloop.domain.grants import Actor, Grant
from workloop.domain.ids import CampaignId, spelling
from workloop.domain.item import TERMINAL, Item, Role, State
from workloop.domain.ordering import in_order
from workloop.domain.poll import Poll
from workloop.domain.question import Brake
from workloop.domain.reader import Json, JsonObject
from workloop.driver.seam import run_sync
from workloop.service.adding import ITEMS_PER_CALL_MAX
from workloop.service.answering import park_item
from workloop.service.call import Queue, contract_of, digest_of, require_campaign
from workloop.service.insights import poll
from workloop.service.perform import perform, run_as_host
from workloop.store.port import Reading
from workloop.trackers.foreign import Entry, Listing, Standing, Tracker

PAGE = 500
VERSION_CHARACTERS = 8
MOVABLE = frozenset({State.PROPOSED, State.PENDING, State.DEFERRED})
OPEN_STATES: Sequence[State] = tuple(state for state in State if state not in TERMINAL)
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What our queue holds of one entry: the open item, or the last one there was."""

    item: Item | None = None
    same_text: bool = False


@dataclass(slots=True, kw_only=True)
class Steps:
    """What has to be done to be in step again, and what stands in the way of the rest."""

    add: list[JsonObject] = field(default_factory=list[JsonObject])
    supersede: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    park: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    resume: list[str] = field(default_factory=list[str])
    cancel: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    problems: list[str] = field(default_factory=list[str])

    def report(self) -> dict[str, list[str]]:
        """Return the keys of each kind of step, and the problems."""
        return {
            "added": [str(wish["key"]) for wish in self.add],
            "superseded": [old for old, _ in self.supersede],
            "parked": [key for key, _ in self.park],
            "resumed": list(self.resume),
            "cancelled": [key for key, _ in self.cancel],
            "problems": list(self.problems),
        }


class Mirror:
    """A poller that first brings the queue into step with another tracker; `tell` is given each new problem once.

    With `trusted`, entries become pending at once; otherwise a person promotes them. While the other tracker cannot be
    reached that is such a problem, and the queue is looked at as it stands.
    """

    def __init__(self, queue: Queue, tracker: Tracker, *, trusted: bool = False, tell: Tell | None = None) -> None:
        self.queue = queue
        self.tracker = tracker
        self.trusted = trusted
        self.tell: Tell = tell or (lambda problem: None)
        self.told: frozenset[str] = frozenset()
        self.stamp: tuple[object, ...] | None = None
        self.speaker = Actor(principal=f"tracker:{tracker.name}", grant=Grant.OPERATOR, host=True)

    async def poll(self) -> Poll:
        """Bring the queue into step, as far as that can be, and look at it."""
        await run_sync(self.refresh)
        return await run_sync(poll, self.queue)

    def refresh(self) -> None:
        """Bring the queue into step, when the other backlog may have changed or the last time was not whole."""
        try:
            stamp = tuple(self.tracker.stamp())
            listing = self.tracker.read() if stamp != self.stamp else None
        except (NotFound, OSError) as gone:
            self.remark([f"it cannot be read: {gone}"])
            self.stamp = None
            return
        if listing is not None:
            self.remark(self.step(listing).problems)
            self.stamp = stamp

    def remark(self, problems: Sequence[str]) -> None:
        """Tell the problems that were not there the last time."""
        for problem in problems:
            if problem not in self.told:
                self.tell(problem)
        self.told = frozenset(problems)

    def outline(self, listing: Listing) -> Steps:
        """Find out what a listing asks for; nothing is changed."""
        with self.queue.store.read() as tx:
            steps = self.plan(tx, listing)
        steps.problems[:0] = listing.problems
        return steps

    def step(self, listing: Listing) -> Steps:
        """Do what a listing asks for; each step can be repeated, so an interruption loses nothing."""
        steps = self.outline(listing)
        for start in range(0, len(steps.add), ITEMS_PER_CALL_MAX):
            self.attempt(steps, "add_items", {"items": list(steps.add[start : start + ITEMS_PER_CALL_MAX])})
        for old, new in steps.supersede:
            reason = f"{self.tracker.name} says something else now"
            self.attempt(steps, "supersede", {"key": old, "replacement": new, "reason": reason})
        for key, source in steps.park:
            self.park(key, source)
        for key in steps.resume:
            self.attempt(steps, "answer", {"key": key, "text": f"open again in {self.tracker.name}"})
        for key, reason in steps.cancel:
            self.attempt(steps, "cancel", {"key": key, "reason": reason})
        return steps

    def park(self, key: str, source: str) -> None:
        """Keep an item back for as long as somebody has it elsewhere."""
        asks = f"{key} is in somebody's hands in {source}. It goes on here when it is open there again."
        brake = Brake.TAKEN_ELSEWHERE.value
        run_as_host(self.queue, self.speaker, "park", lambda call: park_item(call, key, brake, asks, ""))

    def attempt(self, steps: Steps, action: str, arguments: JsonObject) -> None:
        """Do one step; a refusal is a problem to be told, and stops nothing else."""
        proposing = action == "add_items" and not self.trusted
        actor = Actor(principal=self.speaker.principal, grant=Grant.SESSION) if proposing else self.speaker
        try:
            perform(self.queue, actor, action, arguments)
        except Refusal as refused:
            steps.problems.append(f"{action.replace('_', ' ')}: {refused.message}")

    def plan(self, tx: Reading, listing: Listing) -> Steps:
        """Compare a listing with the queue."""
        steps = Steps()
        entries = {entry.id: entry for entry in listing.entries}
        campaign = require_campaign(tx, self.queue.slug)
        usable = {identity: entry for identity, entry in entries.items() if self.usable(entry, entries, steps)}
        try:
            ordered = in_order({key: [n for n in entry.needs if n in usable] for key, entry in usable.items()})
        except Refusal as circle:
            steps.problems.append(circle.message)
            return steps
        keys: dict[str, str] = {}
        for identity in ordered:
            key = self.compare(tx, entries, identity, keys, steps)
            if key is not None:
                keys[identity] = key
        if not listing.problems:
            for item in self.mirrored(tx, campaign.id):
                if item.subject not in entries and item.state in MOVABLE:
                    steps.cancel.append((item.key, f"no longer in {self.tracker.name}"))
        return steps

    def usable(self, entry: Entry, entries: dict[str, Entry], steps: Steps) -> bool:
        """Tell whether everything an entry needs is known; what waits for something unknown is not taken over."""
        missing = [need for need in entry.needs if need not in entries]
        if missing:
            steps.problems.append(f"{entry.source}: needs {', '.join(missing)}, which is not there")
        return not missing

    def compare(
        self, tx: Reading, entries: dict[str, Entry], identity: str, keys: dict[str, str], steps: Steps
    ) -> str | None:
        """Decide about one entry; returns the key under which others may need it, or None while there is none."""
        entry, known = entries[identity], self.known(tx, entries[identity])
        item = known.item
        if item is None:
            waits = any(entries[need].standing is not Standing.OVER and need not in keys for need in entry.needs)
            if entry.standing is not Standing.OPEN or waits:
                return None
            steps.add.append(self.wish(entry, identity, keys))
            return identity
        match entry.standing:
            case Standing.OVER if item.state not in TERMINAL:
                steps.cancel.append((item.key, f"over in {entry.source}"))
            case Standing.TAKEN if item.state is State.PENDING:
                steps.park.append((item.key, entry.source))
            case Standing.OPEN if item.state in MOVABLE and not known.same_text:
                newer = f"{identity}@{version_of(entry)}"
                steps.add.append(self.wish(entry, newer, keys))
                steps.supersede.append((item.key, newer))
                return newer
            case Standing.OPEN if item.state is State.DEFERRED and item.parked_as == Brake.TAKEN_ELSEWHERE:
                steps.resume.append(item.key)
            case _:
                pass
        return item.key

    def wish(self, entry: Entry, key: str, keys: dict[str, str]) -> JsonObject:
        """Write an entry as a new item of ours, with where it comes from."""
        needs: list[Json] = [keys[need] for need in entry.needs if need in keys]
        wish: dict[str, Json] = {
            "key": key,
            "title": entry.title,
            "objective": entry.objective or entry.title,
            "family": self.tracker.name,
            "subject": entry.id,
            "source_refs": [entry.source],
            "depends_on": needs,
        }
        if entry.priority is not None:
            wish["priority"] = entry.priority
        return wish

    def known(self, tx: Reading, entry: Entry) -> Known:
        """Look up what the queue holds of one entry."""
        campaign = require_campaign(tx, self.queue.slug)
        versions = tx.items_of_subject(campaign.id, self.tracker.name, entry.id)
        item = versions[-1] if versions else tx.item_by_key(campaign.id, spelling(entry.id))
        if item is None:
            return Known()
        contract = contract_of(tx, item)
        said = (entry.title, entry.objective or entry.title)
        return Known(item=item, same_text=(contract.title, contract.objective) == said)

    def mirrored(self, tx: Reading, campaign_id: CampaignId) -> Iterator[Item]:
        """Yield the open items that came from this tracker."""
        after = None
        while page := tx.items_list(campaign_id, OPEN_STATES, after, PAGE):
            after = page[-1].id
            yield from (item for item in page if item.family == self.tracker.name and item.role is Role.WORK)


def version_of(entry: Entry) -> str:
    """Return a short name of what an entry says now."""
    return digest_of([entry.title, entry.objective]).rpartition(":")[2][:VERSION_CHARACTERS]
