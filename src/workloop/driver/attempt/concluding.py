"""How the loop ends a claim that its sessions left open, as the table of outcomes says."""

from dataclasses import replace
from typing import Final, assert_never

from workloop.domain.clock import Instant, to_text
from workloop.domain.errors import BudgetSpent, Refusal
from workloop.domain.gate import DAY_US, MINUTE_US, Entry
from workloop.domain.ids import ItemId, id_number
from workloop.domain.progress import report_of
from workloop.domain.question import Brake
from workloop.domain.resumption import BACK_OFF_MOST_US
from workloop.domain.session import head
from workloop.driver.attempt.hints import Hint, hint_notes
from workloop.driver.attempt.holding import Held, Lease
from workloop.driver.attempt.insisting import insist, settled
from workloop.driver.attempt.outcomes import OUTCOMES, RESUMABLE, Counter, EndClass, ItemEnd
from workloop.driver.attempt.starting import Ended
from workloop.driver.project import Project, SessionKit
from workloop.service.answering import park_item
from workloop.service.braking import brake, give_up
from workloop.service.call import Call, Queue, require_campaign, require_item
from workloop.service.perform import perform, run_as_host
from workloop.service.requests.words import Answer, Written
from workloop.service.settling import forfeit

NOT_SETTLED: Final = "the session ended without settling"
HEAD_REFUSED: Final = "the commit that the session left was refused"
REFUSED: Final = "refused"
"""The field of a claim's report in which the host says what the next attempt must mend before its commit is taken."""
SAID: Final = "said"
SAID_CHARACTERS_MAX: Final = 2_000
PROBLEM_CHARACTERS_MAX: Final = 600
CLASS: Final = "class"
LIMIT_UNKNOWN_US: Final = 15 * MINUTE_US
LIMIT_FURTHEST_US: Final = 8 * DAY_US
UNREADABLE_MAX: Final = 5
UNREADABLE_FIRST_US: Final = 15 * MINUTE_US
UNREADABLE_MOST_US: Final = 120 * MINUTE_US


async def conclude(project: Project, kit: SessionKit, lease: Lease, last: Ended) -> Hint | None:
    """End a claim by the class of its last session; returns what may be gone on with, None when nothing is kept.

    What the queue's record says outranks it: a claim that has ended is left alone.
    """
    if lease.lost or last.kind is EndClass.SETTLED or await settled(project, lease):
        return None
    hint = hint_left(kit, lease, last)
    lease.note({CLASS: last.kind.value, SAID: head(last.report.final_text.strip(), SAID_CHARACTERS_MAX)})
    lease.note(hint_notes(hint))
    lease.ending = True
    await insist(project, lease, end_claim, project, lease, last, not_before(project, kit, last))
    return hint


def hint_left(kit: SessionKit, lease: Lease, last: Ended) -> Hint | None:
    """Return how a later attempt may go on, where the end was no doing of the session's.

    The phase is kept in any such case; the conversation and its work tree only where the program can resume and its
    tree is an attempt's own.
    """
    if OUTCOMES[last.kind].counter is not Counter.INFRA:
        return None
    facts, tree = last.facts, lease.witness.tree if lease.witness is not None else None
    here = Hint(phase=facts.phase)
    if tree is None or last.kind not in RESUMABLE or not kit.harness.capabilities.resumes or not last.resume_id:
        return here if facts.phase else None
    return replace(
        here,
        harness=facts.gate.harness,
        account=facts.gate.account,
        resume_id=last.resume_id,
        session=facts.session_id,
        path=str(tree.path),
        sha=lease.witness.tip() if lease.witness is not None else "",
        vain=last.vain,
    )


def end_claim(project: Project, lease: Lease, last: Ended, later: Instant | None) -> None:
    """Settle by the host's word, `later` where the item is held back; a claim that ended meanwhile is left alone."""
    held, row = lease.held, OUTCOMES[last.kind]
    cause = f"session {last.facts.session_id} ended as {last.kind}: {last.report.detail or 'it settled nothing'}"
    try:
        match row.item:
            case ItemEnd.AS_SETTLED | ItemEnd.SALVAGED:
                return
            case ItemEnd.NUDGED if lease.refused:
                retry_refused(project, lease)
            case ItemEnd.NUDGED | ItemEnd.RETRY:
                retry(project, lease, cause, row.next_action)
            case ItemEnd.CHANGED:
                retry_if_changed(project, lease, last, cause)
            case ItemEnd.AT_RESET | ItemEnd.BACK_OFF | ItemEnd.RELEASE:
                release_infra(project, held, cause, later, queue_of(project, lease))
            case ItemEnd.UNJUDGED:
                release_unjudged(project, lease, last, cause)
            case ItemEnd.FORFEIT:
                lease.note({"next_action": row.next_action})
                host_call(project, lease, "forfeit", lambda call: forfeit(call, held.token, cause))
            case _:
                assert_never(row.item)
    except Refusal as refused:
        project.tell("refused", {"key": held.key, "error": str(refused)})


def queue_of(project: Project, lease: Lease) -> Queue:
    """Return the queue as it takes down what the host saw of this claim, and holds back what brought nothing."""
    return replace(project.queue, witness=lease.witness, brake=project.brake)


def host_call(project: Project, lease: Lease, name: str, run: Written) -> Answer:
    """Run one of the host's own use cases on a claim."""
    return run_as_host(queue_of(project, lease), project.host, name, run)


def retry_refused(project: Project, lease: Lease) -> None:
    """Count an attempt whose commit was not taken; the next one is told why, in the host's words on one line."""
    problem = head(" ".join(lease.refused.split()), PROBLEM_CHARACTERS_MAX)
    advice = f"mend what the last commit was refused for: {problem}"
    lease.note({REFUSED: advice})
    retry(project, lease, f"{HEAD_REFUSED}: {problem}", advice, HEAD_REFUSED)


def retry(project: Project, lease: Lease, cause: str, next_action: str, failed: str = NOT_SETTLED) -> None:
    """Count an attempt and give the item back for another one, which is told what this one lacked."""
    arguments = {
        "token": lease.held.token,
        "failed": failed,
        "cause": cause,
        "next_action": next_action,
        "escalate": True,
    }
    perform(queue_of(project, lease), project.host, "retry", arguments)


def retry_if_changed(project: Project, lease: Lease, last: Ended, cause: str) -> None:
    """Try again when the contract was changed meanwhile; else the same session would meet the same ceiling: park it.

    The model and the ceilings are the loop's settings, which do not change while it runs; a person who raises them
    answers the question.
    """
    held = lease.held
    if contract_now(project, held) != held.contract_hash:
        retry(project, lease, cause, OUTCOMES[last.kind].next_action)
        return
    met = ": ".join(part for part in (last.kind.replace("_", " "), last.report.detail) if part)
    asks = (
        f"A session met a ceiling on {held.key} ({met}), and another one would meet it, too. "
        "Split the item, or raise the ceiling or name another model in the settings; then answer here."
    )
    project.tell("parked", {"key": held.key, "error": asks})
    host_call(project, lease, "park", lambda call: give_up(call, held.token, Brake.REMEDY_NEEDED, asks, cause))


def contract_now(project: Project, held: Held) -> str:
    """Return the hash of an item's present contract."""
    with project.queue.store.read() as tx:
        item = tx.item_get(ItemId(id_number(held.item_id)))
    return item.contract_hash if item is not None else ""


def release_infra(project: Project, held: Held, reason: str, later: Instant | None, queue: Queue | None = None) -> None:
    """Give a claim back because of something that was not the worker's doing."""
    arguments = {"token": held.token, "reason": reason, "infra": True}
    if later is not None:
        arguments["not_before"] = to_text(later)
    perform(queue or project.queue, project.host, "release", arguments)


def not_before(project: Project, kit: SessionKit, last: Ended) -> Instant | None:
    """Return how long an item is held back after a limit or a passing failure; a reset beyond belief is cut short.

    What another agent may take up at once waits for no limit of this one.
    """
    now = project.now()
    match last.kind:
        case EndClass.LIMITED if any(kit.oversight.admission(other).entry is Entry.GO for other in kit.others):
            return None
        case EndClass.LIMITED:
            reset = last.report.reset_at or Instant(now + LIMIT_UNKNOWN_US)
            return min(reset, Instant(now + LIMIT_FURTHEST_US)) if reset > now else None
        case EndClass.TRANSIENT:
            return Instant(now + BACK_OFF_MOST_US)
        case _:
            return None


def release_unjudged(project: Project, lease: Lease, last: Ended, cause: str) -> None:
    """Conclude nothing from what could not be read: give the item back and wait longer each time.

    When that happens again and again, a person must look at the program's output; no attempt was counted.
    """
    held = lease.held
    times = unreadable_before(project, held) + 1
    if times < UNREADABLE_MAX:
        wait_us = min(UNREADABLE_FIRST_US << (times - 1), UNREADABLE_MOST_US)
        release_infra(project, held, cause, Instant(project.now() + wait_us), queue_of(project, lease))
        return
    asks = (
        f"What {last.facts.gate.harness or 'the agent'} printed on {held.key} could not be read, {times} times in a "
        "row. See the sessions' logs, install a version that is known, then answer here."
    )
    project.tell("parked", {"key": held.key, "error": asks})
    host_call(project, lease, "park", lambda call: park_root(call, held, asks, cause))


def park_root(call: Call, held: Held, asks: str, cause: str) -> Answer:
    """Park a claim's item without counting an attempt; of a verifier its root."""
    key = held.root if held.role == "verify" else require_item(call.tx, call.campaign, held.key).key
    return dict(park_item(call, key, Brake.REMEDY_NEEDED.value, asks, cause))


def raise_question(project: Project, key: str, asks: str, evidence: str) -> tuple[str, str]:
    """Park an item with the question that names the remedy; returns its key and the question's number."""
    brake = Brake.REMEDY_NEEDED.value
    run_as_host(project.queue, project.host, "park", lambda call: park_item(call, key, brake, asks, evidence))
    with project.queue.store.read() as tx:
        item = tx.item_by_key(require_campaign(tx, project.queue.slug).id, key)
        questions = tx.questions_of(item.id) if item is not None else []
    return key, str(questions[-1].number if questions else 0)


def park_spent(project: Project, lease: Lease, spent: BudgetSpent) -> None:
    """Park an item that has used up its own budget, with the question that names the ceiling and its knob."""
    held = lease.held
    asks = (
        f"{held.root} has used up its budget: {spent.message}. To go on, {spent.hint}; then answer here. "
        "Answered without that, it comes back here before anything is spent."
    )
    project.tell("parked", {"key": held.key, "error": spent.message})
    host_call(project, lease, "park", lambda call: park_root(call, held, asks, spent.message))


def unreadable_before(project: Project, held: Held) -> int:
    """Count the claims before this one, without a gap, that ended because nothing could be read."""
    with project.queue.store.read() as tx:
        claims = [claim for claim in tx.claims_of(ItemId(id_number(held.item_id))) if claim.fence < held.attempt]
    times = 0
    for claim in reversed(claims):
        if report_of(claim).get(CLASS) != EndClass.UNTRUSTED.value:
            break
        times += 1
    return times


def apply_brake(project: Project, held: Held) -> None:
    """Say so when the item is held back, or parked, because its ended claims brought nothing."""
    item_id = ItemId(id_number(held.item_id))
    found = run_as_host(project.queue, project.host, "brake", lambda call: brake(call, item_id, project.brake))
    if found.get("brake") == Brake.NO_PROGRESS.value:
        project.tell("parked", {"key": held.key, "error": f"{found['fruitless']} attempts in a row brought nothing"})
    elif "not_before" in found:
        project.tell("held_back", {"key": held.key, "until": found["not_before"], "fruitless": found["fruitless"]})
