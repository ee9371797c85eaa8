"""Faults that were found in the queue, each kept as the shortest story that showed it."""

from dataclasses import replace

import pytest

from queue_bench import ANN, HOST, Answer, Bench
from workloop.domain.errors import Conflict, WorkloopError
from workloop.domain.progress import BrakePolicy
from workloop.domain.question import Brake
from workloop.service.braking import give_up
from workloop.service.insights import poll
from workloop.service.perform import perform, run_as_host

SUBJECT: Answer = {"family": "page", "subject": "/"}
FAIL: Answer = {"failed": "f", "cause": "c", "next_action": "n"}


def test_promoting_a_gated_item_is_refused_before_anything_is_written(bench: Bench) -> None:
    """DESIGN 3.1: promoting what is pending is a refusal, whatever stands before it."""
    bench.add("old", **SUBJECT)
    bench.add("new", **SUBJECT)
    bench.refused("TRANSITION_REFUSED", "promote", key="new")


def test_a_key_is_found_however_its_letters_are_composed(bench: Bench) -> None:
    """DESIGN 1: one canonical key: NFC on the way in, and in every look-up."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    bench.add(decomposed)
    bench.add("after", depends_on=[decomposed])
    assert bench.do("show", key=decomposed)["key"] == composed
    assert bench.claim(decomposed)["item"]["key"] == composed
    assert bench.claim(decomposed)["replayed"] is True


def test_what_is_opened_again_after_cleaning_must_be_cleaned_again(bench: Bench) -> None:
    """DESIGN 3.3: recorded resources are acknowledged before the next grant."""
    bench.add("x", lane="browser")
    taken = bench.claim("x")
    bench.do("lane_acquire", token=taken["token"])
    for verb in ("lane_record", "lane_clean", "lane_record"):
        bench.do(verb, token=taken["token"], resources=["tab"])
    assert bench.do("lane_release", token=taken["token"])["state"] == "dirty"


def test_a_claim_cleans_no_lane_but_its_own(bench: Bench) -> None:
    """DESIGN 3.3: lanes are for claims whose contract asks."""
    bench.add("owner", lane="browser")
    first = bench.claim("owner", "first")
    bench.do("lane_acquire", token=first["token"])
    bench.do("lane_record", token=first["token"], resources=["tab"])
    bench.finish(first)
    bench.add("x", lane="db")
    other = bench.claim("x", "other")
    bench.refused("LANE_NOT_IN_CONTRACT", "lane_clean", token=other["token"], lane="browser", resources=["tab"])


def test_a_replacement_takes_over_each_need_with_what_it_asks(bench: Bench) -> None:
    """DESIGN 3.3: who waited for the old item's verdict does not go on at the new one's candidate."""
    bench.add("old")
    bench.candidate("new")
    bench.add("waits", depends_on=["old", {"key": "new", "until": "candidate"}])
    bench.add("early", depends_on=[{"key": "old", "until": "candidate"}])
    bench.do("supersede", key="old", replacement="new", reason="newer")
    assert (bench.item("waits").blockers, bench.item("early").blockers) == (1, 0)
    bench.judge("new~v1")
    assert bench.item("waits").blockers == 0


def test_the_same_need_twice_with_two_ends_is_two_needs(bench: Bench) -> None:
    """DESIGN 3.1: an edge may say until; the last one named does not replace the others."""
    bench.add("x")
    bench.add("waits", depends_on=["x", {"key": "x", "until": "candidate"}])
    bench.finish(bench.claim("x"))
    assert bench.item("waits").blockers == 1


def test_a_parked_version_is_let_go_when_its_gate_closes(bench: Bench) -> None:
    """DESIGN 3.4, 6: a gate that closes while an item is deferred is not forgotten."""
    bench.add("old", **SUBJECT)
    bench.add("new", **SUBJECT)
    bench.park("new")
    bench.do("cancel", key="old", reason="no")
    assert (bench.item("new").gated, bench.item("new").blockers) == (False, 0)
    bench.do("answer", key="new", text="go on")
    assert bench.claim("new")["item"]["key"] == "new"


@pytest.mark.parametrize("kind", ["landed", "still_green", "red_after_landing", "landing_refused"])
def test_nothing_lands_before_it_has_succeeded(bench: Bench, kind: str) -> None:
    """DESIGN 5: landing comes after the verdict; a fact never lets a dependant go on unverified work."""
    bench.candidate("x")
    bench.add("after", depends_on=[{"key": "x", "until": "landed"}])
    with pytest.raises(Conflict) as caught:
        bench.fact("x", kind)
    assert caught.value.code == "NOT_SUCCEEDED"
    assert (bench.item("after").blockers, bench.dossier("x").facts) == (1, ())


def test_a_follow_up_has_no_facts_and_no_successor(bench: Bench) -> None:
    """DESIGN 3.1: successors are made of roots."""
    bench.judge(bench.candidate("x"))
    with pytest.raises(WorkloopError) as caught:
        bench.fact("x~v1", "red_after_landing")
    assert caught.value.code == "FOLLOW_UP"


def test_a_version_that_waits_for_the_failed_one_is_no_gate_for_its_successor(bench: Bench) -> None:
    """DESIGN 3.3: a successor gated by an item that waits for it would wait for ever; the person is told."""
    bench.add("one", attempts_max=1, verification="none", **SUBJECT)
    bench.add("two", depends_on=["one"], **SUBJECT)
    bench.do("retry", token=bench.claim("one")["token"], **FAIL)
    bench.refused("CYCLE", "retry", key="one", reason="again")
    bench.do("cancel", key="two", reason="not yet")
    assert bench.do("retry", key="one", reason="again")["successor"] == "one~again1"


def test_an_expired_verifier_at_its_ceiling_does_not_stop_the_queue(bench: Bench) -> None:
    """DESIGN 3.3: expiry runs in every claim, so it must never be refused itself."""
    bench.add("other", priority=1000)
    bench.candidate("x", expiries_max=1)
    bench.claim("x~v1", "checker")
    bench.park("x")
    bench.clock.advance(1200)
    assert bench.claim(holder="next")["item"]["key"] == "other"
    assert bench.state("x") == "deferred"


def test_nothing_depends_on_a_follow_up(bench: Bench) -> None:
    """DESIGN 3.1: a verifier succeeds by rejecting too; who needs a result names the root."""
    bench.candidate("x")
    bench.refused("DEP_FOLLOW_UP", "add_items", items=[{"key": "y", "title": "y", "depends_on": ["x~v1"]}])


def test_a_park_does_not_use_up_the_last_attempt(bench: Bench) -> None:
    """An item parked at its ceiling was handed out after the answer, and no end of that claim could be written."""
    bench.add("k", attempts_max=1)
    taken = bench.claim()
    run_as_host(
        bench.queue, HOST, "park", lambda call: give_up(call, taken["token"], Brake.REMEDY_NEEDED, "split?", "")
    )
    bench.do("answer", key="k", text="go on")
    bench.do("retry", token=bench.claim()["token"], **FAIL)
    assert (bench.state("k"), bench.broken()) == ("failed", [])


def test_a_claim_that_found_nothing_is_no_change_and_may_be_repeated(bench: Bench) -> None:
    """Two loops on one store woke each other for ever: each vain claim was kept, and was news to the other."""
    before = bench.snapshot()
    with bench.store.read() as tx:
        newest = tx.event_newest()
    assert bench.do("claim", holder="builder", request_id="r")["item"] is None
    with bench.store.read() as tx:
        assert tx.request_get(before.campaign.id, ANN.principal, "r") is None
        assert tx.event_newest() == newest
    bench.add("k")
    assert bench.do("claim", holder="builder", request_id="r")["item"]["key"] == "k"


def test_nothing_is_claimable_while_every_slot_is_taken(bench: Bench) -> None:
    """A loop that was told of ready items without a free slot tried to claim without end."""
    for key in ("a", "b", "c", "d"):
        bench.add(key)
    taken = [bench.claim(holder=f"builder-{number}") for number in range(3)]
    assert not poll(bench.queue).claimable
    bench.finish(taken[0])
    assert poll(bench.queue).claimable


def test_what_brought_nothing_is_held_back_in_the_transaction_that_ends_its_claim(bench: Bench) -> None:
    """A second worker took an item up between the end of a fruitless claim and the brake that should have held it."""
    bench.add("k")
    token = bench.claim()["token"]
    queue = replace(bench.queue, brake=BrakePolicy(waits_us=(60_000_000,)))
    perform(queue, ANN, "retry", {"token": token, **FAIL})
    assert bench.do("claim", holder="somebody-else")["item"] is None
    assert bench.item("k").wake_at == bench.clock.now() + 60_000_000
    assert not bench.broken()
