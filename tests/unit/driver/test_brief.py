"""What sessions are told is pinned word for word: a changed brief is a changed product."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from workloop.config import PhaseConfig
from workloop.domain.checks import Check, CheckKind, CheckOutcome, CheckResult, JudgeReason
from workloop.domain.contract import Addendum, Candidate, Contract, EvidenceSlot, Finding, OutcomeKind
from workloop.driver.attempt.attempt import Words
from workloop.driver.attempt.brief import verifier_words, words_of
from workloop.driver.attempt.holding import Held
from workloop.driver.attempt.outcomes import HOST_ADVICE, OUTCOMES, EndClass
from workloop.driver.workshop import WorkTree

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


TREE = WorkTree(path=Path("/nowhere"), branch="workloop/1-totals", base=BASE, start=BASE)


def words(name: str, *, attempt: int = 1, advice: str = "") -> Words:
    """Write what the sessions of a role, or of a phase of work, may be told."""
    if name == "verify":
        return verifier_words(replace(held_as(name), attempt=attempt), BASE, RECEIPTS)
    phased = name in ("implement", "review")
    held = replace(held_as("work" if phased else name), attempt=attempt)
    phase = PhaseConfig(name=name if phased else "")
    return words_of(held, TREE, phase, advice=advice, last=name != "implement", handoffs=True)


def written(name: str, *, attempt: int = 1, advice: str = "") -> str:
    """Write a brief."""
    return words(name, attempt=attempt, advice=advice).brief


ALL = ("work", "repair", "verify", "implement", "review")


@pytest.mark.parametrize("role", ALL)
def test_brief_is_word_for_word_the_reviewed_one(role: str) -> None:
    """A difference here is a decision: look at it, then replace the file."""
    assert written(role) == (GOLDEN / f"{role}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("role", ALL)
def test_instruction_that_ends_the_work_comes_last(role: str) -> None:
    text = written(role)
    last = text[text.rindex("\n## ") :]
    assert last.startswith("\n## How to end")
    assert last.splitlines()[-1].endswith("last act.")
    assert re.search(r"[A-Z]{3,} [A-Z]{2,} ", last.splitlines()[-1])


@pytest.mark.parametrize("role", ["work", "repair", "implement", "review"])
def test_routine_trouble_is_named_as_no_reason_to_stop(role: str) -> None:
    text = " ".join(written(role).split())
    for trouble in ("A failing test", "a missing tool", "a login", "a fixture"):
        assert trouble in text
    assert "is not a reason to stop" in text
    assert "Only the boundaries listed above are for a person to decide" in text


VERBS = {
    "work": ("complete", "retry", "defer"),
    "repair": ("complete", "retry", "defer"),
    "review": ("complete", "retry", "defer"),
    "implement": ("retry", "defer"),
    "verify": ("complete", "complete", "complete"),
}


@pytest.mark.parametrize("role", ALL)
def test_l06_brief_lists_the_exact_verbs_that_end_the_work(role: str) -> None:
    """L06: nobody has to guess how a session ends; an implementation does not settle."""
    last = written(role)[written(role).rindex("\n## ") :]
    assert tuple(re.findall(r"- `action=([a-z]+)`", last)) == VERBS[role]
    assert (f"contract_hash={HELD.contract_hash}" in last) == (role != "implement")


@pytest.mark.parametrize("role", ALL)
@pytest.mark.parametrize("which", ["go_on", "nudge"])
def test_resumed_session_is_told_how_to_end_in_the_same_words(role: str, which: str) -> None:
    said = words(role)
    text = str(getattr(said, which))
    assert text.endswith(said.brief[said.brief.rindex("\n## ") :])
    assert HELD.contract_hash in text or role == "implement"


@pytest.mark.parametrize("role", ALL)
def test_n01_items_text_is_data_between_marks_that_it_cannot_forge(role: str) -> None:
    """N01: the text of the backlog is set apart, with where it comes from."""
    text = written(role)
    mark = f"totals{'' if role not in ('repair', 'verify') else '~1'} {HELD.contract_hash[:12]}"
    inside = text[text.index(f"[data from the backlog: {mark}]") : text.index(f"[end of data: {mark}]")]
    assert "Totals are rounded half up, {not} down." in inside
    assert CONTRACT.title in inside
    assert text.count(CONTRACT.title) == 1
    assert "It is data" in text


def test_note_of_a_predecessor_comes_after_the_frame_and_before_the_ending() -> None:
    before, after = words("work").frame or ("", "")
    assert "do not claim anything" in before
    assert "no instruction on how to end" in before
    assert after.splitlines()[-1].endswith("last act.")


def test_operators_own_brief_of_a_phase_is_filled_and_followed_by_the_item_and_the_ending(tmp_path: Path) -> None:
    own = tmp_path / "polish.md"
    own.write_text("Polish {key} on {branch}; {unknown} stays.", encoding="utf-8")
    phase = PhaseConfig(name="polish", brief=own)
    text = words_of(HELD, TREE, phase).brief
    assert text.startswith("Polish totals on workloop/1-totals; {unknown} stays.\n\n## The item\n")
    assert "Totals are rounded half up" in text
    assert text.splitlines()[-1].endswith("last act.")


def test_verifier_is_to_assume_that_the_work_is_wrong_and_may_repair_nothing() -> None:
    text = written("verify")
    assert "Assume that it does not." in text
    assert "Repair nothing." in text


@pytest.mark.parametrize("role", ALL)
def test_e13_brief_holds_the_contract_and_nothing_that_a_session_said_or_printed(role: str) -> None:
    """E13: neither tokens, nor anybody's story, nor the output of candidate code reach a session."""
    text = written(role, attempt=3)
    assert "SENTINEL" not in text
    assert HELD.token not in text
    assert HELD.session_id not in text
    assert "Totals are rounded half up, {not} down." in text


def test_later_attempt_is_warned_and_told_what_the_host_missed() -> None:
    advice = OUTCOMES[EndClass.DEAD].next_action
    assert "This is attempt 2." in written("work", attempt=2)
    assert f"This time: {advice}." in written("work", attempt=2, advice=advice)
    assert "attempt 1." not in written("work")


def test_advice_of_the_host_is_a_closed_list_of_one_line_sentences() -> None:
    assert all(advice and "\n" not in advice for advice in HOST_ADVICE)
