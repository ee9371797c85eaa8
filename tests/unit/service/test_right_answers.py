"""What is right where a bad call or a race is not simply refused."""

import pytest
from refusal_stories import DETAIL, full, held, pair

from queue_bench import COORDINATOR, HOST, READER, Answer, Bench
from workloop.domain.grants import Actor, Grant

SESSION = Actor(principal="session", grant=Grant.SESSION)


@pytest.mark.parametrize(
    ("actor", "action", "arguments", "code"),
    [
        (COORDINATOR, "answer", {"key": "x", "text": "yes"}, "HUMAN_ONLY"),
        (COORDINATOR, "promote", {"key": "x"}, "HUMAN_ONLY"),
        (COORDINATOR, "cancel", {"key": "x", "reason": "no"}, "HUMAN_ONLY"),
        (COORDINATOR, "retry", {"key": "x", "reason": "reset the attempts"}, "HUMAN_ONLY"),
        (COORDINATOR, "supersede", {"key": "x", "replacement": "y", "reason": "r"}, "NOT_OWNER"),
        (SESSION, "claim", {"holder": "h"}, "FORBIDDEN"),
        (SESSION, "resume", {}, "HUMAN_ONLY"),
        (SESSION, "status", {}, "FORBIDDEN"),
        (READER, "claim", {"holder": "h"}, "FORBIDDEN"),
        (READER, "add_items", {"items": [{"key": "a", "title": "a"}]}, "FORBIDDEN"),
    ],
)
def test_a_credential_does_only_what_its_grant_covers(
    bench: Bench, actor: Actor, action: str, arguments: Answer, code: str
) -> None:
    """DESIGN 3.3: the table of grants; no agent resets attempts, answers, promotes or cancels."""
    pair(bench)
    bench.refused(code, action, actor, **arguments)


def test_a_session_cannot_use_another_claims_token(bench: Bench) -> None:
    """DESIGN 3.3: a session may act on its own claim only."""
    pair(bench)
    own, other = bench.claim("x", "one"), bench.claim("y", "two")
    bound = Actor(principal="session", grant=Grant.SESSION, token=own["token"])
    bench.refused("NOT_OWNER", "heartbeat", bound, token=other["token"])
    bench.refused("NOT_OWNER", "show", bound, key="y")
    assert bench.do("heartbeat", bound)["key"] == "x"


def test_nothing_claimable_is_an_answer_with_reasons_and_a_next_wake(bench: Bench) -> None:
    """The list of bad inputs: neither an error nor done."""
    bench.add("later", not_before="2027-01-15T09:00:00Z")
    bench.add("waits", depends_on=["later"])
    said = bench.do("claim", holder="h")
    assert said["item"] is None
    assert (said["reasons"]["delayed"], said["reasons"]["blocked"]) == (1, 1)
    assert said["next_wake"] == "2027-01-15T09:00:00.000000Z"
    assert "done" in said["message"]


def test_full_slots_are_an_answer_when_no_key_is_named(bench: Bench) -> None:
    """DESIGN 3.3, against the list's SLOTS_FULL: all slots taken is a normal answer, an error only for an exact key."""
    full(bench)
    said = bench.do("claim", holder="h9")
    assert said["item"] is None
    assert said["reasons"]["in_progress"] == 3
    assert said["next_wake"] is not None


def test_the_same_holder_gets_its_own_claim_again_by_key(bench: Bench) -> None:
    """The list of bad inputs: the same claim, replayed, and no attempt counted."""
    first = held(bench)
    before = bench.snapshot()
    again = bench.claim("x")
    assert (again["token"], again["replayed"]) == (first["token"], True)
    assert bench.snapshot() == before


def test_retry_at_the_ceiling_fails_with_the_last_evidence_kept(bench: Bench) -> None:
    """The list of bad inputs: state failed, exhausted, evidence kept."""
    taken = held(bench, attempts_max=1)
    bench.do("attach", token=taken["token"], evidence=[{"kind": "file", "ref": "log.txt"}])
    said = bench.do("retry", token=taken["token"], **DETAIL)
    assert (said["state"], said["exhausted"]) == ("failed", True)
    assert [piece.ref for piece in bench.dossier("x").evidence] == ["log.txt"]
    assert bench.do("why", key="x")["reasons"][0]["code"] == "FAILED"


def test_releases_are_free_only_three_times(bench: Bench) -> None:
    """The list of bad inputs: refunds end after the cap, then attempts count."""
    bench.add("x")
    for _ in range(5):
        bench.do("release", token=bench.claim("x")["token"], untouched=True)
    assert (bench.item("x").free_releases, bench.item("x").attempts) == (3, 2)


def test_adding_again_is_unchanged_whatever_became_of_the_item(bench: Bench) -> None:
    """The list of bad inputs: same content, open or over, is unchanged with its state; twice in one call too."""
    item = {"key": "x", "title": "x"}
    said = bench.do("add_items", items=[item, item])
    assert [entry["result"] for entry in said["items"]] == ["added", "unchanged"]
    bench.do("cancel", key="x", reason="no")
    assert bench.do("add_items", items=[item])["items"] == [{"key": "x", "result": "unchanged", "state": "cancelled"}]


def test_a_paused_campaign_takes_items_and_hands_out_none(bench: Bench) -> None:
    """The list of bad inputs: paused accepts and does not hand out; an exact key is told so."""
    bench.do("pause", reason="lunch")
    bench.add("x")
    assert bench.do("claim", holder="h")["item"] is None
    bench.refused("CAMPAIGN_PAUSED", "claim", holder="h", key="x")
    bench.do("resume")
    assert bench.claim("x")["item"]["key"] == "x"


def test_a_lapsed_owner_loses_its_lane_to_the_next_who_cleans_it(bench: Bench) -> None:
    """The list of bad inputs, DESIGN 3.3: the lapsed owner's lane is dirty; it is cleaned, then granted."""
    bench.add("owner", lane="browser", lease_seconds=60)
    first = bench.claim("owner", "first")
    bench.do("lane_acquire", token=first["token"])
    bench.do("lane_record", token=first["token"], resources=["tab"])
    second = held(bench, lane="browser")
    bench.clock.advance(60)
    error = bench.refused("LANE_DIRTY", "lane_acquire", token=second["token"])
    assert error.details["resources"] == ["tab"]
    bench.do("lane_clean", token=second["token"], resources=["tab"])
    assert bench.do("lane_acquire", token=second["token"])["grant"] == 2
    bench.refused("LEASE_LOST", "lane_record", token=first["token"], resources=["tab"])


def test_supersede_is_immediate_and_ends_a_live_claim(bench: Bench) -> None:
    """DESIGN 3.3, against the list's supersede_requested: immediate, and the worker is told on its next beat."""
    taken = held(bench)
    bench.add("y")
    bench.do("supersede", key="x", replacement="y", reason="better")
    bench.refused("STALE_CLAIM", "heartbeat", token=taken["token"])
    assert bench.state("x") == "superseded"


def test_supersede_after_complete_supersedes_the_verifier_and_marks_the_candidate_stale(bench: Bench) -> None:
    """The list of bad inputs: if complete won, its verifier is superseded too."""
    bench.candidate("x")
    judge = bench.claim("x~v1", "checker")
    bench.add("y")
    assert bench.do("supersede", key="x", replacement="y", reason="better")["closed"] == ["x", "x~v1"]
    assert [row.state.value for row in bench.dossier("x").candidates] == ["stale"]
    bench.refused("STALE_CLAIM", "heartbeat", token=judge["token"])


def test_time_never_runs_backwards(bench: Bench) -> None:
    """The list of bad inputs: the store's now is never before its newest event."""
    taken = held(bench)
    bench.clock.advance(-3600)
    assert bench.do("heartbeat", token=taken["token"])["lease_until"] == taken["lease_until"]
    bench.finish(taken)
    times = [event.at for event in bench.dossier("x").events]
    assert times == sorted(times)


def test_an_expired_verifier_leaves_the_candidate_waiting(bench: Bench) -> None:
    """The list of bad inputs: back to pending, no repair made."""
    bench.candidate("x")
    bench.claim("x~v1", "checker")
    bench.clock.advance(1200)
    bench.tend()
    assert (bench.state("x"), bench.state("x~v1"), bench.keys()) == ("candidate", "pending", ["x", "x~v1"])


def test_the_host_alone_makes_receipts(bench: Bench) -> None:
    """DESIGN 3.2: what a worker brings is claimed, fills no required check, and a red receipt is never outvoted."""
    bench.candidate("x", checks=[{"id": "suite", "command": "make test"}])
    taken = bench.claim("x~v1", "checker")
    passed = {"kind": "check", "ref": "log", "slot": "suite", "result": "passed"}
    bench.do("attach", token=taken["token"], evidence=[passed])
    said: Answer = {"token": taken["token"], "contract_hash": taken["contract_hash"], "verdict": "passed"}
    bench.refused("RECEIPT_MISSING", "complete", **said)
    bench.do("attach", HOST, token=taken["token"], evidence=[{**passed, "result": "failed"}])
    bench.do("attach", HOST, token=taken["token"], evidence=[passed])
    bench.refused("RECEIPT_MISSING", "complete", **said)
