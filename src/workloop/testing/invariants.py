"""What must hold of a campaign whatever was done to it: ten promises, read through the port."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from workloop.domain.campaign import Independence
from workloop.domain.clock import Instant
from workloop.domain.contract import contract_hash, from_canonical
from workloop.domain.evidence import Origin
from workloop.domain.happening import RECORDED
from workloop.domain.ids import ItemId, follow_up_key
from workloop.domain.item import TERMINAL, Item, Role, State, Verification
from workloop.domain.lane import LaneState, left_over
from workloop.domain.lease import Claim, expired
from workloop.domain.question import FactKind, QuestionKind
from workloop.domain.verdict import CandidateRow, CandidateState, Outcome
from workloop.store.port import Store
from workloop.testing.check_promises import one_verdict_each, rewritten
from workloop.testing.snapshot import Dossier, Snapshot, take_at

CLOSED = "closed"
COUNTERS = ("attempts", "expiries", "infra", "free_releases", "fence", "round", "verifiers", "rejections")


@dataclass(frozen=True)
class View:
    """A snapshot with the look-ups that the promises share."""

    snapshot: Snapshot
    now: Instant
    after_expiry: bool

    @property
    def dossiers(self) -> list[Dossier]:
        """Return every item's dossier."""
        return list(self.snapshot.dossiers.values())

    def item(self, item_id: ItemId) -> Item:
        """Return an item."""
        return self.snapshot.dossiers[item_id].item

    @cached_property
    def by_root(self) -> dict[ItemId, list[Dossier]]:
        """Return the follow-ups of each root."""
        found: dict[ItemId, list[Dossier]] = {}
        for dossier in self.dossiers:
            if dossier.item.root_id is not None:
                found.setdefault(dossier.item.root_id, []).append(dossier)
        return found

    def follow_ups(self, root: Item, role: Role) -> list[Dossier]:
        """Return a root's follow-ups of one role, by number."""
        own = [dossier for dossier in self.by_root.get(root.id, ()) if dossier.item.role is role]
        return sorted(own, key=lambda dossier: dossier.item.round)

    @cached_property
    def open_claims(self) -> list[Claim]:
        """Return every claim that has not ended."""
        return [claim for dossier in self.dossiers for claim in dossier.claims if claim.ended_at is None]


def check_invariants(store: Store, slug: str, *, after_expiry: bool = False) -> list[str]:
    """Return what is broken, each with the number of its promise; nothing may be lapsed after an expiry."""
    snapshot, now = take_at(store, slug)
    return check_snapshot(snapshot, now, after_expiry=after_expiry)


def check_snapshot(snapshot: Snapshot, now: Instant, *, after_expiry: bool = False) -> list[str]:
    """Return what is broken in a snapshot."""
    view = View(snapshot, now, after_expiry)
    return [f"{number}: {broken}" for number, promise in PROMISES for broken in promise(view)]


def compare(before: Snapshot, after: Snapshot) -> list[str]:
    """Return what was lost or rewritten between two snapshots of one campaign."""
    broken = [f"8: {gone.item.key} is gone" for gone in before.dossiers.values() if gone.item.id not in after.dossiers]
    for old in before.dossiers.values():
        new = after.dossiers.get(old.item.id)
        if new is None:
            continue
        if new.events[: len(old.events)] != old.events:
            broken.append(f"8: the events of {old.item.key} were rewritten")
        if old.item.state in TERMINAL and new.item != old.item:
            broken.append(f"9: {old.item.key} was {old.item.state} and changed")
        broken += [f"5: {lost}" for lost in rewritten(old, new)]
        fallen = [name for name in COUNTERS if getattr(new.item, name) < getattr(old.item, name)]
        broken += [f"3: {name} of {old.item.key} fell" for name in fallen]
    return broken


def one_owner(view: View) -> Iterator[str]:
    """1: at most one open claim per item and per executor, each with exactly one slot."""
    held = Counter((slot.item_id, slot.executor) for slot in view.snapshot.slots if slot.item_id is not None)
    claims = Counter((claim.item_id, claim.executor) for claim in view.open_claims)
    if held != claims:
        yield f"slots hold {dict(held)}, open are the claims {dict(claims)}"
    for what, counted in (
        ("item", Counter(claim.item_id for claim in view.open_claims)),
        ("executor", Counter(claim.executor for claim in view.open_claims)),
    ):
        for name, number in counted.items():
            if number > 1:
                yield f"{what} {name} has {number} open claims"


def in_progress_is_owned(view: View) -> Iterator[str]:
    """2: in_progress and an open claim are the same thing, and none is lapsed after an expiry."""
    for dossier in view.dossiers:
        item, fences = dossier.item, [claim.fence for claim in dossier.claims]
        if fences != list(range(1, item.fence + 1)):
            yield f"{item.key} has the fence {item.fence} and claims {fences}"
        open_fences = [claim.fence for claim in dossier.claims if claim.ended_at is None]
        if open_fences != ([item.fence] if item.state is State.IN_PROGRESS else []):
            yield f"{item.key} is {item.state} at fence {item.fence} with open claims {open_fences}"
        if item.state is State.IN_PROGRESS and view.after_expiry and expired(item.lease_until, view.now):
            yield f"{item.key} is lapsed and still in progress"


def counters_hold(view: View) -> Iterator[str]:
    """3: counters never fall, and stay within their ceilings; an item at its ceiling is not handed out."""
    for dossier in view.dossiers:
        item = dossier.item
        if not (0 <= item.attempts <= item.attempts_max and 0 <= item.expiries <= item.expiries_max):
            yield f"{item.key} passed a ceiling"
        spent = item.attempts == item.attempts_max or item.expiries == item.expiries_max
        if spent and item.state in (State.PENDING, State.IN_PROGRESS):
            yield f"{item.key} is {item.state} at its ceiling"
        for name in COUNTERS:
            values = [event.changes[name] for event in dossier.events if name in event.changes]
            numbers = [value for value in values if isinstance(value, int)]
            if numbers != sorted(numbers):
                yield f"{name} of {item.key} fell: {numbers}"


def candidates_are_judged(view: View) -> Iterator[str]:
    """4: a candidate has one of open verifier, verdict, brake, stale mark; a rejection has one repair or a failure."""
    for dossier in view.dossiers:
        root = dossier.item
        if root.root_id is not None:
            if dossier.candidates or dossier.verdicts:
                yield f"the follow-up {root.key} has candidates of its own"
            continue
        if [row.round for row in dossier.candidates] != list(range(1, root.round + 1)):
            yield f"{root.key} is in round {root.round} with {len(dossier.candidates)} candidates"
        judges = [other.item for other in view.follow_ups(root, Role.VERIFY) if other.item.state not in TERMINAL]
        for row in dossier.candidates:
            yield from candidate_has_one(dossier, row, judges)
        if judges and not any(row.state is CandidateState.OPEN for row in dossier.candidates):
            yield f"{root.key} has open verifiers and nothing to judge"
        yield from rejections_are_repaired(view, dossier)


def candidate_has_one(dossier: Dossier, row: CandidateRow, judges: list[Item]) -> Iterator[str]:
    """Check one candidate against its verifier, verdict, brake or stale mark."""
    root = dossier.item
    name = f"candidate {row.round} of {root.key}"
    verdicts = [verdict for verdict in dossier.verdicts if verdict.round == row.round]
    judged = {CandidateState.PASSED: Outcome.PASSED, CandidateState.REJECTED: Outcome.REJECTED}.get(row.state)
    if [verdict.outcome for verdict in verdicts] != ([] if judged is None else [judged]):
        yield f"{name} is {row.state} with verdicts {[verdict.outcome.value for verdict in verdicts]}"
    if row.state is CandidateState.STALE and root.state not in TERMINAL:
        yield f"{name} is stale and its root {root.state}"
    if row.state is not CandidateState.OPEN:
        return
    braked = root.state is State.DEFERRED and root.resume_state is State.CANDIDATE
    if [judge.id for judge in judges] != ([] if braked else [row.verifier_id]):
        yield f"{name} is open, braked: {braked}, with verifiers {[judge.key for judge in judges]}"
    if row.round != root.round or root.state not in (State.CANDIDATE, State.DEFERRED):
        yield f"{name} is open in round {root.round} of a root that is {root.state}"


def rejections_are_repaired(view: View, dossier: Dossier) -> Iterator[str]:
    """Check that each rejection has exactly one repair item, or failed its root."""
    root, repairs = dossier.item, view.follow_ups(dossier.item, Role.REPAIR)
    rejected = sum(row.state is CandidateState.REJECTED for row in dossier.candidates)
    if root.rejections != rejected:
        yield f"{root.key} counts {root.rejections} rejections of {rejected}"
    wanted = rejected - 1 if root.state is State.FAILED and rejected >= root.rounds_max else rejected
    if [repair.item.round for repair in repairs] != list(range(1, wanted + 1)):
        yield f"{root.key} has {rejected} rejections, is {root.state} and has {len(repairs)} repairs"
    open_repairs = [repair.item.key for repair in repairs if repair.item.state not in TERMINAL]
    if len(open_repairs) != (1 if root.state is State.REPAIRING else 0):
        yield f"{root.key} is {root.state} with open repairs {open_repairs}"


def success_is_proven(view: View) -> Iterator[str]:
    """5: a verified success has a passed verdict of an outsider on its newest candidate, a check one on a commit."""
    for dossier in view.dossiers:
        root = dossier.item
        yield from one_verdict_each(dossier, view.follow_ups(root, Role.VERIFY))
        if root.role is Role.WORK and root.state is State.SUCCEEDED and root.verification is not Verification.NONE:
            yield from proof_of(view, dossier)


def proof_of(view: View, dossier: Dossier) -> Iterator[str]:
    """Check the proof of one verified success."""
    root, newest = dossier.item, dossier.candidates[-1] if dossier.candidates else None
    passed = newest is not None and newest.state is CandidateState.PASSED and bool(dossier.verdicts)
    if newest is None or not passed or newest.ref != root.candidate_sha:
        yield f"{root.key} succeeded without a passed newest candidate"
        return
    verdict, judge = dossier.verdicts[-1], view.snapshot.dossiers.get(newest.verifier_id or ItemId(0))
    if judge is None or (verdict.verifier_id, verdict.round, verdict.ref) != (judge.item.id, newest.round, newest.ref):
        yield f"{root.key} succeeded by a verdict on another candidate"
        return
    contract, own = from_canonical(judge.contracts[-1]), from_canonical(dossier.contracts[-1])
    if contract.candidate is None or contract.candidate.ref != newest.ref or contract.versions != own.versions:
        yield f"{root.key} was judged against another candidate or other versions"
    builders = [*dossier.claims, *(c for repair in view.follow_ups(root, Role.REPAIR) for c in repair.claims)]
    last = judge.claims[-1]
    if {verdict.executor, last.executor} & {claim.executor for claim in builders}:
        yield f"{root.key} was verified by one of its builders"
    strict = view.snapshot.campaign.settings.independence is Independence.PRINCIPAL
    if strict and last.principal in {claim.principal for claim in builders}:
        yield f"{root.key} was verified by the principal of one of its builders"
    receipts = {
        piece.slot
        for piece in judge.evidence
        if piece.origin is Origin.RECEIPT and piece.candidate_ref == newest.ref and piece.result == "passed"
    }
    missing = [check.id for check in contract.checks if check.id not in receipts]
    if missing:
        yield f"{root.key} succeeded without receipts for {missing}"


def subjects_are_exclusive(view: View) -> Iterator[str]:
    """6: at most one live version per (family, subject); blockers count the unmet edges; nothing waits for ever."""
    live = Counter(
        (item.family, item.subject)
        for item in (dossier.item for dossier in view.dossiers)
        if item.role is Role.WORK and item.family is not None and item.state not in TERMINAL and not item.blockers
        if item.state is not State.PROPOSED
    )
    yield from (f"{number} live versions of {subject}" for subject, number in live.items() if number > 1)
    for dossier in view.dossiers:
        item, unmet = dossier.item, [edge for edge in dossier.edges if not edge.met]
        if item.state in TERMINAL:
            continue
        if item.blockers != len(unmet):
            yield f"{item.key} counts {item.blockers} blockers of {len(unmet)}"
        if item.state is not State.PROPOSED and item.gated != any(edge.until == CLOSED for edge in unmet):
            yield f"{item.key} is gated: {item.gated}, with {unmet}"
        for edge in unmet:
            needed = view.item(edge.needs_id)
            if needed.state in REACHED[edge.until] or needed.state is State.SUPERSEDED:
                yield f"{item.key} waits until {needed.key} is {edge.until}, and it is {needed.state}"
    yield from (f"{key} waits for itself" for key in circles(view))


REACHED = {
    "candidate": frozenset({State.CANDIDATE, State.SUCCEEDED}),
    "verified": frozenset({State.SUCCEEDED}),
    "landed": frozenset[State](),
    CLOSED: TERMINAL,
}


def circles(view: View) -> Iterator[str]:
    """Yield the keys of open items that wait for themselves around a circle."""
    waits = {
        dossier.item.id: {edge.needs_id for edge in dossier.edges if not edge.met}
        for dossier in view.dossiers
        if dossier.item.state not in TERMINAL
    }
    for start, needs in waits.items():
        seen: set[ItemId] = set()
        stack = list(needs)
        while stack:
            needed = stack.pop()
            if needed not in seen:
                seen.add(needed)
                stack += waits.get(needed, ())
        if start in seen:
            yield view.item(start).key


def lanes_are_owned(view: View) -> Iterator[str]:
    """7: a lane's owner has an open claim, grants never overlap, and what is left makes a lane dirty."""
    owners = {(claim.item_id, claim.fence) for claim in view.open_claims}
    for lane in view.snapshot.lanes:
        grants = [grant for grant in view.snapshot.grants if grant.lane == lane.name]
        if [grant.grant for grant in grants] != list(range(1, lane.grant + 1)):
            yield f"lane {lane.name} has {len(grants)} grants at number {lane.grant}"
            continue
        held = lane.state is LaneState.HELD
        if held != (lane.item_id is not None) or (held and (lane.item_id, lane.fence) not in owners):
            yield f"lane {lane.name} is {lane.state}, owned by {lane.item_id} at fence {lane.fence}"
        ends = [grant.ended_at for grant in grants]
        if any(end is None for end in ends[:-1]) or (bool(ends) and (ends[-1] is None) != held):
            yield f"lane {lane.name} is {lane.state} with grants ended at {ends}"
        for earlier, later in pairwise(grants):
            if earlier.ended_at is not None and later.granted_at < earlier.ended_at:
                yield f"grants {earlier.grant} and {later.grant} of lane {lane.name} overlap"
        dirty = not held and bool(grants) and bool(left_over(grants[-1]))
        if dirty != (lane.state is LaneState.DIRTY):
            yield f"lane {lane.name} is {lane.state} with things left in it: {dirty}"


def history_rebuilds(view: View) -> Iterator[str]:
    """8: an item's events are dense and ordered, and replaying them rebuilds all but lease times."""
    for dossier in view.dossiers:
        item, rebuilt = dossier.item, dict[str, object]()
        for event in dossier.events:
            rebuilt.update(event.changes)
        numbers, ids = [event.n for event in dossier.events], [event.id for event in dossier.events]
        if numbers != list(range(1, item.events + 1)) or ids != sorted(set(ids)):
            yield f"{item.key} counts {item.events} events of {numbers}"
        times = [event.at for event in dossier.events]
        if times != sorted(times):
            yield f"the events of {item.key} go back in time"
        wanted = {name: plain(getattr(item, name)) for name in RECORDED}
        differing = [name for name, value in wanted.items() if rebuilt.get(name) != value or name not in rebuilt]
        if differing:
            yield f"the events of {item.key} do not rebuild {differing}"
        if [contract_hash(text) for text in dossier.contracts[-1:]] != [item.contract_hash]:
            yield f"the contract of {item.key} does not have its hash"


def plain(value: object) -> object:
    """Return a field as an event writes it."""
    return value.value if isinstance(value, StrEnum) else value


def ends_are_final(view: View) -> Iterator[str]:
    """9: nothing happens to a terminal item or below a terminal root; deferred and an open question are the same."""
    for dossier in view.dossiers:
        item = dossier.item
        ends = [event.n for event in dossier.events if event.changes.get("state") in TERMINAL]
        if ends != ([item.events] if item.state in TERMINAL else []):
            yield f"{item.key} is {item.state} after {item.events} events and ended at {ends}"
        if item.root_id is not None and item.state not in TERMINAL and view.item(item.root_id).state in TERMINAL:
            yield f"{item.key} is open below a root that is {view.item(item.root_id).state}"
        asked = [question for question in dossier.questions if question.answered_at is None]
        if len(asked) != (1 if item.state is State.DEFERRED else 0):
            yield f"{item.key} is {item.state} with {len(asked)} open questions"
        brakes = [question for question in asked if question.kind is QuestionKind.BRAKE]
        if item.resume_state is State.CANDIDATE and item.state is State.DEFERRED and not brakes:
            yield f"{item.key} is a candidate deferred without a brake"


def derived_keys_are_single(view: View) -> Iterator[str]:
    """10: derived keys exist once and are numbered without gaps; an ended item has one open successor at most."""
    keys = Counter(dossier.item.key for dossier in view.dossiers)
    yield from (f"{number} items have the key {key}" for key, number in keys.items() if number > 1)
    for dossier in view.dossiers:
        root = dossier.item
        if root.role is not Role.WORK:
            continue
        for role, letter in ((Role.VERIFY, "v"), (Role.REPAIR, "r")):
            found = [other.item.key for other in view.follow_ups(root, role)]
            if found != [follow_up_key(root.key, letter, number) for number in range(1, len(found) + 1)]:
                yield f"{root.key} has the {role} items {found}"
        if len(view.follow_ups(root, Role.VERIFY)) != root.verifiers:
            yield f"{root.key} counts {root.verifiers} verifiers"
        named = [fact.ref for fact in dossier.facts if fact.kind is FactKind.SUCCEEDED_BY]
        alive = [other.item.key for other in view.dossiers if other.item.key in named]
        alive = [key for key in alive if any(d.item.key == key and d.item.state not in TERMINAL for d in view.dossiers)]
        if len(named) != len(set(named)) or len(alive) > 1:
            yield f"{root.key} has the successors {named}, open: {alive}"


PROMISES: tuple[tuple[int, Callable[[View], Iterator[str]]], ...] = (
    (1, one_owner),
    (2, in_progress_is_owned),
    (3, counters_hold),
    (4, candidates_are_judged),
    (5, success_is_proven),
    (6, subjects_are_exclusive),
    (7, lanes_are_owned),
    (8, history_rebuilds),
    (9, ends_are_final),
    (10, derived_keys_are_single),
)
