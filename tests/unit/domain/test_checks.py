"""The rule by which results of checks make a candidate green, as complete tables."""

from dataclasses import replace

import pytest

from workloop.domain.checks import (
    Check,
    CheckKind,
    CheckOutcome,
    RerunPolicy,
    judge,
    judge_check,
    judge_control,
    matching_paths,
    outcome_of_exit,
    outcome_of_runs,
)

PASSED, FAILED, ERROR = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.ERROR
TIMEOUT, ABSENT, FLAKY = CheckOutcome.TIMEOUT, CheckOutcome.ABSENT, CheckOutcome.FLAKY

# What a candidate that passes is worth, by how a proving check ended on the base.
PROOF_BY_BASE = {
    FAILED: (True, "proven"),
    PASSED: (False, "vacuous"),
    FLAKY: (False, "flaky_on_base"),
    ERROR: (False, "base_not_red_by_assertion"),
    ABSENT: (False, "base_not_red_by_assertion"),
    TIMEOUT: (False, "base_not_red_by_assertion"),
    None: (False, "base_unknown"),
}
BASES = tuple(PROOF_BY_BASE)
NOT_PASSED = tuple(outcome for outcome in CheckOutcome if outcome is not PASSED)


@pytest.mark.parametrize(("base", "expected"), PROOF_BY_BASE.items())
def test_a_proof_that_passes_is_worth_what_its_base_says(base: CheckOutcome | None, expected: tuple[bool, str]) -> None:
    """Decision: only a base that is red by assertion lets a check prove something."""
    assert judge(CheckKind.PROVES, base, PASSED) == expected


@pytest.mark.parametrize("kind", CheckKind)
@pytest.mark.parametrize("candidate", NOT_PASSED)
@pytest.mark.parametrize("base", BASES)
def test_nothing_but_a_pass_on_the_candidate_is_ever_green(
    kind: CheckKind, base: CheckOutcome | None, candidate: CheckOutcome
) -> None:
    """Decision: only `passed` counts as green, whatever the base and the settings say."""
    for red_on_base in (True, False):
        assert not judge(kind, base, candidate, red_on_base=red_on_base).green


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
    """Decision: the contract's check carries `red_on_base`."""
    lenient = Check(id="t", kind=CheckKind.PROVES, command="true", red_on_base=False)
    assert judge_check(lenient, PASSED, PASSED).green
    assert not judge_check(replace(lenient, red_on_base=True), ERROR, PASSED).green


@pytest.mark.parametrize("before", [*CheckOutcome, None])
@pytest.mark.parametrize("there", CheckOutcome)
def test_a_control_that_is_not_red_takes_the_green_back(there: CheckOutcome, before: CheckOutcome | None) -> None:
    """Decision: whose doing it is, the candidate's or the contract's, is told by the base."""
    green, red = judge(CheckKind.PROVES, FAILED, PASSED), judge(CheckKind.PROVES, FAILED, FAILED)
    judged = judge_control(green, there, before)
    whose = "control_not_red" if before is FAILED else "control_cannot_fail"
    assert judged == (green if there is FAILED else (False, whose))
    assert judge_control(red, there, before) == red


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


@pytest.mark.parametrize(
    ("runs", "outcome"),
    [
        ([PASSED], PASSED),
        ([PASSED, PASSED], PASSED),
        ([FAILED, FAILED], FAILED),
        ([FAILED, PASSED], FLAKY),
        ([PASSED, PASSED, FAILED], FLAKY),
        ([PASSED, TIMEOUT], FLAKY),
        ([PASSED, ABSENT], FLAKY),
        ([FAILED, ERROR], FAILED),
        ([TIMEOUT], TIMEOUT),
    ],
)
def test_what_some_runs_pass_and_others_do_not_is_flaky(runs: list[CheckOutcome], outcome: CheckOutcome) -> None:
    """Decision: mixed runs of one commit are neither red nor green."""
    assert outcome_of_runs(runs) is outcome


@pytest.mark.parametrize(
    ("wanted", "first", "suspected", "runs"),
    [
        (1, PASSED, False, 1),
        (1, FAILED, False, 2),
        (1, PASSED, True, 3),
        (1, FAILED, True, 3),
        (5, PASSED, True, 5),
        (2, PASSED, False, 2),
        (4, ERROR, True, 1),
        (1, TIMEOUT, False, 1),
    ],
)
def test_a_check_is_run_again_where_chance_may_play_a_part(
    wanted: int, first: CheckOutcome, suspected: bool, runs: int
) -> None:
    """Decision: after a failure, where it was moody before, and where its author says so; no result is no reason."""
    assert RerunPolicy().runs(wanted, first, suspected=suspected) == runs


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
