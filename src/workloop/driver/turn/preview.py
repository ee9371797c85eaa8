"""What a loop would do now, found by reading alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workloop.domain.campaign import paused
from workloop.domain.clock import Instant, to_text
from workloop.domain.gate import Gate, GateKey, GatePolicy
from workloop.domain.item import Role, State
from workloop.domain.lease import effective_state
from workloop.driver.project import Tell
from workloop.driver.report import LoopEndReason, LoopReport
from workloop.driver.scheduling.blocks import gate_name
from workloop.driver.scheduling.scheduler import Probe, Start, decide
from workloop.driver.scheduling.situation import Halt, Snapshot, TargetView
from workloop.driver.turn.gates import Gates
from workloop.service.call import Queue, require_campaign
from workloop.service.insights import poll

SHOWN_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """One target as a run would find it: its queue, the agents it may begin with, and what holds it back."""

    name: str
    queue: Queue
    gates: tuple[GateKey, ...]
    pause: Halt | None = None
    opens_at: Instant | None = None
    sessions_max: int | None = None


def preview(prospects: Sequence[Prospect], gates: Iterable[Gate], now: Instant, tell: Tell) -> LoopReport:
    """Tell which items would be claimed next, in order, and what the scheduler says; nothing is claimed or written."""
    several = len(prospects) > 1
    details = [preview_queue(prospect, tell if not several else named(prospect.name, tell)) for prospect in prospects]
    tell_decision(prospects, gates, now, tell)
    detail = details[0] if not several else "; ".join(f"{p.name}: {d}" for p, d in zip(prospects, details, strict=True))
    return LoopReport(reason=LoopEndReason.DRY_RUN, attended=0, sessions=0, detail=detail)


def named(name: str, tell: Tell) -> Tell:
    """Say which target something is about."""
    return lambda kind, facts: tell(kind, {"target": name, **facts})


def tell_decision(prospects: Sequence[Prospect], gates: Iterable[Gate], now: Instant, tell: Tell) -> None:
    """Say what the scheduler would choose, and why it would leave the rest."""
    known = Gates(GatePolicy(), lambda kind, facts: None, lambda gates: None)
    known.restore(gates, now)
    keys = dict.fromkeys(gate for prospect in prospects for gate in prospect.gates)
    targets = tuple(
        TargetView(
            name=prospect.name,
            gates=prospect.gates,
            looked=poll(prospect.queue),
            pause=prospect.pause,
            opens_at=prospect.opens_at,
            sessions_max=prospect.sessions_max,
        )
        for prospect in prospects
    )
    decision = decide(
        Snapshot(now=now, targets=targets, gates=tuple(known.view(key, now, probes=True) for key in keys))
    )
    if isinstance(decision.action, Start | Probe):
        verb = "start" if isinstance(decision.action, Start) else "probe"
        tell("would_" + verb, {"target": decision.action.target, "agent": gate_name(decision.action.gate)})
    for reason in decision.reasons:
        facts = {
            "target": reason.about,
            "code": reason.code.value,
            "reason": reason.sentence,
            "unblock": reason.unblock,
        }
        tell("would_wait", facts)


def preview_queue(prospect: Prospect, tell: Tell) -> str:
    """Tell which items of a queue would be claimed next, or say why none."""
    queue = prospect.queue
    looked = poll(queue)
    with queue.store.read() as tx:
        campaign = require_campaign(tx, queue.slug)
        cap = campaign.settings.candidates_max
        full = tx.candidates_open(campaign.id, cap) >= cap
        ready = tx.items_ready(campaign.id, follow_ups_only=full, skip=0, limit=SHOWN_MAX)
        due = tx.items_due(campaign.id, tx.now, SHOWN_MAX)
        lapsed = tx.items_expired(campaign.id, tx.now, SHOWN_MAX)
        free = [item for item in lapsed if effective_state(item, tx.now) is State.PENDING]
        held = paused(campaign, tx.now)
    found = [item for item in (*ready, *due, *free) if not (full and item.role is Role.WORK)]
    if not held:
        for item in found[:SHOWN_MAX]:
            tell("would_claim", {"key": item.key, "role": item.role.value, "title": item.title})
    return said(len(found), looked.next_wake, held=held)


def said(found: int, next_wake: Instant | None, *, held: bool) -> str:
    """Say in a sentence what a loop would find."""
    if held:
        return "the campaign is paused: nothing would be claimed"
    if found:
        return f"{found if found < SHOWN_MAX else f'at least {SHOWN_MAX}'} items could be claimed now"
    later = f"; something changes at {to_text(next_wake)}" if next_wake is not None else ""
    return f"nothing is claimable now{later}"
