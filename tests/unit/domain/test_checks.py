"""The rule by which results of checks make a candidate green, as complete tables."""

import pytest

from workloop.domain.checks import (
    Check,
    CheckKind,
    CheckOutcome,
    judge,
    judge_check,
    matching_paths,
    outcome_after_rerun,
    outcome_of_exit,
)

PASSED, FAILED, ERROR = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.ERROR
TIMEOUT, ABSENT, FLAKY = CheckOutcome.TIMEOUT, CheckOutcome.ABSENT, CheckOutcome.FLAKY

# What a candidate that passes is worth, by how a proving check ended on the base.
PROOF_BY_BASE = {
    FAILED: (True, "proven"),
    PASSED: (False, "vacuous"),
    FLAKY: (False, "flaky_on_base"),
    ERROR: (True, "base_not_red_by_assertion"),
    ABSENT: (True, "base_not_red_by_assertion"),
    TIMEOUT: (True, "base_not_red_by_assertion"),
    None: (False, "base_unknown"),
}
BASES = tuple(PROOF_BY_BASE)
NOT_PASSED = tuple(outcome for outcome in CheckOutcome if outcome is not PASSED)


@pytest.mark.parametrize(("base", "expected"), PROOF_BY_BASE.items())
def test_a_proof_that_passes_is_worth_what_its_base_says(base: CheckOutcome | None, expected: tuple[bool, str]) -> None:
    """Decision: only a base that did not pass lets a check prove something."""
    assert judge(CheckKind.PROVES, base, PASSED) == expected


@pytest.mark.parametrize("kind", CheckKind)
@pytest.mark.parametrize("candidate", NOT_PASSED)
@pytest.mark.parametrize("base", BASES)
def test_nothing_but_a_pass_on_the_candidate_is_ever_green(
    kind: CheckKind, base: CheckOutcome | None, candidate: CheckOutcome
) -> None:
    """Decision: only `passed` counts as green, whatever the base and the settings say."""
    for red_on_base in (True, False):
        for strict in (True, False):
            assert not judge(kind, base, candidate, red_on_base=red_on_base, strict=strict).green


@pytest.mark.parametrize("base", [ERROR, ABSENT, TIMEOUT])
def test_a_strict_proof_demands_a_base_red_by_assertion(base: CheckOutcome) -> None:
    """Decision: `strict` refuses a base that only could not run."""
    assert judge(CheckKind.PROVES, base, PASSED, strict=True) == (False, "base_not_red_by_assertion")
    assert judge(CheckKind.PROVES, FAILED, PASSED, strict=True).green


@pytest.mark.parametrize("base", BASES)
def test_a_proof_that_need_not_be_red_only_has_to_pass(base: CheckOutcome | None) -> None:
    """Decision: `red_on_base = false` leaves the base out of it."""
    assert judge(CheckKind.PROVES, base, PASSED, red_on_base=False) == (True, "base_not_required")


@pytest.mark.parametrize("base", BASES)
def test_a_guard_that_passes_is_green_and_tells_when_it_was_red_before(base: CheckOutcome | None) -> None:
    """Decision: a guard red on the base cannot block a candidate that passes it."""
    expected = "guard_red_on_base" if base is FAILED else "holds"
    assert judge(CheckKind.GUARDS, base, PASSED) == (True, expected)


def test_a_guard_red_on_both_says_that_the_candidate_did_not_cause_it() -> None:
    """Decision: still not green, but the reason names the base."""
    assert judge(CheckKind.GUARDS, FAILED, FAILED) == (False, "red_before_candidate")
    assert judge(CheckKind.GUARDS, PASSED, FAILED) == (False, "failed")


def test_a_checks_own_settings_decide() -> None:
    """Decision: the contract's check carries `strict` and `red_on_base`."""
    lenient = Check(id="t", kind=CheckKind.PROVES, command="true", red_on_base=False)
    strict = Check(id="t", kind=CheckKind.PROVES, command="true", strict=True)
    assert judge_check(lenient, PASSED, PASSED).green
    assert not judge_check(strict, ERROR, PASSED).green


@pytest.mark.parametrize(
    ("exit_code", "outcome"),
    [
        (0, PASSED),
        (1, FAILED),
        (2, ERROR),
        (3, ERROR),
        (4, ERROR),
        (5, ERROR),
        (126, ABSENT),
        (127, ABSENT),
        (130, ERROR),
        (137, ERROR),
        (-9, ERROR),
        (255, ERROR),
    ],
)
def test_exit_codes_tell_a_red_assertion_from_a_check_that_could_not_run(exit_code: int, outcome: CheckOutcome) -> None:
    """Decision: a test runner's usage and collection errors, and death by a signal, are no assertion."""
    assert outcome_of_exit(exit_code) is outcome


def test_a_check_may_name_the_exit_codes_of_its_own_test_runner() -> None:
    """Decision: cargo ends with 101 and make with 2 when a test fails."""
    assert outcome_of_exit(101, (101,)) is FAILED
    assert outcome_of_exit(1, (101,)) is ERROR
    assert outcome_of_exit(0, (0,)) is PASSED


@pytest.mark.parametrize("again", CheckOutcome)
def test_only_a_failure_that_then_passes_is_flaky(again: CheckOutcome) -> None:
    """Decision: one re-run tells flaky from failed, and flaky is neither red nor green."""
    assert outcome_after_rerun(FAILED, again) is (FLAKY if again is PASSED else FAILED)
    assert outcome_after_rerun(PASSED, again) is PASSED


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("tests", ["tests/a.py", "tests/deep/b.py"]),
        ("tests/", ["tests/a.py", "tests/deep/b.py"]),
        ("./tests/*.py", ["tests/a.py"]),
        ("**/b.py", ["tests/deep/b.py", "b.py"]),
        ("tests/**/b.py", ["tests/deep/b.py"]),
        ("?.py", ["b.py"]),
        ("b.p", []),
        ("a+b (1).txt", ["a+b (1).txt"]),
        ("/", []),
        ("", []),
    ],
)
def test_a_pattern_protects_what_it_names_and_what_lies_below(pattern: str, matched: list[str]) -> None:
    """Decision: patterns are relative to the root; one star stays inside a name."""
    paths = ["tests/a.py", "tests/deep/b.py", "b.py", "testsuite/a.py", "a+b (1).txt", "new\nline"]
    assert list(matching_paths(paths, [pattern])) == matched
