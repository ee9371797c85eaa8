"""What follows from a look at the integration branch after a landing: still green, or one repair for one break."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from workloop.domain.checks import Check, CheckKind
from workloop.domain.clock import Instant
from workloop.domain.delivery import MENDED_MAX, mended, repairs_above
from workloop.domain.errors import Conflict, Forbidden
from workloop.domain.ids import CampaignId
from workloop.domain.item import TERMINAL, Item, Role, State
from workloop.domain.lease import ClaimEnd
from workloop.domain.question import LANDING_SETTLED, Fact, FactKind
from workloop.domain.transitions import Move
from workloop.service.call import Call, contract_of, require_item
from workloop.service.closing import end_lineage, state_fact, successor
from workloop.service.facts import has_landed, newest_successor
from workloop.store.port import Reading

PAGE = 500
LOOKS = frozenset({FactKind.STILL_GREEN, FactKind.RED_AFTER_LANDING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A result that landed: its item, its guards, what was last said of the branch, and where it was last green.

    `protected` is what its contract keeps from whoever would change what judges it.
    """

    item: Item
    guards: tuple[Check, ...]
    protected: tuple[str, ...]
    landed: Fact
    looked: Fact
    green: str
    gone: bool = False

    def said(self, tip: str) -> bool:
        """Tell whether something was said of this tip already."""
        return self.looked.ref.startswith(tip)


class RedAnswer(TypedDict):
    """What became of a red check: the repair that was made or is under way, or why there is none."""

    key: str
    repair: str | None
    made: bool
    reason: str


def landed_since(tx: Reading, campaign_id: CampaignId, since: Instant) -> list[Landed]:
    """Return the results that landed after an instant, oldest first."""
    found: list[Landed] = []
    page = tx.items_list(campaign_id, (State.SUCCEEDED,), None, PAGE)
    while page:
        found += [one for item in page if (one := landed_one(tx, item, since)) is not None]
        page = tx.items_list(campaign_id, (State.SUCCEEDED,), page[-1].id, PAGE)
    return sorted(found, key=lambda one: (one.landed.at, one.item.id))


def landed_one(tx: Reading, item: Item, since: Instant) -> Landed | None:
    """Return one result if it landed after an instant."""
    if item.role is not Role.WORK:
        return None
    facts = tx.facts_of(item.id)
    landing = next((fact for fact in facts if fact.kind is FactKind.LANDED), None)
    if landing is None or landing.at < since:
        return None
    contract = contract_of(tx, item)
    guards = tuple(check for check in contract.checks if check.kind is CheckKind.GUARDS)
    looks = [landing, *(fact for fact in facts if fact.kind in LOOKS)]
    green = [fact.ref for fact in looks if fact.kind is not FactKind.RED_AFTER_LANDING]
    return Landed(
        item=item,
        guards=guards,
        protected=contract.protected,
        landed=landing,
        looked=looks[-1],
        green=green[-1],
        gone=is_gone(facts),
    )


def report_contained(call: Call, key: str, tip: str, missing: str) -> RedAnswer:
    """State that the branch lost a result that had landed, and why, or has it back; each change is stated once."""
    item = require_landed(call, key)
    if is_gone(call.tx.facts_of(item.id)) is not bool(missing):
        kind = FactKind.LANDING_REFUSED if missing else FactKind.LANDED
        state_fact(call, item, kind, f"{tip}: {missing}" if missing else tip)
    return {"key": item.key, "repair": None, "made": False, "reason": missing}


def is_gone(facts: Sequence[Fact]) -> bool:
    """Tell whether a result that had landed was last seen missing from the branch."""
    landings = [fact.kind for fact in facts if fact.kind in LANDING_SETTLED]
    return FactKind.LANDED in landings and landings[-1] is FactKind.LANDING_REFUSED


def report_green(call: Call, key: str, tip: str) -> RedAnswer:
    """State that a landed result's guards pass at a tip; a repair that nobody has begun is not needed any more."""
    item = require_landed(call, key)
    facts = call.tx.facts_of(item.id)
    looks = [fact for fact in facts if fact.kind in LOOKS]
    if not looks or looks[-1].kind is not FactKind.STILL_GREEN or looks[-1].ref != tip:
        state_fact(call, item, FactKind.STILL_GREEN, tip)
    repair = newest_successor(call.tx, item, facts)
    if repair is not None and repair.state is State.PENDING and not repair.fence:
        reason = f"the checks of {item.key} pass again at {tip}"
        end_lineage(call, repair, Move.CANCEL, ClaimEnd.CANCELLED, reason)
        return {"key": item.key, "repair": repair.key, "made": False, "reason": "not needed any more"}
    return {"key": item.key, "repair": None, "made": False, "reason": ""}


def report_red(call: Call, key: str, tip: str, broken: Sequence[str], served_by: str = "") -> RedAnswer:
    """State that checks of a landed result are red at a tip, and see that one repair of them exists.

    While a repair is open, or has not landed, there is no other; where repairs failed or were cancelled, or mending
    went wrong too often, it is a person's turn. `served_by` names another result's repair that serves this one too.
    """
    item = require_landed(call, key)
    facts = call.tx.facts_of(item.id)
    ref = f"{tip}: {', '.join(broken)}"
    if not any(fact.kind is FactKind.RED_AFTER_LANDING and fact.ref == ref for fact in facts):
        state_fact(call, item, FactKind.RED_AFTER_LANDING, ref)
    known = newest_successor(call.tx, item, facts)
    held = f"{served_by} serves it" if served_by else why_no_repair(call, item, known, facts)
    if held:
        there = served_by or (known.key if known is not None else None)
        return {"key": item.key, "repair": there, "made": False, "reason": held}
    contract = mended(item.key, contract_of(call.tx, item), broken, tip)
    made = successor(call, item, "g", f"red after landing: {ref}", contract)
    return {"key": item.key, "repair": made.key, "made": True, "reason": ""}


def why_no_repair(call: Call, item: Item, known: Item | None, facts: Sequence[Fact]) -> str:
    """Say why no other repair is made now; nothing when one is due."""
    made = sum(fact.kind is FactKind.SUCCEEDED_BY for fact in facts) + repairs_above(item.key)
    if known is not None and known.state not in TERMINAL:
        return f"{known.key} is {known.state}"
    if known is not None and known.state is not State.SUCCEEDED:
        return f"{known.key} is {known.state}: a person must look, and may retry it"
    if known is not None and call.campaign.settings.landing != "none" and not has_landed(call.tx, known):
        return f"{known.key} has not landed yet"
    return f"{made} repairs did not keep it green: a person must look" if made >= MENDED_MAX else ""


def require_landed(call: Call, key: str) -> Item:
    """Return a root whose result landed; only the host looks at branches."""
    if not call.actor.host:
        raise Forbidden("FORBIDDEN", "only the host states facts", hint="bring evidence instead")
    item = require_item(call.tx, call.campaign, key)
    if item.role is not Role.WORK or not has_landed(call.tx, item):
        raise Conflict("NOT_LANDED", f"{item.key} has not landed", hint="only what landed can break after landing")
    return item


def repair_for(tx: Reading, landed: Sequence[Landed], check: Check) -> Item | None:
    """Return the open repair, of whichever landed result, that has the same command to make green."""
    for one in landed:
        repair = newest_successor(tx, one.item, tx.facts_of(one.item.id))
        if repair is None or repair.state in TERMINAL:
            continue
        mends = (mine for mine in contract_of(tx, repair).checks if mine.kind is CheckKind.PROVES)
        if any((mine.command, mine.cwd) == (check.command, check.cwd) for mine in mends):
            return repair
    return None
