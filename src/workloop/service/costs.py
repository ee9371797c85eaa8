"""What people may know of what sessions cost, and of what a backlog may cost, from the journal and the queues."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workloop.domain.charge import Charge
from workloop.domain.clock import SECOND_US, Instant, to_text
from workloop.domain.costing import (
    FEW,
    By,
    Past,
    Spoke,
    Spread,
    Sum,
    always,
    forecast,
    per_root,
    per_session,
    sums,
    tokens_of,
)
from workloop.domain.errors import NotFound
from workloop.domain.ids import ItemId
from workloop.domain.item import TERMINAL, Item, Role, State
from workloop.domain.units import MICROS, Unit
from workloop.service.call import Queue, require_campaign
from workloop.service.facts import has_landed
from workloop.store.journal.port import JournalReading

Answer = dict[str, Any]
CHARGES_MOST = 1_000_000
PAGE = 500


def costs(journal: JournalReading, queues: Mapping[str, Queue], *, by: By, since: Instant, target: str = "") -> Answer:
    """Add up what sessions cost since then, and what each change that landed cost in the mean."""
    require_target(target, journal, queues)
    charges = [one for one in journal.charges(since=since, limit=CHARGES_MOST) if target in ("", one.payer.target)]
    spoke = spoke_in(journal)
    whole = total(charges, spoke)
    landed, verified = done(queues, whole.roots)
    return {
        "by": by.value,
        "since": to_text(since) if since else None,
        "rows": [{"name": name or "-", **described(one)} for name, one in sums(charges, by, spoke).items()],
        "total": described(whole),
        "landed": landed,
        "verified": verified,
        "usd_per_landed": each(whole, landed),
        "usd_per_verified": each(whole, verified),
    }


def require_target(name: str, journal: JournalReading | None, queues: Mapping[str, Queue]) -> None:
    """Raise NotFound for a target that neither the settings nor the journal know."""
    known = {*queues, *(row.name for row in journal.targets())} if journal is not None else set(queues)
    if name and name not in known:
        hint = f"targets: {', '.join(sorted(known))}"
        raise NotFound("TARGET_NOT_FOUND", f"the loop knows no target {name!r}", hint=hint)


def spoke_in(journal: JournalReading) -> Spoke:
    """Return what tells of a session whether it did anything; one that is not kept any more may have."""

    def spoke(session_id: str) -> bool:
        """Tell whether a session produced anything, as far as that is known."""
        row = journal.session_get(session_id)
        return row is None or row.produced

    return spoke


def total(charges: Iterable[Charge], spoke: Spoke) -> Sum:
    """Add everything up."""
    found = Sum()
    for charge in charges:
        found.add(charge, spoke)
    return found


def each(whole: Sum, count: int) -> float | None:
    """Return what one of several cost in the mean; None of none, and where no money is known."""
    return round(whole.spent.cost_micros / count / MICROS, 6) if count and cost_known(whole) else None


def cost_known(one: Sum) -> bool:
    """Tell whether any money is known of what cost something."""
    return one.spent.cost_micros > 0 or not one.cost_unknown


def described(one: Sum) -> Answer:
    """Describe a sum: unknown is null, never 0, and what is missing in it is counted beside it."""
    told = one.spent.tokens.total > 0 or not one.tokens_unknown
    return {
        "sessions": one.spent.sessions,
        "cost_usd": round(one.spent.cost_micros / MICROS, 6) if cost_known(one) else None,
        "cost_unknown": one.cost_unknown,
        "tokens": dict(tokens_of(one.spent.tokens)) if told else None,
        "new_tokens": one.spent.of(Unit.TOKENS) if told else None,
        "tokens_unknown": one.tokens_unknown,
        "hours": round(one.spent.wall_us / 3_600_000_000, 3),
        "wasted_share": one.wasted_share,
        "reread_share": one.reread_share,
        "unknown": one.unknown,
        "unpriced": one.unpriced,
        "running": one.running,
    }


def done(queues: Mapping[str, Queue], roots: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """Count which items landed, and which were verified."""
    landed = verified = 0
    for name, queue in queues.items():
        with queue.store.read() as tx:
            campaign = require_campaign(tx, queue.slug)
            for target, root in roots:
                item = tx.item_by_key(campaign.id, root) if target == name else None
                if item is not None:
                    landed += has_landed(tx, item)
                    verified += item.state is State.SUCCEEDED
    return landed, verified


def simulated(journal: JournalReading | None, queues: Mapping[str, Queue], *, target: str = "") -> Answer:
    """Say what the items that are still open may cost, by what finished ones did, and out of how many that is told."""
    require_target(target, journal, queues)
    charges = journal.charges(since=Instant(0), limit=CHARGES_MOST) if journal is not None else []
    over: set[tuple[str, str]] = set()
    waiting = 0
    for name, queue in queues.items():
        if target in ("", name):
            roots = items_of(queue)
            waiting += sum(item.state not in (*TERMINAL, State.PROPOSED) for item in roots)
            over |= {(name, item.key) for item in roots if item.state in TERMINAL}
    spoke = spoke_in(journal) if journal is not None else always
    history = per_root(charges, frozenset(over), spoke)
    found = forecast(history, waiting)
    return {
        "items": waiting,
        "samples": len(history),
        "forecast": {unit.value: spread_of(unit, one) for unit, one in found.items()},
        "per_session": [
            {
                "role": role or "-",
                "harness": harness,
                "sessions": units[Unit.SESSIONS].samples,
                "cost_usd": spread_of(Unit.COST, units[Unit.COST]),
                "tokens": spread_of(Unit.TOKENS, units[Unit.TOKENS]),
            }
            for (role, harness), units in sorted(per_session(charges, spoke).items())
        ],
        "cost_unknown": sum(Unit.COST in past.dark for past in history),
        "note": note(waiting, history),
    }


def items_of(queue: Queue) -> list[Item]:
    """Return the root items of a campaign."""
    found: list[Item] = []
    with queue.store.read() as tx:
        campaign = require_campaign(tx, queue.slug)
        after = ItemId(0)
        while page := tx.items_list(campaign.id, (), after, PAGE):
            found += [item for item in page if item.role is Role.WORK]
            after = page[-1].id
    return found


def spread_of(unit: Unit, one: Spread) -> Answer:
    """Describe a spread in the unit that people read, and out of how many it is; of none nothing is known."""
    if not one.samples:
        return {"middle": None, "nine_in_ten": None, "samples": 0}
    scale = {Unit.COST: MICROS, Unit.WALL: SECOND_US}.get(unit, 1)
    middle, high = one.middle / scale, one.high / scale
    whole = scale == 1
    return {
        "middle": int(middle) if whole else round(middle, 6),
        "nine_in_ten": int(high) if whole else round(high, 6),
        "samples": one.samples,
    }


def note(waiting: int, history: Sequence[Past]) -> str:
    """Say what the forecast rests on."""
    if not waiting:
        return "nothing is open"
    if not history:
        return f"no item has been finished yet, so nothing can be said about the {waiting} open ones"
    guess = "; that is few: take it for a guess" if len(history) < FEW else ""
    unknown = sum(Unit.COST in past.dark for past in history)
    left_out = (
        f"; of {unknown} of them nobody knows what they cost, and money is drawn from the others" if unknown else ""
    )
    return f"{waiting} open items, drawn from {len(history)} finished ones with all their follow-ups{guess}{left_out}"
