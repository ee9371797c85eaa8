"""Bad calls and lost races, one row each: a stable code, a hint, and nothing written."""

from collections.abc import Callable
from typing import Any

import pytest

from queue_bench import ANN, COORDINATOR, HOST, READER, Answer, Bench, sha
from workloop.domain.grants import Actor, Grant

DETAIL: Answer = {"failed": "f", "cause": "c", "next_action": "n"}
Case = tuple[str, str, str, Callable[[Bench], Answer]]


def held(bench: Bench, **fields: Any) -> Answer:
    """Return a claim of a fresh item."""
    bench.add("x", **fields)
    return bench.claim("x")


def of(taken: Answer, **more: Any) -> Answer:
    """Return a completion with a change."""
    usual: Answer = {
        "token": taken["token"],
        "contract_hash": taken["contract_hash"],
        "outcome": {"kind": "commit", "ref": sha(1)},
    }
    return {**usual, **more}


def judging(bench: Bench, **more: Any) -> Answer:
    """Return a verdict with a change."""
    bench.candidate("x", checks=[{"id": "suite", "command": "make test"}])
    taken = bench.claim("x~v1", "checker")
    said: Answer = {"token": taken["token"], "contract_hash": taken["contract_hash"], "verdict": "rejected"}
    return {**said, "failed_checks": ["objective"], "reproduction": "look", **more}


def adding(*items: Answer) -> Callable[[Bench], Answer]:
    """Return a case that adds items, the title being of no concern."""
    return lambda bench: {"items": [{"title": "t", **item} for item in items]}


def after(prepare: Callable[[Bench], object], **arguments: Any) -> Callable[[Bench], Answer]:
    """Return a case that first prepares something."""

    def run(bench: Bench) -> Answer:
        prepare(bench)
        return arguments

    return run


def lapsed(bench: Bench) -> Answer:
    """Return a claim whose lease ends at this very instant."""
    taken = held(bench)
    bench.clock.advance(1800)
    return taken


def taken_over(bench: Bench) -> Answer:
    """Return an old claim of an item that another holds by now."""
    taken = lapsed(bench)
    bench.claim("x", "another")
    return taken


def settled(bench: Bench) -> Answer:
    """Return a claim that was completed."""
    taken = held(bench)
    bench.finish(taken)
    return taken


def in_lane(bench: Bench, **more: Any) -> Answer:
    """Return live evidence with a change, under a claim that holds its lane."""
    taken = held(bench, lane="browser")
    grant = bench.do("lane_acquire", token=taken["token"])["grant"]
    bench.do("lane_record", token=taken["token"], resources=["http://localhost:3000"], checkout_sha=sha(9))
    piece = {"kind": "url", "ref": "http://localhost:3000/a", "grant": grant, "checkout_sha": sha(9), **more}
    return {"token": taken["token"], "evidence": [piece]}


def supersede(key: str, replacement: str, prepare: Callable[[Bench], object]) -> Callable[[Bench], Answer]:
    """Return a case that supersedes."""
    return after(prepare, key=key, replacement=replacement, reason="newer")


def pair(bench: Bench) -> None:
    """Add two items."""
    bench.add("x")
    bench.add("y")


def chain(bench: Bench) -> None:
    """Add a replacement that waits for what it would replace."""
    bench.add("x")
    bench.add("middle", depends_on=["x"])
    bench.add("y", depends_on=["middle"])


def cancelled(bench: Bench) -> None:
    """Add a pair of which the second is over."""
    pair(bench)
    bench.do("cancel", key="y", reason="no")


def full(bench: Bench) -> None:
    """Take every slot."""
    for number in range(4):
        bench.add(f"k{number}")
    for number in range(3):
        bench.claim(f"k{number}", f"h{number}")


def busy_lane(bench: Bench) -> Answer:
    """Let another hold the lane."""
    bench.add("owner", lane="browser")
    bench.do("lane_acquire", token=bench.claim("owner", "first")["token"])
    return {"token": held(bench, lane="browser")["token"]}


def dirty_lane(bench: Bench) -> Answer:
    """Let another leave something in the lane."""
    bench.add("owner", lane="browser")
    taken = bench.claim("owner", "first")
    bench.do("lane_acquire", token=taken["token"])
    bench.do("lane_record", token=taken["token"], resources=["tab"])
    bench.finish(taken)
    return {"token": held(bench, lane="browser")["token"]}


def foreign_tab(bench: Bench) -> Answer:
    """Name a tab that nobody recorded."""
    taken = held(bench, lane="browser")
    bench.do("lane_acquire", token=taken["token"])
    return {"token": taken["token"], "resources": ["somebody's tab"]}


def same_plan(bench: Bench) -> Answer:
    """Retry twice with the same words."""
    bench.do("retry", token=held(bench)["token"], **DETAIL)
    return {"token": bench.claim("x")["token"], **DETAIL}


def stale_verdict(bench: Bench) -> Answer:
    """Judge under a claim whose candidate is over."""
    said = judging(bench)
    bench.do("cancel", key="x", reason="no")
    return said


def own_evidence(bench: Bench) -> Answer:
    """Bring the builder's artifact as the verifier's."""
    taken = held(bench)
    shot = {"kind": "artifact", "ref": "shot.png"}
    bench.finish(taken, evidence=[shot])
    judge = bench.claim("x~v1", "checker")
    return {"token": judge["token"], "contract_hash": judge["contract_hash"], "verdict": "passed", "evidence": [shot]}


def evidence(kind: str, ref: str, **more: Any) -> Callable[[Bench], Answer]:
    """Return a case that attaches one piece."""
    return lambda bench: {"token": held(bench)["token"], "evidence": [{"kind": kind, "ref": ref, **more}]}


def closed_page(bench: Bench) -> Answer:
    """Take live evidence without holding the lane any more."""
    said = in_lane(bench)
    bench.do("lane_release", token=said["token"])
    return said


CLAIMS: list[Case] = [
    ("unknown action", "UNKNOWN_ACTION", "frobnicate", lambda bench: {}),
    ("unknown field", "UNKNOWN_FIELD", "claim", lambda bench: {"holder": "h", "colour": "red"}),
    ("blank holder", "BAD_REQUEST", "claim", lambda bench: {"holder": "  "}),
    ("blank key", "BAD_REQUEST", "cancel", lambda bench: {"key": " ", "reason": "no"}),
    ("blank reason", "BAD_REQUEST", "cancel", after(pair, key="x", reason=" ")),
    ("a lone surrogate", "BAD_REQUEST", "claim", lambda bench: {"holder": "\ud800"}),
    ("a NUL in a list", "BAD_REQUEST", "claim", lambda bench: {"holder": "h", "tools": ["a\x00"]}),
    ("a malformed list position", "BAD_REQUEST", "list", lambda bench: {"after": "no id"}),
    ("exact key when slots are full", "SLOTS_FULL", "claim", after(full, holder="h9", key="k3")),
    ("exact key unknown", "KEY_NOT_FOUND", "claim", after(pair, holder="h", key="xx")),
    ("exact key held", "KEY_NOT_CLAIMABLE", "claim", after(held, holder="h", key="x")),
    ("exact key terminal", "KEY_NOT_CLAIMABLE", "claim", after(cancelled, holder="h", key="y")),
    ("exact key blocked", "KEY_NOT_CLAIMABLE", "claim", after(chain, holder="h", key="y")),
    (
        "exact key not due",
        "KEY_NOT_CLAIMABLE",
        "claim",
        after(lambda bench: bench.add("x", not_before="2030-01-01T00:00:00Z"), holder="h", key="x"),
    ),
    ("another role", "ROLE_MISMATCH", "claim", after(pair, holder="h", key="x", expected_role="verify")),
    ("a second item for one holder", "HOLDER_BUSY", "claim", after(held, holder="builder", key="y")),
    (
        "a builder claims its own verifier",
        "SELF_VERIFY_FORBIDDEN",
        "claim",
        after(lambda bench: bench.candidate("x"), holder="builder", key="x~v1"),
    ),
    (
        "the rejecting verifier claims the repair",
        "ACTOR_BARRED",
        "claim",
        after(lambda bench: bench.rejected("x"), holder="checker", key="x~r1"),
    ),
    ("heartbeat after expiry", "LEASE_LOST", "heartbeat", lambda bench: {"token": lapsed(bench)["token"]}),
    ("heartbeat after another claim", "LEASE_LOST", "heartbeat", lambda bench: {"token": taken_over(bench)["token"]}),
    ("heartbeat with the client's clock", "UNKNOWN_FIELD", "heartbeat", lambda bench: {"token": "t", "now": 1}),
    ("complete at the moment of expiry", "LEASE_LOST", "complete", lambda bench: of(lapsed(bench))),
    ("complete from an old token", "LEASE_LOST", "complete", lambda bench: of(taken_over(bench))),
    ("a made-up token", "STALE_CLAIM", "heartbeat", lambda bench: {"token": "0000000000000.1.abc"}),
]
EVIDENCE: list[Case] = [
    (
        "complete twice with other evidence",
        "ALREADY_SETTLED",
        "complete",
        lambda bench: of(settled(bench), outcome={"kind": "commit", "ref": sha(2)}),
    ),
    ("complete without the evidence", "EVIDENCE_MISSING", "complete", lambda bench: of(held(bench, evidence=["shot"]))),
    ("complete without an outcome", "OUTCOME_REQUIRED", "complete", lambda bench: of(held(bench), outcome=None)),
    (
        "an outcome the contract does not allow",
        "OUTCOME_NOT_ALLOWED",
        "complete",
        lambda bench: of(held(bench), outcome={"kind": "no_change"}),
    ),
    (
        "an abbreviated commit",
        "COMMIT_NOT_FULL",
        "complete",
        lambda bench: of(held(bench), outcome={"kind": "commit", "ref": "abc1234"}),
    ),
    (
        "an outcome at an expiring URL",
        "EVIDENCE_NOT_DURABLE",
        "complete",
        lambda bench: of(
            held(bench, outcomes=["url"]), outcome={"kind": "url", "ref": "https://s3/x?X-Amz-Signature=1"}
        ),
    ),
    ("an expiring URL", "EVIDENCE_NOT_DURABLE", "attach", evidence("url", "https://s3/x?X-Amz-Expires=60")),
    (
        "evidence older than the claim",
        "EVIDENCE_NOT_FRESH",
        "attach",
        evidence("file", "log", captured_at="2027-01-15T07:00:00Z"),
    ),
    (
        "evidence from the future",
        "EVIDENCE_NOT_FRESH",
        "attach",
        evidence("file", "log", captured_at="2027-01-15T09:00:00Z"),
    ),
    ("live evidence after the grant", "EVIDENCE_OUTSIDE_LANE", "attach", closed_page),
    ("live evidence of another grant", "EVIDENCE_OUTSIDE_LANE", "attach", lambda bench: in_lane(bench, grant=7)),
    (
        "live evidence of an unrecorded URL",
        "EVIDENCE_OUTSIDE_LANE",
        "attach",
        lambda bench: in_lane(bench, ref="http://localhost:30001/a"),
    ),
    (
        "live evidence of another checkout",
        "EVIDENCE_WRONG_CHECKOUT",
        "attach",
        lambda bench: in_lane(bench, checkout_sha=sha(8)),
    ),
    ("another contract", "CONTRACT_MISMATCH", "complete", lambda bench: of(held(bench), contract_hash="0" * 64)),
    (
        "another version",
        "VERSION_MISMATCH",
        "complete",
        lambda bench: of(held(bench, versions={"rules": "v3"}), versions={"rules": "v4"}),
    ),
    ("a verifier without a verdict", "VERDICT_REQUIRED", "complete", lambda bench: judging(bench, verdict="")),
    ("a verdict of mostly ok", "VERDICT_REQUIRED", "complete", lambda bench: judging(bench, verdict="mostly ok")),
    ("a verdict from a builder", "VERDICT_UNEXPECTED", "complete", lambda bench: of(held(bench), verdict="passed")),
    ("the builder's evidence in a verdict", "EVIDENCE_NOT_OWN", "complete", own_evidence),
    ("passed without receipts", "RECEIPT_MISSING", "complete", lambda bench: judging(bench, verdict="passed")),
    (
        "rejected without a failed check",
        "REJECT_DETAIL_REQUIRED",
        "complete",
        lambda bench: judging(bench, failed_checks=[]),
    ),
    (
        "rejected without a reproduction",
        "REJECT_DETAIL_REQUIRED",
        "complete",
        lambda bench: judging(bench, reproduction=""),
    ),
    (
        "rejected for what the contract does not ask",
        "REJECT_DETAIL_REQUIRED",
        "complete",
        lambda bench: judging(bench, failed_checks=["taste"]),
    ),
    ("a verdict for an ended candidate", "STALE_CLAIM", "complete", stale_verdict),
]
SETTLES: list[Case] = [
    (
        "retry without details",
        "RETRY_DETAIL_REQUIRED",
        "retry",
        lambda bench: {"token": held(bench)["token"], "failed": "f"},
    ),
    ("the same retry twice", "SAME_ATTEMPT", "retry", same_plan),
    (
        "defer without a boundary",
        "BOUNDARY_REQUIRED",
        "defer",
        lambda bench: {"token": held(bench)["token"], "asks": "?"},
    ),
    (
        "defer to what the contract does not name",
        "BOUNDARY_NOT_IN_CONTRACT",
        "defer",
        lambda bench: {"token": held(bench)["token"], "boundary": "taste", "asks": "?"},
    ),
    (
        "defer to ordinary work",
        "NOT_A_HUMAN_BOUNDARY",
        "defer",
        lambda bench: {"token": held(bench)["token"], "boundary": "login", "asks": "?"},
    ),
    (
        "defer where no boundary is named",
        "DEFER_NOT_ALLOWED",
        "defer",
        lambda bench: {"token": held(bench, boundaries=[])["token"], "boundary": "spend-money", "asks": "?"},
    ),
    ("an answer that nobody asked for", "NOT_DEFERRED", "answer", after(pair, key="x", text="yes")),
    ("a replacement that is not there", "REPLACEMENT_NOT_FOUND", "supersede", supersede("x", "z", pair)),
    ("an item that replaces itself", "SAME_KEY", "supersede", supersede("x", "x", pair)),
    ("a replacement that is over", "REPLACEMENT_TERMINAL", "supersede", supersede("x", "y", cancelled)),
    ("a replacement that waits around a circle", "CYCLE", "supersede", supersede("x", "y", chain)),
    (
        "a replacement that waits for the old item",
        "CYCLE",
        "supersede",
        supersede("x", "y", lambda bench: (bench.add("x"), bench.add("y", depends_on=["x"]))),
    ),
    ("an item that is over", "TRANSITION_REFUSED", "supersede", supersede("y", "x", cancelled)),
    ("release of a lost claim", "LEASE_LOST", "release", lambda bench: {"token": taken_over(bench)["token"]}),
    ("infra by a worker", "FORBIDDEN", "release", lambda bench: {"token": held(bench)["token"], "infra": True}),
    ("promote of what is no proposal", "TRANSITION_REFUSED", "promote", after(pair, key="x")),
]
ADDING: list[Case] = [
    ("nothing to add", "TOO_MANY_ITEMS", "add_items", lambda bench: {"items": []}),
    ("too many to add", "TOO_MANY_ITEMS", "add_items", adding(*({"key": f"k{n}"} for n in range(501)))),
    (
        "the same key with other content",
        "CONTRACT_CONFLICT",
        "add_items",
        after(pair, items=[{"key": "x", "title": "other"}]),
    ),
    (
        "the same key with another priority",
        "CONTRACT_CONFLICT",
        "add_items",
        after(pair, items=[{"key": "x", "title": "x", "priority": 7}]),
    ),
    (
        "one key twice in a call with other content",
        "CONTRACT_CONFLICT",
        "add_items",
        adding({"key": "a", "title": "one"}, {"key": "a", "title": "two"}),
    ),
    ("an unknown dependency", "DEP_UNKNOWN", "add_items", adding({"key": "a", "depends_on": ["b"]})),
    ("a dependency on itself", "DEP_SELF", "add_items", adding({"key": "a", "depends_on": ["a"]})),
    (
        "dependencies in a circle",
        "DEP_CYCLE",
        "add_items",
        adding({"key": "a", "depends_on": ["b"]}, {"key": "b", "depends_on": ["a"]}),
    ),
    (
        "a circle through two versions of one subject",
        "DEP_CYCLE",
        "add_items",
        adding(
            {"key": "a", "family": "page", "subject": "/", "depends_on": ["b"]},
            {"key": "b", "family": "page", "subject": "/"},
        ),
    ),
    ("a priority that is no number", "BAD_PRIORITY", "add_items", adding({"key": "a", "priority": "high"})),
    ("a negative priority", "BAD_PRIORITY", "add_items", adding({"key": "a", "priority": -1})),
    ("a huge priority", "BAD_PRIORITY", "add_items", adding({"key": "a", "priority": 1001})),
    (
        "an authority out of reach",
        "AUTHORITY_NOT_GRANTABLE",
        "add_items",
        adding({"key": "a", "authority_allow": ["deploy"]}),
    ),
    (
        "a very large contract",
        "TOO_LARGE",
        "add_items",
        adding({"key": "a", "source_refs": ["r" * 900] * 1 + [f"{n:0900}" for n in range(90)]}),
    ),
    ("a key that only the service makes", "KEY_RESERVED", "add_items", adding({"key": "a~v1"})),
    ("an unknown field of an item", "UNKNOWN_FIELD", "add_items", adding({"key": "a", "colour": "red"})),
    (
        "a lane for an item that asks for none",
        "LANE_NOT_IN_CONTRACT",
        "lane_acquire",
        lambda bench: {"token": held(bench)["token"]},
    ),
    ("a lane that is held", "LANE_BUSY", "lane_acquire", busy_lane),
    ("a lane that is dirty", "LANE_DIRTY", "lane_acquire", dirty_lane),
    ("cleaning a tab that nobody recorded", "NOT_RECORDED", "lane_clean", foreign_tab),
    (
        "a completion after the campaign's cancel of the item",
        "STALE_CLAIM",
        "heartbeat",
        lambda bench: (taken := held(bench), bench.do("cancel", key="x", reason="no"), {"token": taken["token"]})[2],
    ),
]
CASES = [*CLAIMS, *EVIDENCE, *SETTLES, *ADDING]


@pytest.mark.parametrize(("code", "action", "prepare"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_refusal_has_a_code_and_a_hint_and_writes_nothing(
    bench: Bench, code: str, action: str, prepare: Callable[[Bench], Answer]
) -> None:
    """Every row of the list of bad inputs and races that concerns the queue.

    DESIGN decides otherwise than the list for these: a stale writer gets LEASE_LOST (not STALE_CLAIM) once its lease
    was lost by expiry; superseding is immediate, so there is no supersede_requested; a rule version that changes
    reaches later items only; a dirty lane is cleaned before the next grant instead of being granted dirty.
    """
    arguments = prepare(bench)
    error = bench.refused(code, action, ANN, **arguments)
    if code in ("LEASE_LOST", "STALE_CLAIM", "ALREADY_SETTLED"):
        assert error.details["stop_writing"] is True


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
