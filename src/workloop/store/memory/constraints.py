"""Which rows the memory store refuses, as a database's constraints would."""

from workloop.domain.errors import IntegrityFault
from workloop.domain.evidence import CheckVerdict
from workloop.domain.item import TERMINAL, Item, Role, State
from workloop.store.memory.tables import Tables

MONOTONE = ("attempts", "expiries", "infra", "fence", "events")


def require(holds: object, promise: str) -> None:
    """Raise IntegrityFault when a promise about rows is broken."""
    if not holds:
        raise IntegrityFault("CONSTRAINT_BROKEN", f"the store refused a row: {promise}", hint="this is a defect")


def check_item(item: Item) -> None:
    """Refuse an item that contradicts itself."""
    terminal = item.state in TERMINAL
    require((item.state is State.IN_PROGRESS) == (item.lease_until is not None), "in_progress has a lease, others none")
    require((item.state is State.SUPERSEDED) == (item.replaced_by is not None), "superseded names its replacement")
    require(terminal == (item.ended_at is not None), "a terminal state has an end, others none")
    require(0 <= item.attempts <= item.attempts_max, "attempts stay within their ceiling")
    require(0 <= item.expiries <= item.expiries_max, "expiries stay within their ceiling")
    require(min(item.infra, item.free_releases, item.blockers, item.fence, item.events) >= 0, "no count is negative")
    require(item.id not in (item.replaced_by, item.root_id), "an item is not its own root or replacement")


def check_step(before: Item, after: Item) -> None:
    """Refuse a change that no item may make."""
    require(before.id == after.id, "an update keeps the item's id")
    require(before.state not in TERMINAL, "a terminal row never changes")
    for name in MONOTONE:
        require(getattr(after, name) >= getattr(before, name), f"{name} never falls")


def check_subject(tables: Tables, item: Item) -> None:
    """Refuse a second open, ungated work item of one (family, subject)."""
    if not occupies_subject(item) or item.family is None or item.subject is None:
        return
    others = tables.subjects.get((item.campaign_id, item.family, item.subject), ())
    taken = any(other != item.id and occupies_subject(tables.items[other]) for other in others)
    require(not taken, "one open, ungated work item per family and subject")


def occupies_subject(item: Item) -> bool:
    """Tell whether an item is the one live version of its subject."""
    return item.role is Role.WORK and not item.gated and item.state not in TERMINAL


def same_check(one: CheckVerdict, other: CheckVerdict) -> bool:
    """Tell whether two verdicts are about one check on one commit, since one answer."""
    return (one.answers, one.ref, one.check_id) == (other.answers, other.ref, other.check_id)
