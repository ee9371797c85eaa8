"""What still has to land, when each is tried again, and what a landing or its refusal makes of it."""

import threading
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from workloop.domain.checks import CheckKind
from workloop.domain.clock import Instant, seconds_us
from workloop.domain.errors import WorkloopError
from workloop.domain.ids import EventId, Fence, id_text
from workloop.domain.item import State
from workloop.domain.question import FactKind
from workloop.driver.project import Project
from workloop.driver.workshop import Landed, LandingWord, LandOrder
from workloop.service.call import contract_of, require_campaign, require_item
from workloop.service.closing import record_fact
from workloop.service.perform import run_as_host
from workloop.service.unlanded import not_landed, to_land

PAGE = 500
SUCCEEDED = State.SUCCEEDED.value
FAILED: Final = "failed"
UNCLEAR: Final = "guards_unclear"
UNCLEAR_MAX = 5
FIRST_REST_SECONDS = 15.0
LONGEST_REST_SECONDS = 900.0
# What is not over soon: the next try is made at growing distances, as it costs others or runs the guards again.
SLOW = frozenset({FAILED, UNCLEAR, "push_refused", "unconfirmed", "unpushed_base", "pr_closed", "claim_lost"})
PULL_REQUESTS = "pr_"


class Rest(NamedTuple):
    """How often a landing ended like this in a row, and when it is tried again."""

    outcome: str
    times: int
    until: Instant


class Waits(NamedTuple):
    """What came of the last try of a result that still waits to land, and when the next is due, where that is known."""

    key: str
    outcome: str
    reason: str
    again: Instant | None


@dataclass(slots=True, kw_only=True)
class Landings:
    """What still has to land, oldest first; kept by one thread at a time.

    `seen` is the newest event looked at, so that what anybody verified is found; `told` keeps a refusal that stands
    from being told again and again, `rests` holds back what was tried and is not over soon.
    `news` is what people may know of what waits, until it is taken, and `noted` what they were told last. `settled`
    counts what landed or was refused for good.
    """

    project: Project
    waiting: list[str] = field(default_factory=list[str])
    seen: EventId | None = None
    told: dict[str, str] = field(default_factory=dict[str, str])
    rests: dict[str, Rest] = field(default_factory=dict[str, Rest])
    news: dict[str, Waits] = field(default_factory=dict[str, Waits])
    noted: dict[str, Waits] = field(default_factory=dict[str, Waits])
    settled: int = 0
    submitted: set[str] = field(default_factory=set[str])
    stop: threading.Event = field(default_factory=threading.Event)

    def collect(self) -> None:
        """Look for results that succeeded since the last look."""
        with self.project.queue.store.read() as tx:
            campaign = require_campaign(tx, self.project.queue.slug)
            if campaign.settings.landing == "none":
                return
            if self.seen is None:
                self.seen = tx.event_newest()
                self.waiting = not_landed(tx, campaign.id)
            while events := tx.events_since(campaign.id, self.seen, PAGE):
                self.seen = events[-1].id
                items = [tx.item_get(event.item_id) for event in events if event.changes.get("state") == SUCCEEDED]
                found = [item.key for item in items if item is not None and to_land(tx, item)]
                self.waiting += [key for key in found if key not in self.waiting]

    def due(self, now: Instant) -> bool:
        """Tell whether anything that waits may be tried now."""
        return any(self.ready(key, now) for key in self.waiting)

    def ready(self, key: str, now: Instant) -> bool:
        """Tell whether a landing has rested long enough since its last try."""
        return key not in self.rests or self.rests[key].until <= now

    def land_all(self) -> bool:
        """Land what waits and is due, one at a time; tells whether any of it was settled."""
        waiting, self.waiting = self.waiting, []
        for key in waiting:
            if self.stop.is_set() or not self.ready(key, self.project.now()) or not self.try_to_land(key):
                self.waiting.append(key)
        return len(self.waiting) < len(waiting)

    def try_to_land(self, key: str) -> bool:
        """Land one result, whatever goes wrong; tells whether the matter is settled."""
        try:
            return self.land(key)
        except (WorkloopError, OSError) as failed:
            if not self.stop.is_set():
                self.tell(key, FAILED, str(failed))
                self.rest(key, FAILED)
                self.note(key, FAILED, str(failed))
            return False

    def land(self, key: str) -> bool:
        """Land one result; tells whether the matter is settled."""
        landing = land_item(self.project, key, self.stop)
        if landing is None:
            return True
        self.tell(key, landing.outcome, landing.reason)
        if landing.submitted and landing.submitted not in self.submitted:
            state(self.project, key, FactKind.SUBMITTED, landing.submitted)
            self.submitted.add(landing.submitted)
        if self.rest(key, landing.outcome) >= UNCLEAR_MAX and landing.outcome == UNCLEAR:
            refusal = f"{landing.outcome}, {UNCLEAR_MAX} times in a row: {landing.reason}"
            state(self.project, key, FactKind.LANDING_REFUSED, refusal)
            self.settled += 1
            return True
        settled = state_outcome(self.project, key, landing)
        self.settled += settled
        if not settled:
            self.note(key, landing.outcome, landing.reason)
        return settled

    def note(self, key: str, outcome: str, reason: str) -> None:
        """Keep why a result waits and when it is tried again, unless that was noted already."""
        until = self.rests[key].until
        waits = Waits(key, outcome, reason, until if until > self.project.now() else None)
        if self.noted.get(key) != waits:
            self.noted[key] = self.news[key] = waits

    def take_news(self) -> list[Waits]:
        """Return what was noted since the last time."""
        taken, self.news = self.news, {}
        return list(taken.values())

    def rest(self, key: str, outcome: str) -> int:
        """Note how a try ended and when the next one is due; returns how often in a row it ended like this."""
        before = self.rests.get(key)
        times = before.times + 1 if before is not None and before.outcome == outcome else 1
        seconds = 0.0
        if outcome in SLOW:
            seconds = min(FIRST_REST_SECONDS * 2 ** min(times - 1, 10), LONGEST_REST_SECONDS)
        elif outcome.startswith(PULL_REQUESTS):
            seconds = self.project.landing.pull_requests.poll_seconds
        self.rests[key] = Rest(outcome, times, Instant(self.project.now() + seconds_us(seconds)))
        return times

    def tell(self, key: str, outcome: str, reason: str) -> None:
        """Say what came of a landing, unless it was said already; of a pull request also what it waits for."""
        said = f"{outcome}: {reason}" if outcome.startswith(PULL_REQUESTS) else outcome
        if self.told.get(key) != said:
            self.told[key] = said
            self.project.tell("landing", {"key": key, "outcome": outcome, "reason": reason})


def land_item(project: Project, key: str, stop: threading.Event) -> Landed | None:
    """Land one verified result after its guards passed on the merge; None when there is nothing to land any more."""
    with project.queue.store.read() as tx:
        campaign = require_campaign(tx, project.queue.slug)
        item = require_item(tx, campaign, key)
        if item.state is not State.SUCCEEDED or not to_land(tx, item):
            return None
        contract = contract_of(tx, item)
    checks = tuple(check for check in contract.checks if check.kind is CheckKind.GUARDS)
    sha, fence = item.candidate_sha or "", item.fence
    order = LandOrder(
        item_id=id_text(item.id),
        attempt=fence,
        sha=sha,
        title=item.title,
        now=project.now(),
        guards=checks,
        protected=contract.protected,
        overlay=project.check_overlay,
        environment=project.check_environment,
        enclosure=project.check_walls.enclosure,
        rooms=project.check_walls.rooms,
        landing=campaign.settings.landing,
        stands=lambda: stands(project, key, fence, sha),
    )
    return project.workshop.land(order, stop)


def stands(project: Project, key: str, fence: Fence, sha: str) -> bool:
    """Ask the store whether a result still is the one to land: the same claim's, the newest, and not settled."""
    with project.queue.store.read() as tx:
        item = require_item(tx, require_campaign(tx, project.queue.slug), key)
        mine = (item.state, item.fence, item.candidate_sha) == (State.SUCCEEDED, fence, sha)
        return mine and to_land(tx, item)


def state_outcome(project: Project, key: str, landing: Landed) -> bool:
    """Write down a landing or its refusal; anything else is tried again."""
    match landing.word:
        case LandingWord.LANDED:
            state(project, key, FactKind.LANDED, landing.sha)
        case LandingWord.REFUSED:
            state(project, key, FactKind.LANDING_REFUSED, f"{landing.outcome}: {landing.reason}")
        case LandingWord.LATER:
            return False
    return True


def state(project: Project, key: str, kind: FactKind, ref: str) -> None:
    """State a fact about an item."""
    run_as_host(project.queue, project.host, "record_fact", lambda call: record_fact(call, key, kind, ref))
