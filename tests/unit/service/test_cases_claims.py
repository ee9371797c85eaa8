"""Reported failures of claims, leases and fences, each as a short sequence of calls."""

import pytest

from queue_bench import HOST, SLUG, Answer, Bench, sha
from workloop.domain.errors import IntegrityFault, StoreUnavailable
from workloop.service.call import Queue
from workloop.service.campaigns import tend
from workloop.service.perform import perform, run_as_host
from workloop.testing.clocks import SeededIds
from workloop.testing.faults import FaultyStore

DETAIL: Answer = {"failed": "f", "cause": "c", "next_action": "n"}


def test_a03_a_held_item_is_refused_at_once_naming_its_holder(bench: Bench) -> None:
    """A03: a claim is whole or nothing, and contention fails fast with the owner's name and the end of its lease."""
    bench.add("x")
    taken = bench.claim("x", "first")
    error = bench.refused("KEY_NOT_CLAIMABLE", "claim", holder="second", key="x")
    assert error.details["holder"] == "first"
    assert error.details["lease_until"] == taken["lease_until"]


def test_a05_a_fresh_claim_does_not_inherit_an_old_beat(bench: Bench) -> None:
    """A05: liveness belongs to the attempt and begins at its claim."""
    bench.add("x")
    taken = bench.claim("x")
    bench.do("heartbeat", token=taken["token"])
    bench.do("retry", token=taken["token"], **DETAIL)
    bench.clock.advance(7200)
    fresh = bench.claim("x")
    bench.clock.advance(1)
    assert bench.tend()["expired"] == 0
    assert bench.do("heartbeat", token=fresh["token"])["key"] == "x"


def test_a07_a_late_write_of_an_old_fence_changes_nothing(bench: Bench) -> None:
    """A07: every write carries the fence; the stale holder is told, the new one is not disturbed."""
    bench.add("x")
    old = bench.claim("x", "a")
    bench.clock.advance(1800)
    new = bench.claim("x", "b")
    assert new["item"]["attempt"] == old["item"]["attempt"] + 1
    late: list[tuple[str, Answer]] = [
        ("complete", bench.completion(old)),
        ("heartbeat", {}),
        ("retry", DETAIL),
        ("defer", {"boundary": "spend-money", "asks": "?"}),
        ("release", {}),
        ("attach", {"evidence": [{"kind": "file", "ref": "log"}]}),
    ]
    for action, more in late:
        assert bench.refused("LEASE_LOST", action, **{**more, "token": old["token"]}).details["stop_writing"] is True
    assert bench.finish(new)["state"] == "candidate"


def test_a09_a_sweep_that_fails_leaves_the_item_for_the_next_one(bench: Bench) -> None:
    """A09: recovery is periodic and compare-and-set; a transient error loses nothing."""
    bench.add("x")
    bench.claim("x")
    bench.clock.advance(1800)
    for number in range(1, 100):
        faulty = FaultyStore(bench.store, number)
        before = bench.snapshot()
        try:
            run_as_host(Queue(store=faulty, ids=SeededIds(9), slug=SLUG), HOST, "tend", tend)
        except StoreUnavailable:
            assert bench.snapshot() == before
            continue
        break
    assert (bench.state("x"), bench.item("x").expiries) == ("pending", 1)


def test_a10_a_restarted_worker_of_the_same_name_does_not_hide_a_lapsed_claim(bench: Bench) -> None:
    """A10: the lease is on the item itself; no second table of workers can hide it."""
    bench.add("x")
    bench.add("y")
    bench.claim("x", "pod-0")
    bench.clock.advance(1800)
    assert bench.claim("y", "pod-0")["item"]["key"] == "y"
    assert bench.claim("x", "pod-1")["item"]["attempt"] == 2


def test_a11_a_claim_recovers_lapsed_items_without_any_sweeper(bench: Bench) -> None:
    """A11: reclaiming happens inside claim."""
    bench.add("x")
    bench.claim("x", "dead")
    bench.clock.advance(1800)
    assert bench.claim(holder="alive")["item"]["key"] == "x"


def test_a15_slots_are_the_live_claims_and_never_leak(bench: Bench) -> None:
    """A15: whatever call fails on the way, a slot is held by an open claim or free."""
    for number in range(3):
        bench.add(f"x{number}")
    for number in range(1, 60):
        faulty = FaultyStore(bench.store, number)
        queue = Queue(store=faulty, ids=SeededIds(9), slug=SLUG)
        try:
            perform(queue, HOST, "claim", {"holder": "h"})
        except StoreUnavailable:
            assert all(slot.item_id is None for slot in bench.snapshot().slots)
            continue
        break
    assert sum(slot.item_id is not None for slot in bench.snapshot().slots) == 1
    bench.clock.advance(1800)
    bench.tend()
    assert all(slot.item_id is None for slot in bench.snapshot().slots)


def test_a17_status_shows_how_long_a_holder_has_been_silent(bench: Bench) -> None:
    """A17: the oldest claim without a beat is on the first page; its lapse frees the item."""
    bench.add("x")
    bench.claim("x")
    bench.clock.advance(1700)
    claims = bench.do("status")["claims"]
    assert (claims[0]["key"], claims[0]["silent_seconds"], claims[0]["live"]) == ("x", 1700, True)
    bench.clock.advance(100)
    assert bench.do("status")["claims"][0]["live"] is False
    assert bench.claim(holder="other")["item"]["key"] == "x"


ENDS: dict[str, Answer] = {
    "retry": DETAIL,
    "release": {"untouched": True},
    "defer": {"boundary": "spend-money", "asks": "May I?"},
}


@pytest.mark.parametrize("end", ["retry", "release", "defer", "complete", "expire", "cancel", "supersede", "park"])
def test_a18_every_end_of_a_claim_frees_item_slot_executor_and_lane(bench: Bench, end: str) -> None:
    """A18: one ownership, cleared by every way out in the same transaction; the same holder claims again at once."""
    bench.add("x", lane="browser")
    bench.add("next", lane="browser")
    taken = bench.claim("x", "h")
    bench.do("lane_acquire", token=taken["token"])
    match end:
        case "complete":
            bench.finish(taken)
        case "expire":
            bench.clock.advance(1800)
            bench.tend()
        case "cancel":
            bench.do("cancel", key="x", reason="no")
        case "supersede":
            bench.do("supersede", key="x", replacement="next", reason="better")
        case "park":
            bench.park("x")
        case _:
            bench.do(end, token=taken["token"], **ENDS[end])
    assert all(slot.item_id is None for slot in bench.snapshot().slots)
    assert all(claim.ended_at is not None for claim in bench.dossier("x").claims)
    following = bench.claim("next", "h")
    assert bench.do("lane_acquire", token=following["token"])["state"] == "held"


def test_a19_a_claim_that_never_starts_is_free_after_its_short_lease(bench: Bench) -> None:
    """A19: nothing is locked before its claim, and a claim may ask for a short first lease."""
    bench.add("x")
    bench.claim("x", "slow", lease_seconds=30)
    bench.clock.advance(30)
    assert bench.claim("x", "prompt")["item"]["attempt"] == 2


def test_a23_one_item_has_one_live_attempt(bench: Bench) -> None:
    """A23: a second trigger for a worked item starts nothing, by key or by chance."""
    bench.add("x")
    bench.claim("x", "h")
    bench.refused("KEY_NOT_CLAIMABLE", "claim", holder="other", key="x")
    assert bench.do("claim", holder="other")["item"] is None
    assert len(bench.dossier("x").claims) == 1


def test_a25_an_owner_is_overtaken_only_at_the_end_of_its_lease(bench: Bench) -> None:
    """A25: DESIGN 3.3 has no second grace: the lease is the grace, to the microsecond, and the old owner is fenced."""
    bench.add("x")
    old = bench.claim("x", "a")
    bench.clock.advance_us(1800 * 1_000_000 - 1)
    bench.refused("KEY_NOT_CLAIMABLE", "claim", holder="b", key="x")
    bench.clock.advance_us(1)
    bench.claim("x", "b")
    bench.refused("LEASE_LOST", "complete", **bench.completion(old))


def test_a30_a_release_does_not_free_what_another_holds_by_now(bench: Bench) -> None:
    """A30: release is compare-and-set on the fence; the bare name of a holder is not enough."""
    bench.add("x")
    old = bench.claim("x", "h")
    bench.clock.advance(1800)
    new = bench.claim("x", "h")
    bench.refused("LEASE_LOST", "release", token=old["token"])
    assert bench.do("heartbeat", token=new["token"])["key"] == "x"


def test_a31_an_item_in_progress_without_a_lease_cannot_be_stored(bench: Bench) -> None:
    """A31: the promise is in the schema, not in the code that writes."""
    from dataclasses import replace

    bench.add("x")
    bench.claim("x")
    item = bench.item("x")
    with pytest.raises(IntegrityFault), bench.store.write() as tx:
        tx.item_update(item, replace(item, lease_until=None, events=item.events + 1))


def test_a33_an_answer_lost_on_the_way_is_had_again(bench: Bench) -> None:
    """A33: a settle whose answer was lost is sent again and gives the same answer, with and without a request id."""
    bench.add("x")
    taken = bench.claim("x")
    first = bench.finish(taken)
    before = bench.snapshot()
    again = bench.finish(taken)
    assert {key: again[key] for key in first} == first
    assert again["replayed"] is True
    assert bench.snapshot() == before


def test_a34_a_repeated_settle_never_reaches_the_next_owner(bench: Bench) -> None:
    """A34: replays are bound to (attempt, fence): the first answer, and no effect on who holds the item now."""
    bench.add("x")
    first = bench.claim("x", "a")
    said = bench.do("retry", token=first["token"], **DETAIL)
    second = bench.claim("x", "b")
    before = bench.snapshot()
    assert bench.do("retry", token=first["token"], **DETAIL) == {**said, "replayed": True}
    assert bench.snapshot() == before
    assert bench.do("heartbeat", token=second["token"])["key"] == "x"


def test_a37_a_lost_attempt_stays_on_record_and_the_next_is_a_new_one(bench: Bench) -> None:
    """A37: lost is not never started: the attempt ends as expired and the next one has the number after it."""
    bench.add("x")
    bench.claim("x", "a")
    bench.clock.advance(1800)
    assert bench.claim("x", "b")["item"]["attempt"] == 2
    shown = bench.do("show", key="x")
    assert [(claim["attempt"], claim["end"]) for claim in shown["claims"]] == [(1, "expired"), (2, None)]
    assert (shown["attempts"], shown["expiries"]) == (0, 1)


def test_a39_a_claim_takes_only_what_its_tools_suffice_for(bench: Bench) -> None:
    """A39: claims are filtered by capability; a verifier's refusal is an outcome, not a loop."""
    bench.add("writes", tools=["git", "write"])
    bench.add("reads")
    assert bench.claim(holder="h", tools=["git"])["item"]["key"] == "reads"
    assert bench.do("claim", holder="h2", tools=["git"])["item"] is None
    assert bench.claim(holder="h2", tools=["git", "write"])["item"]["key"] == "writes"


def test_j03_a_cut_claim_is_repeated_with_its_request_id(bench: Bench) -> None:
    """J03: a client that cut the call short repeats it and gets its claim, not a second one."""
    bench.add("x")
    bench.add("y")
    first = bench.do("claim", holder="h", request_id="r1")
    again = bench.do("claim", holder="h", request_id="r1")
    assert (again["token"], again["item"], again["replayed"]) == (first["token"], first["item"], True)
    bench.refused("REQUEST_ID_REUSED", "claim", holder="h", request_id="r1", key="y")


def test_j02_a_long_list_is_cut_with_counts_and_a_way_on(bench: Bench) -> None:
    """J02: lists are minimal rows; above twenty come counts and how to go on."""
    bench.do("add_items", items=[{"key": f"k{number:02}", "title": "t"} for number in range(45)])
    first = bench.do("list")
    assert (len(first["items"]), first["more"], first["counts"]) == (20, True, {"work.pending": 45})
    assert set(first["items"][0]) == {"key", "role", "state", "priority", "attempts", "title"}
    second = bench.do("list", after=first["after"])
    third = bench.do("list", after=second["after"])
    assert (len(second["items"]), len(third["items"]), third["more"]) == (20, 5, False)


def test_b09_a_lane_is_granted_to_one(bench: Bench) -> None:
    """B09: lanes are exact names, compared in the transaction that grants them; no two patterns can both win."""
    bench.add("x", lane="browser")
    bench.add("y", lane="browser")
    bench.do("lane_acquire", token=bench.claim("x", "a")["token"])
    other = bench.claim("y", "b")
    error = bench.refused("LANE_BUSY", "lane_acquire", token=other["token"])
    assert error.retryable
    assert "x" in error.message


def test_b11_no_transaction_is_open_between_two_calls(bench: Bench) -> None:
    """B11: a transaction spans one call; while a person thinks, anybody else writes."""
    bench.add("x")
    taken = bench.claim("x")
    with bench.store.write() as tx:
        assert tx.campaign_by_slug(SLUG) is not None
    bench.do("defer", token=taken["token"], boundary="spend-money", asks="May I?")
    with bench.store.write() as tx:
        assert tx.question_open(bench.item("x").id) is not None


def test_b19_ids_of_one_instant_never_collide(bench: Bench) -> None:
    """B19: two writers that draw the same chance in the same millisecond still get ids of their own."""
    for number in range(40):
        queue = Queue(store=bench.store, ids=SeededIds(7), slug=SLUG)
        added = [{"key": f"{number}-{count}", "title": "t"} for count in range(1 + number % 3)]
        arguments: Answer = {"items": added}
        perform(queue, HOST, "add_items", arguments)
    assert len(bench.keys()) == sum(1 + number % 3 for number in range(40))
    queue = Queue(store=bench.store, ids=SeededIds(7), slug=SLUG)
    taken = bench.claim("0-0")
    done = perform(queue, HOST, "complete", bench.completion(taken))
    assert done["follow_up"]["key"] == "0-0~v1"
    assert bench.item("0-0~v1").candidate_sha == sha(1)
