"""What becomes of a root, for each of its states and each way in which its follow-up can end."""

import pytest

from queue_bench import HOST, Answer, Bench
from workloop.domain.errors import WorkloopError

DETAIL: Answer = {"failed": "f", "cause": "c", "next_action": "n"}
GATHERED = {
    # follow-up, how it ends: the root's state, the follow-up's state, and the key that is made
    ("verify", "passed"): ("succeeded", "succeeded", None),
    ("verify", "rejected"): ("repairing", "succeeded", "x~r1"),
    ("verify", "rejected at the last round"): ("failed", "succeeded", None),
    ("verify", "inconclusive"): ("candidate", "pending", None),
    ("verify", "retried"): ("candidate", "pending", None),
    ("verify", "released"): ("candidate", "pending", None),
    ("verify", "expired"): ("candidate", "pending", None),
    ("verify", "deferred"): ("candidate", "deferred", None),
    ("verify", "parked"): ("candidate", "deferred", None),
    ("verify", "attempts spent"): ("deferred", "failed", None),
    ("verify", "expiries spent"): ("deferred", "failed", None),
    ("verify", "inconclusive at the last attempt"): ("deferred", "failed", None),
    ("verify", "root parked"): ("deferred", "cancelled", None),
    ("verify", "root cancelled"): ("cancelled", "cancelled", None),
    ("verify", "root superseded"): ("superseded", "superseded", None),
    ("repair", "completed"): ("candidate", "succeeded", "x~v2"),
    ("repair", "retried"): ("repairing", "pending", None),
    ("repair", "released"): ("repairing", "pending", None),
    ("repair", "expired"): ("repairing", "pending", None),
    ("repair", "deferred"): ("repairing", "deferred", None),
    ("repair", "parked"): ("repairing", "deferred", None),
    ("repair", "attempts spent"): ("failed", "failed", None),
    ("repair", "expiries spent"): ("failed", "failed", None),
    ("repair", "root cancelled"): ("cancelled", "cancelled", None),
    ("repair", "root superseded"): ("superseded", "superseded", None),
}
LIMITS: dict[str, Answer] = {
    "attempts spent": {"attempts_max": 2},
    "inconclusive at the last attempt": {"attempts_max": 1},
    "expiries spent": {"expiries_max": 1},
    "rejected at the last round": {"rounds_max": 1},
}


def end(bench: Bench, key: str, how: str) -> None:
    """Let a follow-up end in one way."""
    taken = bench.claim(key, "other")
    match how:
        case "passed" | "rejected" | "rejected at the last round" | "inconclusive" | "inconclusive at the last attempt":
            bench.verdict(taken, how.partition(" ")[0])
        case "completed":
            bench.finish(taken, 2)
        case "retried":
            bench.do("retry", token=taken["token"], **DETAIL)
        case "attempts spent":
            bench.do("retry", token=taken["token"], **DETAIL)
            taken = bench.claim(key, "other")
            bench.do("retry", token=taken["token"], failed="f", cause="another", next_action="n")
        case "released":
            bench.do("release", HOST, token=taken["token"], infra=True)
        case "expired" | "expiries spent":
            bench.clock.advance(1800)
            bench.tend()
        case "deferred":
            bench.do("defer", token=taken["token"], boundary="spend-money", asks="May I?")
        case "parked":
            bench.park(key)
        case "root parked":
            bench.park("x")
        case "root cancelled":
            bench.do("cancel", key="x", reason="no")
        case _:
            bench.add("y")
            bench.do("supersede", key="x", replacement="y", reason="better")


@pytest.mark.parametrize(("role", "how"), list(GATHERED))
def test_the_root_follows_its_follow_up(bench: Bench, role: str, how: str) -> None:
    """DESIGN 3.1: (root state, follow-up outcome), one row each."""
    key = bench.candidate("x", **LIMITS.get(how, {}))
    if role == "repair":
        key = bench.judge(key, "rejected")["follow_up"]["key"]
    before = set(bench.keys()) | {"y"}
    end(bench, key, how)
    root, follow_up, made = GATHERED[role, how]
    assert (bench.state("x"), bench.state(key)) == (root, follow_up)
    assert sorted(set(bench.keys()) - before) == ([made] if made else [])
    assert bench.broken(after_expiry=True) == []


@pytest.mark.parametrize("action", ["cancel", "supersede"])
@pytest.mark.parametrize("key", ["x~v1", "x~r1"])
def test_a_follow_up_is_never_closed_alone(bench: Bench, key: str, action: str) -> None:
    """DESIGN 3.1: follow-ups are never cancelled or superseded alone."""
    bench.rejected("x")
    bench.add("y")
    more: Answer = {"replacement": "y"} if action == "supersede" else {}
    bench.refused("FOLLOW_UP", action, key=key, reason="no", **more)


def test_a_repairing_root_cannot_be_parked(bench: Bench) -> None:
    """DESIGN 3.1: only pending, in_progress and candidate items are parked; a repair is parked by its own key."""
    bench.rejected("x")
    with pytest.raises(WorkloopError) as caught:
        bench.park("x")
    assert caught.value.code == "TRANSITION_REFUSED"
    assert bench.state("x") == "repairing"


def test_an_answered_candidate_gets_a_fresh_verifier_with_the_answer(bench: Bench) -> None:
    """DESIGN 3.1: the candidate is kept over a brake; the answer is an addendum, the attempts stay."""
    bench.candidate("x")
    bench.park("x")
    answer = bench.do("answer", key="x", text="use the staging database")
    assert answer["follow_up"]["key"] == "x~v2"
    taken = bench.claim("x~v2", "other")
    assert taken["contract"]["addenda"][0]["answer"] == "use the staging database"
    assert bench.verdict(taken)["root"] == {"key": "x", "state": "succeeded"}
    assert bench.item("x").attempts == 1
