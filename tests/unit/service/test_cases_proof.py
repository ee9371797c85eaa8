"""Reported failures of proof: false ends, verdicts that mask each other, evidence that proves nothing."""

import json

import pytest

from queue_bench import HOST, Answer, Bench, sha

CHECK = {"id": "suite", "command": "make test"}
PASSED = {"kind": "check", "ref": "log", "slot": "suite", "result": "passed"}


def test_e05_failures_are_counted_as_failures_and_reviews_are_made_once(bench: Bench) -> None:
    """E05: exact states in every sum; one verifier per candidate however often the completion is sent."""
    bench.add("x", attempts_max=1)
    bench.do("retry", token=bench.claim("x")["token"], failed="f", cause="c", next_action="n")
    bench.add("y")
    taken = bench.claim("y")
    for _ in range(3):
        assert bench.finish(taken)["follow_up"]["key"] == "y~v1"
    counts = bench.do("status")["counts"]
    assert (counts["failed"], counts["candidate"], counts.get("succeeded", 0)) == (1, 1, 0)
    assert bench.keys() == ["x", "y", "y~v1"]


def test_e07_a_refused_completion_says_that_the_work_is_still_yours(bench: Bench) -> None:
    """E07: still yours, what is missing, how to go on, how many attempts are left; and then it works."""
    bench.add("x", evidence=["shot"], attempts_max=3)
    taken = bench.claim("x")
    error = bench.refused("EVIDENCE_MISSING", "complete", **bench.completion(taken))
    assert "still yours" in error.hint
    assert "3 attempts" in error.hint
    assert error.details["missing"] == ["shot"]
    assert (
        bench.finish(taken, evidence=[{"kind": "artifact", "ref": "shot.png", "slot": "shot"}])["state"] == "candidate"
    )


def test_e09_made_up_proof_fills_nothing(bench: Bench) -> None:
    """E09: what a worker says of checks, hashes and truth is claimed; only the host's receipts carry a verdict."""
    bench.candidate("x", checks=[CHECK])
    taken = bench.claim("x~v1", "checker")
    said: Answer = {"token": taken["token"], "contract_hash": taken["contract_hash"], "verdict": "passed"}
    made_up = {**PASSED, "digest": "0" * 64}
    bench.refused("RECEIPT_MISSING", "complete", **said, evidence=[made_up])
    bench.refused("DIGEST_MALFORMED", "complete", **said, evidence=[{**PASSED, "digest": "true"}])
    bench.do("attach", HOST, token=taken["token"], evidence=[PASSED])
    assert bench.verdict(taken)["root"]["state"] == "succeeded"


def test_e10_two_receipts_that_disagree_are_not_a_pass(bench: Bench) -> None:
    """E10: a copy of the result never outranks the record: passed and failed on one candidate is not passed."""
    bench.candidate("x", checks=[CHECK])
    taken = bench.claim("x~v1", "checker")
    bench.do("attach", HOST, token=taken["token"], evidence=[{**PASSED, "result": "failed"}, PASSED])
    bench.refused(
        "RECEIPT_MISSING",
        "complete",
        token=taken["token"],
        contract_hash=taken["contract_hash"],
        verdict="passed",
        evidence=[{"kind": "url", "ref": "https://ci.example/7"}],
    )


def test_e13_a_verifier_is_told_nothing_of_the_builders_story(bench: Bench) -> None:
    """E13: the raw contract and the candidate's reference; neither summary nor evidence of who built it."""
    bench.add("x")
    taken = bench.claim("x", "proud-builder")
    note = {"kind": "note", "ref": "I am certain that it works"}
    bench.finish(taken, summary="all tests are green, trust me", evidence=[note])
    judge = bench.claim("x~v1", "checker")
    from workloop.domain.grants import Actor, Grant

    session = Actor(principal="session", grant=Grant.SESSION, token=judge["token"])
    seen = json.dumps([judge, bench.do("show", session), bench.do("why", session)])
    assert not [word for word in ("trust me", "certain", "proud-builder") if word in seen]
    assert judge["contract"]["candidate"] == {"kind": "commit", "ref": sha(1), "round": 1}


def test_e14_inconclusive_closes_nothing(bench: Bench) -> None:
    """E14: the verifier goes back to the queue; when all are spent, a person is asked and the candidate kept."""
    bench.candidate("x", attempts_max=2)
    assert bench.judge("x~v1", "inconclusive")["state"] == "pending"
    assert bench.state("x") == "candidate"
    assert bench.judge("x~v1", "inconclusive", "another")["exhausted"] is True
    assert (bench.state("x"), bench.item("x").candidate_sha) == ("deferred", sha(1))
    assert bench.do("answer", key="x", text="the device is back")["follow_up"]["key"] == "x~v2"


def test_e18_a_verdict_counts_for_its_own_commit_only(bench: Bench) -> None:
    """E18: one verdict per (round, SHA): an earlier pass or receipt says nothing about a later candidate."""
    bench.candidate("x", checks=[CHECK])
    first = bench.claim("x~v1", "checker")
    bench.do("attach", HOST, token=first["token"], evidence=[PASSED])
    bench.verdict(first, "rejected")
    bench.finish(bench.claim("x~r1", "fixer"), 2)
    second = bench.claim("x~v2", "checker")
    said: Answer = {"token": second["token"], "contract_hash": second["contract_hash"], "verdict": "passed"}
    bench.refused("RECEIPT_MISSING", "complete", **said, evidence=[{"kind": "url", "ref": "https://ci.example/7"}])
    bench.refused("CONTRACT_MISMATCH", "complete", **{**said, "contract_hash": first["contract_hash"]})
    bench.do("attach", HOST, token=second["token"], evidence=[PASSED])
    bench.verdict(second)
    assert [(v.round, v.ref, v.outcome.value) for v in bench.dossier("x").verdicts] == [
        (1, sha(1), "rejected"),
        (2, sha(2), "passed"),
    ]


@pytest.mark.parametrize(("seen", "passes"), [("failed", False), ("flaky", False), ("error", True), ("timeout", True)])
def test_e18_a_later_pass_hides_no_failure_of_the_same_check_on_the_same_commit(
    bench: Bench, seen: str, passes: bool
) -> None:
    """E18: a check has one verdict on a commit, not the latest one; that it could not run is no verdict."""
    bench.candidate("x", checks=[CHECK])
    first = bench.claim("x~v1", "checker")
    bench.do("attach", HOST, token=first["token"], evidence=[{**PASSED, "result": seen}])
    bench.verdict(first, "inconclusive")
    second = bench.claim("x~v1", "another")
    bench.do("attach", HOST, token=second["token"], evidence=[PASSED])
    if passes:
        assert bench.verdict(second)["root"]["state"] == "succeeded"
        return
    said: Answer = {"token": second["token"], "contract_hash": second["contract_hash"], "verdict": "passed"}
    refusal = bench.refused("RECEIPT_MISSING", "complete", **said)
    assert refusal.details["missing"] == ["suite"]
    assert bench.state("x") == "candidate"


def test_e19_landed_is_a_fact_of_its_own_and_not_an_intent(bench: Bench) -> None:
    """E19: dependants that wait for landed go on when the host has seen it, not when the verdict is given."""
    from workloop.domain.campaign import Landing

    bench.change_settings(landing=Landing.LOCAL_MERGE)
    bench.candidate("x")
    bench.add("after", depends_on=["x"])
    bench.add("early", depends_on=[{"key": "x", "until": "verified"}])
    bench.judge("x~v1")
    assert (bench.item("after").blockers, bench.item("early").blockers) == (1, 0)
    bench.refused("KEY_NOT_CLAIMABLE", "claim", holder="h", key="after")
    bench.fact("x", "landed")
    assert bench.claim("after")["item"]["key"] == "after"


def test_e21_red_after_landing_makes_one_linked_successor(bench: Bench) -> None:
    """E21: the ended item stays as it is; `~g1` carries its contract, once, however often red is seen."""
    bench.judge(bench.candidate("x"))
    bench.fact("x", "landed", "main@1")
    before = bench.item("x")
    assert bench.fact("x", "red_after_landing", "main@2")["successor"] == "x~g1"
    assert bench.fact("x", "red_after_landing", "main@2")["successor"] is None
    assert bench.fact("x", "red_after_landing", "main@3")["successor"] is None
    assert bench.item("x") == before
    assert bench.keys() == ["x", "x~g1", "x~v1"]
    assert bench.item("x~g1").contract_hash == before.contract_hash


def test_a_failed_item_has_one_successor_at_a_time(bench: Bench) -> None:
    """DESIGN 3.1: a person's retry makes `~again1`; a second retry gives the same one until it has failed too."""
    bench.add("x", attempts_max=1, verification="none")
    bench.add("waits", depends_on=["x"])
    fail: Answer = {"failed": "f", "cause": "c", "next_action": "n"}
    bench.do("retry", token=bench.claim("x")["token"], **fail)
    assert bench.do("retry", key="x", reason="again")["successor"] == "x~again1"
    assert bench.do("retry", key="x", reason="again")["successor"] == "x~again1"
    bench.add("late", depends_on=["x"])
    bench.do("retry", token=bench.claim("x~again1")["token"], **fail)
    assert bench.do("retry", key="x", reason="once more")["successor"] == "x~again2"
    bench.add("later", depends_on=["x"])
    bench.finish(bench.claim("x~again2"), 2)
    assert bench.item("later").blockers == 0


def test_a_dependency_ends_even_when_a_dependant_is_over(bench: Bench) -> None:
    """DESIGN 3.4, 9 (regression): a cancelled dependant kept its dependency from ever being verified."""
    bench.candidate("x")
    bench.add("gone", depends_on=["x"])
    bench.do("cancel", key="gone", reason="no")
    assert bench.judge("x~v1")["root"]["state"] == "succeeded"


def test_a_parked_candidate_is_judged_by_nobody(bench: Bench) -> None:
    """DESIGN 3.4, 4 (regression): parking left the verifier open, and the answer made a second one."""
    bench.candidate("x")
    taken = bench.claim("x~v1", "checker")
    bench.park("x")
    bench.refused("STALE_CLAIM", "heartbeat", token=taken["token"])
    assert bench.state("x~v1") == "cancelled"
    bench.do("answer", key="x", text="go on")
    assert bench.judge("x~v2")["root"]["state"] == "succeeded"


def test_the_third_of_three_versions_can_replace_the_first(bench: Bench) -> None:
    """DESIGN 3.3 (regression): gates between versions are no dependencies, so they close no circle."""
    for key in ("one", "two", "three"):
        bench.add(key, family="page", subject="/")
    bench.do("supersede", key="one", replacement="three", reason="newest")
    assert bench.claim(holder="h")["item"]["key"] == "two"
    assert bench.do("claim", holder="h2")["item"] is None


def test_another_name_of_the_same_slot_is_no_other_verifier(bench: Bench) -> None:
    """Regression: a builder verified its own work by calling itself something else; the loop's word still counts."""
    bench.add("x", checks=[CHECK])
    bench.finish(bench.do("claim", key="x", holder="b1"))
    bench.refused("SELF_VERIFY_FORBIDDEN", "claim", key="x~v1", holder="b1", executor="somebody-else")
    assert bench.do("claim", key="x~v1", holder="b2", executor="somebody-else")["item"]["key"] == "x~v1"


def test_the_hosts_word_alone_is_not_enough_where_a_session_is_asked_for(bench: Bench) -> None:
    """DESIGN 3.2: with verification both, the host's checks may reject but only a session may pass."""
    bench.candidate("x", checks=[CHECK], verification="both")
    taken = bench.do("claim", HOST, key="x~v1", holder="loop", executor="session-1")
    bench.do("attach", HOST, token=taken["token"], evidence=[PASSED])
    said = {"token": taken["token"], "contract_hash": taken["contract_hash"], "verdict": "passed"}
    bench.refused("SESSION_REQUIRED", "complete", HOST, **said)
