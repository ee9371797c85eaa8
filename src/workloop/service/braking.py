"""How an item that brings nothing is held back, then parked for a person; decided from its ended claims alone."""

from typing import NotRequired, TypedDict

from workloop.domain.clock import Instant, to_text
from workloop.domain.errors import Forbidden
from workloop.domain.ids import ItemId
from workloop.domain.item import Item, Role, State
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.progress import BrakePolicy, Going, effort_of, going, report_of
from workloop.domain.question import Brake
from workloop.service.answering import ParkAnswer, park_item
from workloop.service.call import Call
from workloop.service.ending import close, owned, park

OUTSIDE = "outside"
"""The field of a claim's report that says: somebody else had moved the work on before this attempt began."""

STUCK = (
    "{key} was worked on {fruitless} times in a row and nothing came of it: no new commit, no settled claim. "
    "Split it, change its contract or its tools and say so here, or cancel it."
)


class BrakeAnswer(TypedDict):
    """Where an item stands with its brake: fruitless attempts in a row, and what followed."""

    key: str
    state: str
    fruitless: int
    not_before: NotRequired[str]
    brake: NotRequired[str]


def brake(call: Call, item_id: ItemId, policy: BrakePolicy) -> BrakeAnswer:
    """Hold an item back, or park it, as its ended attempts demand; one that was taken again meanwhile is left alone."""
    require_host(call)
    return hold_back(call, item_id, policy)


def hold_back(call: Call, item_id: ItemId, policy: BrakePolicy) -> BrakeAnswer:
    """Do what a brake does, once for each ended claim; says where the item stands also when it was done before."""
    item = call.item(item_id)
    claims = call.tx.claims_of(item_id)
    found = stands(call, item, claims, policy)
    answer: BrakeAnswer = {"key": item.key, "state": item.state.value, "fruitless": found.fruitless}
    if item.parked_as is not None:
        answer["brake"] = item.parked_as
    if item.state is not State.PENDING:
        return answer
    if found.park and item.role is not Role.VERIFY:
        asks = STUCK.format(key=item.key, fruitless=found.fruitless)
        parked = park(call, item, Brake.NO_PROGRESS, asks, causes(claims))
        return {**answer, "state": parked.state.value, "brake": Brake.NO_PROGRESS.value}
    until = found.wait_until if not found.park else longest_wait(claims, policy)
    if until is None or until <= call.now or until < (item.wake_at or until):
        return answer
    if until != item.wake_at:
        call.change(item, None, {"fruitless": found.fruitless}, wake_at=until)
    return {**answer, "not_before": to_text(until)}


def stands(call: Call, item: Item, claims: list[Claim], policy: BrakePolicy) -> Going:
    """Fold an item's attempts since a person's last word on it and since somebody else moved it on."""
    efforts = [effort for claim in claims if (effort := effort_of(claim)) is not None]
    decided = [question.answered_at for question in call.tx.questions_of(item.id) if question.answered_at is not None]
    outside = [claim.claimed_at for claim in claims if report_of(claim).get(OUTSIDE) is True]
    return going(efforts, decided, outside, policy)


def longest_wait(claims: list[Claim], policy: BrakePolicy) -> Instant | None:
    """Return until when a follow-up waits, which is never parked by itself; its ceilings end it."""
    ended = [claim.ended_at for claim in claims if claim.ended_at is not None]
    if not ended or not policy.waits_us:
        return None
    return Instant(max(ended) + policy.waits_us[-1])


def causes(claims: list[Claim]) -> str:
    """Say in short how the last attempts ended."""
    reports = [(claim, report_of(claim)) for claim in claims[-3:]]
    return "\n".join(
        f"attempt {claim.fence}: {claim.end}; {report.get('cause') or report.get('reason') or 'no reason given'}"
        for claim, report in reports
    )


def give_up(call: Call, token: str, name: Brake, asks: str, evidence: str) -> ParkAnswer:
    """End a claim as an attempt and park its item with a question; a verifier's root is parked in its place.

    The last attempt is not used up by it: whoever answers wants the item tried once more.
    """
    require_host(call)
    item, claim = owned(call, token)
    if item.role is Role.VERIFY:
        return park_item(call, call.item(item.lineage).key, name.value, asks, evidence)
    close(call, claim, ClaimEnd.PARKED)
    parked = park(call, item, name, asks, evidence, attempts=min(item.attempts + 1, item.attempts_max - 1))
    return {"key": parked.key, "state": parked.state.value}


def require_host(call: Call) -> None:
    """Refuse everybody but the host."""
    if not call.actor.host:
        raise Forbidden("FORBIDDEN", "only the host sets brakes", hint="defer to a boundary of the contract")
