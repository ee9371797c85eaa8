"""What any store promises of claims, proof, questions, facts, lanes, events and requests."""

from dataclasses import replace

from workloop.domain.clock import later
from workloop.domain.evidence import CheckVerdict
from workloop.domain.ids import EventId, Fence, ItemId
from workloop.domain.item import Role, State
from workloop.domain.lane import Lane, LaneGrant, LaneState
from workloop.domain.question import Fact, FactKind
from workloop.domain.verdict import CandidateState, Outcome, Verdict
from workloop.store.port import Request
from workloop.testing.clocks import BEGINNING
from workloop.testing.store_contract.rows import (
    SHA,
    MakeStore,
    Stage,
    ended_claim,
    event_of,
    expect,
    expect_refused,
    expect_same,
    moved,
    new_candidate,
    new_check_verdict,
    new_claim,
    new_evidence,
    new_item,
    new_question,
    new_receipt,
    stage,
)


def with_item(make_store: MakeStore, **settings: object) -> Stage:
    """Make a store with one item."""
    on = stage(make_store, **settings)
    on.add(new_item(1))
    return on


def a_claim_is_unique(make_store: MakeStore) -> None:
    """Constraint: unique (item, fence), of an item that exists."""
    on = with_item(make_store)
    held = on.claim(1, "builder")
    again = new_claim(held, "other", BEGINNING)
    expect_refused(on.store, lambda txn: txn.claim_insert(again))
    expect_refused(on.store, lambda txn: txn.claim_insert(replace(again, item_id=ItemId(99))))


def a_claim_ends_once(make_store: MakeStore) -> None:
    """claim_end: closes an open claim, and never one that has ended."""
    on = with_item(make_store)
    claim = new_claim(on.claim(1, "builder"), "builder", BEGINNING)
    end = ended_claim(claim, later(BEGINNING, 9))
    with on.store.write() as txn:
        expect_same([txn.claim_end(end), txn.claim_end(replace(end, report="other"))], [True, False])
        expect(not txn.claim_end(replace(end, fence=Fence(9))), "an unknown claim is not ended")
        expect_same(txn.claim_get(claim.item_id, claim.fence), end)
        expect_same(txn.claims_of(claim.item_id), [end])


def the_builders_are_the_root_and_its_repairs(make_store: MakeStore) -> None:
    """claims_building: claims of the root and its repair items, not of its verifiers."""
    on = with_item(make_store)
    on.add(new_item(2, role=Role.REPAIR, root_id=ItemId(1)), new_item(3, role=Role.VERIFY, root_id=ItemId(1)))
    for number in (3, 2, 1):
        on.claim(number, f"w{number}")
    with on.store.read() as view:
        expect_same([claim.executor for claim in view.claims_building(ItemId(1))], ["w1", "w2"])


def evidence_is_unique_and_of_a_claim(make_store: MakeStore) -> None:
    """Constraint: unique (item, fence, number), under a claim that exists; kept as brought."""
    on = with_item(make_store)
    held = on.claim(1, "builder")
    first, second = new_evidence(held, 1, BEGINNING), replace(new_evidence(held, 2, BEGINNING), grant=3, slot="x")
    with on.store.write() as txn:
        txn.evidence_insert([second, first])
        expect_same(txn.evidence_of(held.id), [first, second])
    expect_refused(on.store, lambda txn: txn.evidence_insert([first]))
    expect_refused(on.store, lambda txn: txn.evidence_insert([replace(first, fence=Fence(9))]))


def with_receipts(on: Stage) -> list[CheckVerdict]:
    """Let a verifier's open claim have receipts of one check on a candidate: one green, two red."""
    on.add(new_item(2, role=Role.VERIFY, root_id=ItemId(1)))
    held = on.claim(2, "checker")
    results = ("passed", "failed: red", "flaky: flaky")
    receipts = [new_receipt(held, number, result) for number, result in enumerate(results, 1)]
    with on.store.write() as txn:
        txn.candidate_insert(new_candidate(on.item(1), 1))
        txn.evidence_insert(receipts)
    return [new_check_verdict(receipt, ItemId(1)) for receipt in receipts]


def a_check_has_one_verdict_on_a_commit(make_store: MakeStore) -> None:
    """check_verdicts_keep: unique (root, answers, ref, check); a pass gives way to a failure, a failure to nothing."""
    on = with_item(make_store)
    green, red, flaky = with_receipts(on)
    for kept, seen in (([green, green], green), ([red, green], red), ([flaky], red)):
        with on.store.write() as txn:
            txn.check_verdicts_keep(kept)
            expect_same(txn.check_verdicts_of(ItemId(1)), [seen])
    others = [replace(green, ref="b" * 40), replace(green, check_id="lint")]
    with on.store.write() as txn:
        txn.check_verdicts_keep(others)
        expect_same(txn.check_verdicts_of(ItemId(1)), [others[1], red, others[0]])
        expect_same(txn.check_verdicts_of(ItemId(2)), [])


def a_verdict_of_a_check_is_of_an_open_claim_and_of_now(make_store: MakeStore) -> None:
    """Constraint: a receipt that is kept, a claim that has not ended, and the newest answer; an answer opens anew."""
    on = with_item(make_store)
    green, red, _ = with_receipts(on)
    for wrong in (replace(green, number=9), replace(green, fence=Fence(9)), replace(green, answers=1)):
        expect_refused(on.store, lambda txn, wrong=wrong: txn.check_verdicts_keep([wrong]))
    with on.store.write() as txn:
        txn.check_verdicts_keep([red])
        asked = new_question(on.item(1), 1)
        txn.question_insert(asked)
        txn.question_answer(replace(asked, answered_at=BEGINNING, answered_by="ann", answer="look again"))
    expect_refused(on.store, lambda txn: txn.check_verdicts_keep([green]))
    anew = replace(green, answers=1)
    with on.store.write() as txn:
        txn.check_verdicts_keep([anew])
        expect_same(txn.check_verdicts_of(ItemId(1)), [red, anew])
        txn.verdict_insert(new_verdict(Outcome.PASSED))
        txn.claim_end(ended_claim(new_claim(on.item(2), "checker", BEGINNING), BEGINNING))
    expect_refused(on.store, lambda txn: txn.check_verdicts_keep([replace(red, answers=1)]))


def nothing_passes_on_which_a_check_failed(make_store: MakeStore) -> None:
    """Constraint: no passed verdict beside a check that failed on the same commit; a rejection may stand there."""
    on = with_item(make_store)
    _, red, _ = with_receipts(on)
    with on.store.write() as txn:
        txn.check_verdicts_keep([red, replace(red, ref="b" * 40)])
    expect_refused(on.store, lambda txn: txn.verdict_insert(new_verdict(Outcome.PASSED)))
    with on.store.write() as txn:
        txn.verdict_insert(new_verdict(Outcome.REJECTED))
        txn.candidate_insert(replace(new_candidate(on.item(1), 2), ref="d" * 40))
        txn.verdict_insert(replace(new_verdict(Outcome.PASSED), round=2, ref="d" * 40))


def new_verdict(outcome: Outcome) -> Verdict:
    """Return a closing verdict on the first candidate."""
    return Verdict(
        root_id=ItemId(1),
        round=1,
        verifier_id=ItemId(2),
        executor="judge",
        principal="operator",
        outcome=outcome,
        ref=SHA,
        failed_checks=("unit", "lint"),
        reproduction="run it",
        at=BEGINNING,
    )


def a_candidate_is_unique_and_guarded(make_store: MakeStore) -> None:
    """candidate_insert, candidate_update: unique (root, round); a stale update changes nothing."""
    on = with_item(make_store)
    first = new_candidate(on.item(1), 1)
    passed = replace(first, state=CandidateState.PASSED, verifier_id=ItemId(1))
    with on.store.write() as txn:
        txn.candidate_insert(first)
        expect_same([txn.candidate_update(first, passed), txn.candidate_update(first, first)], [True, False])
        txn.candidate_insert(new_candidate(on.item(1), 2))
        expect_same([row.round for row in txn.candidates_of(ItemId(1))], [1, 2])
        expect_same(txn.candidates_of(ItemId(1))[0], passed)
    expect_refused(on.store, lambda txn: txn.candidate_insert(first))


def a_verdict_is_unique_and_of_a_candidate(make_store: MakeStore) -> None:
    """Constraint: one verdict per (root, round), of a candidate that exists."""
    on = with_item(make_store)
    verdict = new_verdict(Outcome.REJECTED)
    expect_refused(on.store, lambda txn: txn.verdict_insert(verdict))
    with on.store.write() as txn:
        txn.candidate_insert(new_candidate(on.item(1), 1))
        txn.verdict_insert(verdict)
        expect_same(txn.verdicts_of(ItemId(1)), [verdict])
    expect_refused(on.store, lambda txn: txn.verdict_insert(replace(verdict, outcome=Outcome.PASSED)))


def one_question_is_open(make_store: MakeStore) -> None:
    """Constraint: at most one open question per item, numbers unique; the next may follow an answer."""
    on = with_item(make_store)
    first, second = new_question(on.item(1), 1), new_question(on.item(1), 2)
    answered = replace(first, answered_at=BEGINNING, answered_by="ann", answer="10")
    with on.store.write() as txn:
        txn.question_insert(first)
    expect_refused(on.store, lambda txn: txn.question_insert(second))
    with on.store.write() as txn:
        expect_same([txn.question_answer(answered), txn.question_answer(answered)], [True, False])
        expect_same(txn.question_open(ItemId(1)), None)
        txn.question_insert(second)
        expect_same(txn.question_open(ItemId(1)), second)
        expect_same(txn.questions_of(ItemId(1)), [answered, second])
        expect_same(txn.questions_open(on.campaign.id), [second])
    expect_refused(on.store, lambda txn: txn.question_insert(answered))


def facts_are_appended(make_store: MakeStore) -> None:
    """fact_insert: unique (item, number), kept by number, of an item that exists; also of an ended one."""
    on = with_item(make_store)
    on.claim(1, "builder")
    on.finish(1)
    fact = Fact(item_id=ItemId(1), number=1, kind=FactKind.LANDED, ref=SHA, at=BEGINNING, by="host")
    with on.store.write() as txn:
        txn.fact_insert(replace(fact, number=2))
        txn.fact_insert(fact)
        expect_same([row.number for row in txn.facts_of(ItemId(1))], [1, 2])
        expect_same(txn.facts_of(ItemId(1))[0], fact)
    expect_refused(on.store, lambda txn: txn.fact_insert(fact))
    expect_refused(on.store, lambda txn: txn.fact_insert(replace(fact, item_id=ItemId(99))))


def a_lane_is_guarded_by_state_and_grant(make_store: MakeStore) -> None:
    """lane_update: False when state or grant moved on; a held lane has an owner and the grant never falls."""
    on = with_item(make_store, lanes=("db",))
    free = Lane(campaign_id=on.campaign.id, name="db", state=LaneState.FREE, grant=0, item_id=None, fence=None)
    held = replace(free, state=LaneState.HELD, grant=1, item_id=ItemId(1), fence=Fence(1))
    with on.store.write() as txn:
        expect_same(txn.lane_get(on.campaign.id, "db"), free)
        expect_same([txn.lane_update(free, held), txn.lane_update(free, held)], [True, False])
        expect(not txn.lane_update(replace(held, grant=0), free), "another grant is refused")
        expect_same(txn.lanes_held(ItemId(1)), [held])
        expect_same(txn.lanes(on.campaign.id), [held])
    expect_refused(on.store, lambda txn: txn.lane_update(held, replace(held, grant=0)))
    expect_refused(on.store, lambda txn: txn.lane_update(held, replace(held, item_id=None, fence=None)))


def a_grant_is_kept_and_changed(make_store: MakeStore) -> None:
    """grant_insert, grant_update: unique (lane, number) of a lane that exists."""
    on = with_item(make_store, lanes=("db",))
    grant = LaneGrant(
        campaign_id=on.campaign.id,
        lane="db",
        grant=1,
        item_id=ItemId(1),
        fence=Fence(1),
        granted_at=BEGINNING,
        ended_at=None,
        checkout_root="",
        checkout_sha="",
        resources=(),
        cleaned=(),
    )
    changed = replace(grant, ended_at=BEGINNING, checkout_sha=SHA, resources=("tab:1", "tab:2"), cleaned=("tab:1",))
    with on.store.write() as txn:
        txn.grant_insert(grant)
        txn.grant_update(changed)
        expect_same(txn.grant_get(on.campaign.id, "db", 1), changed)
        expect_same(txn.grant_get(on.campaign.id, "db", 2), None)
    expect_refused(on.store, lambda txn: txn.grant_insert(grant))
    expect_refused(on.store, lambda txn: txn.grant_insert(replace(grant, lane="browser")))
    expect_refused(on.store, lambda txn: txn.grant_update(replace(grant, grant=9)))


def events_are_dense_and_ordered(make_store: MakeStore) -> None:
    """events_append: n follows the item's last one; anything else is refused."""
    on = with_item(make_store)
    before = on.item(1)
    for number in (1, 3):
        after = replace(moved(before, State.PENDING), events=number)
        expect_refused(
            on.store, lambda txn, after=after: txn.events_append([event_of(before, after, txn.now, "again")])
        )
    expect_refused(on.store, lambda txn: txn.events_append([event_of(None, new_item(99), txn.now, "unknown")]))


def events_are_kept_as_written(make_store: MakeStore) -> None:
    """events_of, events_since, event_newest: by item and, after one, by campaign."""
    on = with_item(make_store)
    on.add(new_item(2))
    on.claim(1, "builder")
    with on.store.read() as view:
        story = view.events_of(ItemId(1))
        expect_same([event.action for event in story], ["add_items", "claim"])
        expect_same(story[1].changes, {"state": "in_progress", "fence": 1})
        expect_same([event.id for event in view.events_since(on.campaign.id, EventId(0), 9)], [1, 2, 3])
        expect_same([event.item_id for event in view.events_since(on.campaign.id, EventId(1), 1)], [2])
        expect_same(view.event_newest(), 3)


def a_request_is_answered_once(make_store: MakeStore) -> None:
    """request_insert, request_get, requests_prune: unique per campaign, principal and id; old ones are forgotten."""
    on = with_item(make_store)
    request = Request(
        campaign_id=on.campaign.id, principal="ann", request_id="r1", digest="d", answer="{}", at=BEGINNING
    )
    with on.store.write() as txn:
        txn.request_insert(request)
        txn.request_insert(replace(request, principal="bob", at=later(BEGINNING, 9)))
        expect_same(txn.request_get(on.campaign.id, "ann", "r1"), request)
        expect_same(txn.request_get(on.campaign.id, "ann", "r2"), None)
    expect_refused(on.store, lambda txn: txn.request_insert(replace(request, digest="other")))
    with on.store.write() as txn:
        expect_same([txn.requests_prune(BEGINNING), txn.requests_prune(later(BEGINNING, 1))], [0, 1])
        expect_same(txn.request_get(on.campaign.id, "ann", "r1"), None)


PROMISES = (
    a_claim_is_unique,
    a_claim_ends_once,
    the_builders_are_the_root_and_its_repairs,
    evidence_is_unique_and_of_a_claim,
    a_check_has_one_verdict_on_a_commit,
    a_verdict_of_a_check_is_of_an_open_claim_and_of_now,
    nothing_passes_on_which_a_check_failed,
    a_candidate_is_unique_and_guarded,
    a_verdict_is_unique_and_of_a_candidate,
    one_question_is_open,
    facts_are_appended,
    a_lane_is_guarded_by_state_and_grant,
    a_grant_is_kept_and_changed,
    events_are_dense_and_ordered,
    events_are_kept_as_written,
    a_request_is_answered_once,
)
