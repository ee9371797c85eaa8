"""What the host concludes from its checks, as a table."""

from dataclasses import replace

import pytest

from workloop.domain.checks import Check, CheckKind, CheckOutcome, CheckResult, JudgeReason, judge_check
from workloop.domain.contract import Contract
from workloop.driver.attempt.judging import (
    CANNOT,
    CONTRACT_FAULTS,
    HostWord,
    held_to,
    judge,
    judge_unchecked,
    receipts,
)

Of = CheckOutcome


def result(
    candidate: CheckOutcome, base: CheckOutcome | None = None, kind: CheckKind = CheckKind.PROVES
) -> CheckResult:
    """Return a receipt as the runner would make it."""
    check = Check(id="one", kind=kind, command="true")
    green, reason = judge_check(check, base, candidate)
    return CheckResult(
        check_id="one",
        kind=kind,
        outcome_on_base=base,
        outcome_on_candidate=candidate,
        exit_code=1,
        duration_us=1,
        output_tail="what it printed last",
        output_digest="d" * 64,
        green=green,
        reason=reason,
    )


@pytest.mark.parametrize(
    ("candidate", "base", "word"),
    [
        (Of.PASSED, Of.FAILED, HostWord.GREEN),
        (Of.PASSED, Of.PASSED, HostWord.UNJUDGEABLE),
        (Of.PASSED, Of.FLAKY, HostWord.UNJUDGEABLE),
        *[(Of.PASSED, base, HostWord.UNJUDGEABLE) for base in (Of.ERROR, Of.TIMEOUT, Of.ABSENT)],
        (Of.PASSED, None, HostWord.UNCLEAR),
        (Of.FAILED, None, HostWord.REJECTED),
        (Of.FLAKY, None, HostWord.UNCLEAR),
        *[
            (broken, base, HostWord.REJECTED)
            for broken in (Of.ERROR, Of.TIMEOUT, Of.ABSENT)
            for base in (Of.PASSED, Of.FAILED)
        ],
        *[
            (broken, base, HostWord.UNCLEAR)
            for broken in (Of.ERROR, Of.TIMEOUT, Of.ABSENT)
            for base in (Of.ERROR, Of.TIMEOUT, Of.ABSENT, Of.FLAKY, None)
        ],
    ],
)
def test_proof_is_judged_by_both_sides(candidate: CheckOutcome, base: CheckOutcome | None, word: HostWord) -> None:
    judged = judge((result(candidate, base),), (), ())
    assert judged.word is word
    assert judged.failed == (() if word is HostWord.GREEN else ("one",))


def test_guard_that_was_red_before_is_nobodys_fault() -> None:
    judged = judge((result(Of.FAILED, Of.FAILED, CheckKind.GUARDS),), (), ())
    assert judged.word is HostWord.UNJUDGEABLE


def test_facts_outrank_checks_and_a_contract_fault_outranks_a_red_check() -> None:
    red, vacuous = result(Of.FAILED), result(Of.PASSED, Of.PASSED)
    assert judge((red,), ("tests/a.py",), ("no commit",)).failed == ("outcome",)
    assert judge((), ("tests/a.py",), ()).failed == ("protected",)
    assert judge((red, vacuous), (), ()).word is HostWord.UNJUDGEABLE


def test_only_a_green_check_makes_a_receipt_that_says_passed() -> None:
    made = receipts([result(Of.PASSED, Of.FAILED), result(Of.PASSED, Of.PASSED), result(Of.FAILED)])
    assert [piece.result for piece in made] == [
        "passed",
        f"passed: {JudgeReason.VACUOUS}",
        f"failed: {JudgeReason.FAILED}",
    ]


@pytest.mark.parametrize(
    ("reason", "word"),
    [(JudgeReason.CONTROL_NOT_RED, HostWord.REJECTED), (JudgeReason.CONTROL_CANNOT_FAIL, HostWord.UNJUDGEABLE)],
)
def test_control_that_is_not_red_is_told_by_whose_doing_it_is(reason: JudgeReason, word: HostWord) -> None:
    passed = replace(result(Of.PASSED, Of.FAILED), green=False, reason=reason)
    assert judge((passed,), (), ()).word is word


def test_what_passes_now_and_did_not_before_on_the_same_commit_is_chance() -> None:
    """Decision: a check has one verdict on a commit; asking again until it is green gives none."""
    passed = result(Of.PASSED, Of.FAILED)
    (held,) = held_to((passed,), {"one": "flaky: flaky"})
    assert (held.green, held.outcome_on_candidate, held.reason) == (False, Of.FLAKY, JudgeReason.FLAKY)
    assert "flaky: flaky before" in held.output_tail
    assert judge((held,), (), ()).word is HostWord.UNCLEAR
    assert held_to((passed,), {"another": "failed: failed"}) == (passed,)


def test_rejection_says_how_to_see_it() -> None:
    assert "what it printed last" in judge((result(Of.FAILED),), (), ()).reproduction


def test_checks_prove_nothing_about_what_is_no_commit() -> None:
    check = Check(id="one", kind=CheckKind.PROVES, command="true")
    assert judge_unchecked(Contract(title="t", objective="o")).word is HostWord.GREEN
    assert judge_unchecked(Contract(title="t", objective="o", checks=(check,))).word is HostWord.UNJUDGEABLE


def test_what_cannot_be_judged_is_told_with_the_check_and_both_sides_and_why() -> None:
    seen = result(Of.PASSED, Of.PASSED)
    told = judge((seen,), (), ()).reproduction
    assert told.splitlines()[0] == (
        "Check one cannot judge it: it passes without the work as well, so that its pass says nothing."
        " Seen on the base: passed; on the candidate: passed."
    )
    assert "what it printed last" in told.partition("\n\n")[2]


def test_every_fault_of_a_contract_is_explained() -> None:
    assert CANNOT.keys() == CONTRACT_FAULTS
