"""What sessions are told is pinned word for word: a changed brief is a changed product."""

from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.checks import Check, CheckKind, CheckOutcome, CheckResult, JudgeReason
from workloop.domain.contract import Addendum, Candidate, Contract, EvidenceSlot, Finding, OutcomeKind
from workloop.driver.brief import brief
from workloop.driver.holding import Held
from workloop.driver.outcomes import CONSEQUENCES, HOST_ADVICE

GOLDEN = Path(__file__).parent / "briefs"
SHA, BASE = "c" * 40, "b" * 40
CONTRACT = Contract(
    title="Fix the rounding bug",
    objective="Totals are rounded half up, {not} down.",
    source_refs=("docs/totals.md",),
    checks=(
        Check(id="totals", kind=CheckKind.PROVES, command="python -m pytest tests/test_totals.py"),
        Check(id="suite", kind=CheckKind.GUARDS, command=("make", "test")),
    ),
    evidence=(EvidenceSlot(id="screenshot", kinds=("file", "url")),),
    authority_allow=("use the network",),
    authority_deny=("touch the billing module",),
    boundaries=("spend-money",),
    versions={"schema": "7"},
    protected=("tests/",),
    lane="browser",
    addenda=(
        Addendum(
            question="Half up?", answer="Yes.", answered_by="person:ada", answered_at="2026-01-01T00:00:00.000000Z"
        ),
    ),
)
HELD = Held(
    item_id="0000000000001",
    key="totals",
    role="work",
    root="totals",
    attempt=1,
    token="not-for-the-brief",
    beat_seconds=600,
    contract_hash="a" * 64,
    contract=CONTRACT,
    session_id="not-for-the-brief-either",
)
CANDIDATE = Candidate(ref=SHA, kind=OutcomeKind.COMMIT, round=1)
RECEIPTS = tuple(
    CheckResult(
        check_id=check.id,
        kind=check.kind,
        outcome_on_base=None,
        outcome_on_candidate=CheckOutcome.PASSED,
        exit_code=0,
        duration_us=1,
        output_tail="SENTINEL: what the candidate's own code printed",
        output_digest="d" * 64,
        green=True,
        reason=JudgeReason.PROVEN,
    )
    for check in CONTRACT.checks
)


def held_as(role: str) -> Held:
    """Return a claim of a role."""
    findings = (Finding(check_id="totals", reproduction="run pytest: 1 failed"),) if role == "repair" else ()
    contract = CONTRACT if role == "work" else replace(CONTRACT, candidate=CANDIDATE, findings=findings)
    return replace(HELD, role=role, key=f"totals{'' if role == 'work' else '~1'}", contract=contract)


def written(role: str, **fields: int | str) -> str:
    """Write the brief of a role."""
    held, advice = held_as(role), str(fields.pop("advice", ""))
    receipts = RECEIPTS if role == "verify" else ()
    held = replace(held, attempt=int(fields.get("attempt", 1)))
    return brief(held, branch="workloop/1-totals", base=BASE, receipts=receipts, advice=advice)


@pytest.mark.parametrize("role", ["work", "repair", "verify"])
def test_brief_is_word_for_word_the_reviewed_one(role: str) -> None:
    """A difference here is a decision: look at it, then replace the file."""
    assert written(role) == (GOLDEN / f"{role}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("role", ["work", "repair", "verify"])
def test_instruction_that_ends_the_work_comes_last(role: str) -> None:
    text = written(role)
    last = text[text.rindex("\n## ") :]
    assert last.startswith("\n## How to end")
    assert "action=complete" in last
    assert f"contract_hash={HELD.contract_hash}" in last


@pytest.mark.parametrize("role", ["work", "repair"])
def test_routine_trouble_is_named_as_no_reason_to_stop(role: str) -> None:
    text = " ".join(written(role).split())
    for trouble in ("A failing test", "a missing tool", "a login", "a fixture"):
        assert trouble in text
    assert "is not a reason to stop" in text
    assert "Only the boundaries listed above are for a person to decide" in text


def test_verifier_is_to_assume_that_the_work_is_wrong_and_may_repair_nothing() -> None:
    text = written("verify")
    assert "Assume that it does not." in text
    assert "Repair nothing." in text


@pytest.mark.parametrize("role", ["work", "repair", "verify"])
def test_e13_brief_holds_the_contract_and_nothing_that_a_session_said_or_printed(role: str) -> None:
    """E13: neither tokens, nor anybody's story, nor the output of candidate code reach a session."""
    text = written(role, attempt=3)
    assert "SENTINEL" not in text
    assert HELD.token not in text
    assert HELD.session_id not in text
    assert "Totals are rounded half up, {not} down." in text


def test_later_attempt_is_warned_and_told_what_the_host_missed() -> None:
    advice = CONSEQUENCES[next(iter(CONSEQUENCES))].next_action
    assert "This is attempt 2." in written("work", attempt=2)
    assert f"This time: {advice}." in written("work", attempt=2, advice=advice)
    assert "attempt 1." not in written("work")


def test_advice_of_the_host_is_a_closed_list_of_one_line_sentences() -> None:
    assert all(advice and "\n" not in advice for advice in HOST_ADVICE)
