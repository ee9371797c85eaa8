"""How the host holds an item back that brings nothing, on every backend, and what it keeps with an ended claim."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from queue_bench import ANN, HOST, Answer, Bench
from workloop.domain.errors import Forbidden
from workloop.domain.happening import Scalar
from workloop.domain.ids import Fence, ItemId
from workloop.domain.lease import ClaimEnd
from workloop.domain.progress import BrakePolicy
from workloop.domain.question import Brake
from workloop.service.braking import brake, give_up
from workloop.service.perform import perform, run_as_host
from workloop.service.settling import forfeit

MINUTE = 60
POLICY = BrakePolicy()


@dataclass(frozen=True)
class Seen:
    """A witness of one claim."""

    item_id: ItemId
    fence: int
    facts: Mapping[str, Scalar]

    def notes(self, item_id: ItemId, fence: Fence) -> Mapping[str, Scalar]:
        """Say the facts of that claim only."""
        return self.facts if (item_id, fence) == (self.item_id, self.fence) else {}


def witnessed(bench: Bench, key: str, **facts: Scalar) -> Bench:
    """Return the bench with somebody who watches an item's present claim."""
    item = bench.item(key)
    return replace(bench, queue=replace(bench.queue, witness=Seen(item.id, item.fence, facts)))


def fruitless(bench: Bench, key: str = "a") -> Answer:
    """Spend one attempt in vain and let the brake see it."""
    taken = bench.claim(key)
    cause = f"cause {taken['item']['attempt']}"
    bench.do("retry", token=taken["token"], failed="it", cause=cause, next_action="again")
    return braked(bench, key)


def braked(bench: Bench, key: str = "a", policy: BrakePolicy = POLICY) -> Answer:
    """Apply the brake."""
    item_id = bench.item(key).id
    return dict(run_as_host(bench.queue, HOST, "brake", lambda call: brake(call, item_id, policy)))


def test_item_rests_after_each_fruitless_attempt_and_is_parked_after_the_third(bench: Bench) -> None:
    bench.add("a", attempts_max=20)
    for minutes in (15, 30):
        assert "not_before" in fruitless(bench)
        assert bench.do("claim", holder="w")["item"] is None
        bench.clock.advance(minutes * MINUTE - 1)
        assert bench.do("claim", holder="w")["item"] is None
        bench.clock.advance(1)
    assert fruitless(bench)["state"] == "deferred"
    assert bench.dossier("a").questions[-1].name == Brake.NO_PROGRESS.value


def test_item_that_was_taken_again_meanwhile_is_left_alone(bench: Bench) -> None:
    bench.add("a", attempts_max=20)
    for _ in range(3):
        taken = bench.claim("a")
        cause = f"cause {taken['item']['attempt']}"
        bench.do("retry", token=taken["token"], failed="it", cause=cause, next_action="again")
    bench.claim("a")
    assert braked(bench)["state"] == "in_progress"
    assert bench.state("a") == "in_progress"


def test_wait_that_was_asked_for_and_is_longer_stands(bench: Bench) -> None:
    bench.add("a")
    taken = bench.claim("a")
    bench.do("retry", token=taken["token"], failed="it", cause="c", next_action="n", delay_seconds=7200)
    until = bench.item("a").wake_at
    assert "not_before" not in braked(bench)
    assert bench.item("a").wake_at == until


def test_what_the_host_saw_is_kept_whoever_ends_the_claim_and_however(bench: Bench) -> None:
    bench.add("a", attempts_max=20)
    ends: list[ClaimEnd | None] = []
    for number in range(4):
        taken = bench.claim("a")
        seen = witnessed(bench, "a", progress=True, sha=f"sha {number}", cause="the host's word")
        token = taken["token"]
        match number:
            case 0:
                seen.do("retry", token=token, failed="it", cause="mine", next_action="n")
            case 1:
                seen.do("release", token=token, reason="not now")
            case 2:
                run_as_host(seen.queue, HOST, "forfeit", lambda call, token=token: forfeit(call, token, "hung"))
            case _:
                seen.finish(taken)
    claims = bench.dossier("a").claims
    ends = [claim.end for claim in claims]
    assert ends == [ClaimEnd.RETRY, ClaimEnd.RELEASE, ClaimEnd.EXPIRED, ClaimEnd.COMPLETE]
    for number, claim in enumerate(claims):
        assert f'"sha": "sha {number}"' in (claim.report or "")
        assert '"cause": "the host\'s word"' in (claim.report or "")


def test_witness_of_one_claim_says_nothing_of_another(bench: Bench) -> None:
    bench.add("a")
    bench.add("b")
    bench.claim("a")
    other = bench.claim("b", "somebody-else")
    perform(witnessed(bench, "a", progress=True).queue, ANN, "release", {"token": other["token"], "reason": "r"})
    assert "progress" not in (bench.dossier("b").claims[0].report or "")


def test_same_answer_twice_is_still_refused_when_the_host_added_to_the_first(bench: Bench) -> None:
    bench.add("a")
    given: Answer = {"failed": "it", "cause": "c", "next_action": "n"}
    taken = bench.claim("a")
    witnessed(bench, "a", progress=False, sha="x").do("retry", token=taken["token"], **given)
    bench.refused("SAME_ATTEMPT", "retry", token=bench.claim("a")["token"], **given)


def test_giving_up_counts_the_attempt_and_asks_a_person(bench: Bench) -> None:
    bench.add("a")
    token = bench.claim("a")["token"]
    run_as_host(
        bench.queue, HOST, "park", lambda call: give_up(call, token, Brake.REMEDY_NEEDED, "Split or raise.", "cap")
    )
    item = bench.item("a")
    assert (item.state.value, item.attempts, item.parked_as) == ("deferred", 1, "remedy_needed")
    bench.do("answer", key="a", text="raised")
    assert bench.state("a") == "pending"


def test_giving_up_on_a_verifier_parks_its_root(bench: Bench) -> None:
    verifier = bench.candidate("a")
    token = bench.claim(verifier, "checker")["token"]
    run_as_host(bench.queue, HOST, "park", lambda call: give_up(call, token, Brake.REMEDY_NEEDED, "Raise.", "cap"))
    assert (bench.state("a"), bench.state(verifier)) == ("deferred", "cancelled")


def test_nobody_but_the_host_sets_brakes(bench: Bench) -> None:
    bench.add("a")
    token = bench.claim("a")["token"]
    item_id = bench.item("a").id
    with pytest.raises(Forbidden):
        run_as_host(bench.queue, ANN, "brake", lambda call: brake(call, item_id, POLICY))
    with pytest.raises(Forbidden):
        run_as_host(bench.queue, ANN, "park", lambda call: give_up(call, token, Brake.NO_PROGRESS, "?", ""))
