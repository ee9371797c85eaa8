"""How a verified commit reaches the integration branch, and what a refusal there makes of it."""

import threading
from dataclasses import dataclass, field

from workloop.domain.checks import CheckKind
from workloop.domain.errors import WorkloopError
from workloop.domain.evidence import SHA
from workloop.domain.ids import CampaignId, EventId, id_text
from workloop.domain.item import Item, Role, State
from workloop.domain.question import FactKind
from workloop.driver.project import Project
from workloop.driver.workshop import Landed, LandingWord, LandOrder
from workloop.service.call import contract_of, require_campaign, require_item
from workloop.service.closing import record_fact
from workloop.service.perform import run_as_host
from workloop.store.port import Reading

PAGE = 500
SUCCEEDED = State.SUCCEEDED.value
SETTLED_FACTS = frozenset({FactKind.LANDED, FactKind.LANDING_REFUSED})


@dataclass(slots=True, kw_only=True)
class Landings:
    """What still has to land, oldest first; kept by one thread at a time.

    `seen` is the newest event looked at, so that what anybody verified is found; `told` keeps a refusal that stands
    from being told again and again.
    """

    project: Project
    waiting: list[str] = field(default_factory=list[str])
    seen: EventId | None = None
    told: dict[str, str] = field(default_factory=dict[str, str])
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

    def land_all(self) -> bool:
        """Land what waits, one at a time; tells whether any of it was settled."""
        waiting, self.waiting = self.waiting, []
        for key in waiting:
            try:
                done = not self.stop.is_set() and self.land(key)
            except (WorkloopError, OSError) as failed:
                self.tell(key, "failed", str(failed))
                done = False
            if not done:
                self.waiting.append(key)
        return len(self.waiting) < len(waiting)

    def land(self, key: str) -> bool:
        """Land one result; tells whether the matter is settled."""
        landing = land_item(self.project, key, self.stop)
        if landing is None:
            return True
        self.tell(key, landing.outcome, landing.reason)
        return state_outcome(self.project, key, landing)

    def tell(self, key: str, outcome: str, reason: str) -> None:
        """Say what came of a landing, unless it was said already."""
        if self.told.get(key) != outcome:
            self.told[key] = outcome
            self.project.tell("landing", {"key": key, "outcome": outcome, "reason": reason})


def not_landed(tx: Reading, campaign_id: CampaignId) -> list[str]:
    """Return the keys of results that succeeded and have not been landed or refused, oldest first."""
    found: list[str] = []
    page = tx.items_list(campaign_id, (State.SUCCEEDED,), None, PAGE)
    while page:
        found += [item.key for item in page if to_land(tx, item)]
        page = tx.items_list(campaign_id, (State.SUCCEEDED,), page[-1].id, PAGE)
    return found


def to_land(tx: Reading, item: Item) -> bool:
    """Tell whether an item is a commit that still has to land."""
    if item.role is not Role.WORK or item.candidate_sha is None or not SHA.fullmatch(item.candidate_sha):
        return False
    return not any(fact.kind in SETTLED_FACTS for fact in tx.facts_of(item.id))


def land_item(project: Project, key: str, stop: threading.Event) -> Landed | None:
    """Land one verified result after its guards passed on the merge; None when there is nothing to land any more."""
    with project.queue.store.read() as tx:
        item = require_item(tx, require_campaign(tx, project.queue.slug), key)
        if item.state is not State.SUCCEEDED or not to_land(tx, item):
            return None
        checks = tuple(check for check in contract_of(tx, item).checks if check.kind is CheckKind.GUARDS)

    order = LandOrder(
        item_id=id_text(item.id),
        attempt=item.fence,
        sha=item.candidate_sha or "",
        title=item.title,
        now=project.now(),
        guards=checks,
        environment=project.check_environment,
        enclosure=project.check_walls.enclosure,
        rooms=project.check_walls.rooms,
    )
    return project.workshop.land(order, stop)


def state_outcome(project: Project, key: str, landing: Landed) -> bool:
    """Write down a landing or its refusal; anything else is tried again."""
    match landing.word:
        case LandingWord.LANDED:
            kind, ref = FactKind.LANDED, landing.sha
        case LandingWord.REFUSED:
            kind, ref = FactKind.LANDING_REFUSED, f"{landing.outcome}: {landing.reason}"
        case LandingWord.LATER:
            return False
    run_as_host(project.queue, project.host, "record_fact", lambda call: record_fact(call, key, kind, ref))
    return True
