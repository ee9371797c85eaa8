"""What a check is and when its results make a candidate green.

The rule, in full. A check is a command; its exit code is read as follows. 0 is `passed`. A code among the
check's own `red_exit_codes` (1 unless the contract says otherwise, 101 for cargo as an example) is
`failed`: the assertion was reached and did not hold. 126 and 127 are `absent`: the command could not be
started; so is a red code whose output shows that the test runner or a test's module could not be loaded
(`loading.py`). Any other code, and death by a signal, is `error`. Running past the limit is `timeout`. A check
that failed is run again, one that is suspected of chance is run several times; when some of the runs of one commit pass
and others do not, it is `flaky`.

Only `failed` is red and only `passed` is green; the other outcomes are neither and never carry a candidate.

A check that `proves` must have been seen red: it must pass on the candidate and must have failed on the base.

- base `failed`: `proven`;
- base `passed`: `vacuous`, it cannot tell the candidate from the base;
- base `flaky`: `flaky_on_base`, it can pass without the candidate, so passing proves nothing;
- base `error`, `absent` or `timeout` (the test file the command names is not there yet, as an example):
  `base_not_red_by_assertion`; the check's author may count such an exit code among the red ones;
- base not run: `base_unknown`.

Only `proven` is green. With `red_on_base = false` the base is not looked at and only the candidate's pass counts.

A check that `guards` must pass on the candidate. One that is red on the base cannot block a candidate that
passes: it is green with the note `guard_red_on_base`. Red on both is not green, for the reason
`red_before_candidate`: the candidate did not cause it, and a person or another item must mend it.

A check may have a control: a command that cannot pass unless something keeps tests from failing. It is run on a
candidate that passed, and must be red there: `control_not_red` is the candidate's doing when the control is red on the
base, and `control_cannot_fail` the contract's when it is not.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, assert_never

from workloop.domain.loading import not_loaded

SANDBOX_NONE = "none"
ABSENT_EXIT_CODES = (126, 127)


class CheckKind(StrEnum):
    """What a check is for."""

    PROVES = "proves"
    GUARDS = "guards"


class CheckOutcome(StrEnum):
    """How one run of a check on one commit ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    ABSENT = "absent"
    FLAKY = "flaky"


class JudgeReason(StrEnum):
    """Why a check is green or not."""

    PROVEN = "proven"
    BASE_NOT_RED_BY_ASSERTION = "base_not_red_by_assertion"
    BASE_NOT_REQUIRED = "base_not_required"
    HOLDS = "holds"
    GUARD_RED_ON_BASE = "guard_red_on_base"
    VACUOUS = "vacuous"
    FLAKY_ON_BASE = "flaky_on_base"
    BASE_UNKNOWN = "base_unknown"
    RED_BEFORE_CANDIDATE = "red_before_candidate"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    ABSENT = "absent"
    FLAKY = "flaky"
    CONTROL_NOT_RED = "control_not_red"
    CONTROL_CANNOT_FAIL = "control_cannot_fail"
    GREEN_BY_LATER_FILES = "green_by_later_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunPolicy:
    """How often a check is run again after a failure, and how often in all when chance is suspected."""

    after_failure: int = 1
    suspected: int = 3

    def runs(self, wanted: int, first: CheckOutcome, *, suspected: bool) -> int:
        """Return how often a check is run in all, once its first run has ended."""
        least = max(wanted, self.suspected if suspected else 1)
        match first:
            case CheckOutcome.FAILED:
                return max(least, 1 + self.after_failure)
            case CheckOutcome.PASSED:
                return least
            case _:
                return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A command of the contract; a text goes through the shell, a tuple is an argument list.

    The control is a command that must be red on a candidate that passed; `runs` is how often it has to pass.
    """

    id: str
    kind: CheckKind
    command: str | tuple[str, ...]
    timeout_seconds: float = 600.0
    cwd: str = "."
    red_on_base: bool = True
    red_exit_codes: tuple[int, ...] = (1,)
    control: str | tuple[str, ...] | None = None
    runs: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The receipt of one check: outcomes on both commits, and the facts of the candidate's run."""

    check_id: str
    kind: CheckKind
    outcome_on_base: CheckOutcome | None
    outcome_on_candidate: CheckOutcome
    exit_code: int | None
    duration_us: int
    output_tail: str
    output_digest: str
    green: bool
    reason: JudgeReason
    log_path: str = ""
    sandbox: str = SANDBOX_NONE
    runs: int = 1


class Judgement(NamedTuple):
    """Whether a check is green, and why."""

    green: bool
    reason: JudgeReason


def outcome_of_exit(exit_code: int, red_exit_codes: tuple[int, ...] = (1,)) -> CheckOutcome:
    """Read an exit code by the rule above; negative means death by that signal."""
    if exit_code == 0:
        return CheckOutcome.PASSED
    if exit_code in red_exit_codes:
        return CheckOutcome.FAILED
    if exit_code in ABSENT_EXIT_CODES:
        return CheckOutcome.ABSENT
    return CheckOutcome.ERROR


def outcome_of_end(exit_code: int, output: str, red_exit_codes: tuple[int, ...] = (1,)) -> CheckOutcome:
    """Read an exit code beside the end of the output: what could not be loaded reached no assertion."""
    outcome = outcome_of_exit(exit_code, red_exit_codes)
    return CheckOutcome.ABSENT if outcome is CheckOutcome.FAILED and not_loaded(output) else outcome


def outcome_of_runs(outcomes: Sequence[CheckOutcome]) -> CheckOutcome:
    """Combine the runs of one check on one commit: what some pass and others do not is flaky."""
    found = set(outcomes)
    if found == {CheckOutcome.PASSED}:
        return CheckOutcome.PASSED
    if CheckOutcome.PASSED in found:
        return CheckOutcome.FLAKY
    return CheckOutcome.FAILED if CheckOutcome.FAILED in found else outcomes[0]


def matching_paths(paths: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the paths a pattern names, or that lie below a folder it names.

    A pattern is relative to the repository's root: `*` and `?` stay inside one name, `**` crosses folders.
    """
    expressions = [_expression(pattern) for pattern in patterns if pattern.strip("/ ")]
    return tuple(path for path in paths if any(one.fullmatch(path) for one in expressions))


def judge(
    kind: CheckKind, base: CheckOutcome | None, candidate: CheckOutcome, *, red_on_base: bool = True
) -> Judgement:
    """Judge a check by the rule above; pure, and total over every pair of outcomes."""
    match kind:
        case CheckKind.PROVES:
            return _judge_proof(base, candidate, red_on_base=red_on_base)
        case CheckKind.GUARDS:
            return _judge_guard(base, candidate)
        case _:
            assert_never(kind)


def judge_check(check: Check, base: CheckOutcome | None, candidate: CheckOutcome) -> Judgement:
    """Judge a check by its own settings."""
    return judge(check.kind, base, candidate, red_on_base=check.red_on_base)


def judge_control(judged: Judgement, candidate: CheckOutcome, base: CheckOutcome | None) -> Judgement:
    """Judge a green check anew by how its control ended; the base is looked at only when it was not red."""
    if not judged.green or candidate is CheckOutcome.FAILED:
        return judged
    seen_red = base is CheckOutcome.FAILED
    return Judgement(False, JudgeReason.CONTROL_NOT_RED if seen_red else JudgeReason.CONTROL_CANNOT_FAIL)


def _expression(pattern: str) -> re.Pattern[str]:
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern.removeprefix("./").strip("/ "))
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(token) or re.escape(token) for token in tokens) + "(?:/.*)?", re.DOTALL)


def _judge_proof(base: CheckOutcome | None, candidate: CheckOutcome, *, red_on_base: bool) -> Judgement:
    if candidate is not CheckOutcome.PASSED:
        return Judgement(False, _plain_reason(candidate))
    if not red_on_base:
        return Judgement(True, JudgeReason.BASE_NOT_REQUIRED)
    match base:
        case None:
            return Judgement(False, JudgeReason.BASE_UNKNOWN)
        case CheckOutcome.FAILED:
            return Judgement(True, JudgeReason.PROVEN)
        case CheckOutcome.PASSED:
            return Judgement(False, JudgeReason.VACUOUS)
        case CheckOutcome.FLAKY:
            return Judgement(False, JudgeReason.FLAKY_ON_BASE)
        case CheckOutcome.ERROR | CheckOutcome.ABSENT | CheckOutcome.TIMEOUT:
            return Judgement(False, JudgeReason.BASE_NOT_RED_BY_ASSERTION)
        case _:
            assert_never(base)


def _judge_guard(base: CheckOutcome | None, candidate: CheckOutcome) -> Judgement:
    red_before = base is CheckOutcome.FAILED
    if candidate is CheckOutcome.PASSED:
        return Judgement(True, JudgeReason.GUARD_RED_ON_BASE if red_before else JudgeReason.HOLDS)
    if candidate is CheckOutcome.FAILED and red_before:
        return Judgement(False, JudgeReason.RED_BEFORE_CANDIDATE)
    return Judgement(False, _plain_reason(candidate))


def _plain_reason(candidate: CheckOutcome) -> JudgeReason:
    match candidate:
        case CheckOutcome.FAILED:
            return JudgeReason.FAILED
        case CheckOutcome.ERROR:
            return JudgeReason.ERROR
        case CheckOutcome.TIMEOUT:
            return JudgeReason.TIMEOUT
        case CheckOutcome.ABSENT:
            return JudgeReason.ABSENT
        case CheckOutcome.FLAKY:
            return JudgeReason.FLAKY
        case CheckOutcome.PASSED:
            return JudgeReason.HOLDS
        case _:
            assert_never(candidate)
