"""What the host's own checks say of a candidate, before any session is spent on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from workloop.domain.checks import CheckOutcome, CheckResult, JudgeReason
from workloop.domain.contract import Contract
from workloop.domain.evidence import EvidenceKind, NewEvidence

TAIL_CHARACTERS = 1500
CHANGED = "protected paths changed, or files that would be loaded in place of others"
CONTRACT_FAULTS = frozenset(
    {
        JudgeReason.VACUOUS,
        JudgeReason.RED_BEFORE_CANDIDATE,
        JudgeReason.FLAKY_ON_BASE,
        JudgeReason.BASE_NOT_RED_BY_ASSERTION,
        JudgeReason.CONTROL_CANNOT_FAIL,
    }
)
CANNOT = {
    JudgeReason.VACUOUS: "it passes without the work as well, so that its pass says nothing",
    JudgeReason.RED_BEFORE_CANDIDATE: "it fails without the work as well, so that its failure says nothing",
    JudgeReason.FLAKY_ON_BASE: "without the work it sometimes passes and sometimes fails, so that its pass is chance",
    JudgeReason.BASE_NOT_RED_BY_ASSERTION: (
        "without the work it did not get as far as an assertion that failed, so that nobody has seen it red"
    ),
    JudgeReason.CONTROL_CANNOT_FAIL: (
        "its control, which must fail, passes with the work and without, so that nobody knows whether it can be red"
    ),
}
"""Why a check says nothing of a candidate, for a person who has to decide what becomes of it."""
CONCLUSIVE = frozenset({CheckOutcome.PASSED, CheckOutcome.FAILED})


class HostWord(StrEnum):
    """What the host concludes from its checks."""

    GREEN = "green"
    REJECTED = "rejected"
    UNCLEAR = "unclear"
    UNJUDGEABLE = "unjudgeable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The host's word, the checks it rests on, and how to see it."""

    word: HostWord
    failed: tuple[str, ...] = ()
    reproduction: str = ""


def judge(results: Sequence[CheckResult], violations: Sequence[str], problems: Sequence[str]) -> Judgement:
    """Conclude from facts and receipts.

    A commit that is no candidate, changed a protected path or stands in for a test is rejected. A failed check is red,
    and so is one whose control does not fail any more. A check that reached no result on the candidate while it reached
    one on the base is the candidate's doing and red too. A check that cannot tell the candidate from the base, or was
    not seen red, is the contract's fault: no repair can mend it, a person must look. Anything else is unclear.
    """
    if problems:
        return Judgement(word=HostWord.REJECTED, failed=("outcome",), reproduction="; ".join(problems))
    if violations:
        named = ", ".join(violations[:10])
        return Judgement(word=HostWord.REJECTED, failed=("protected",), reproduction=f"{CHANGED}: {named}")
    bad = [result for result in results if not result.green]
    if not bad:
        return Judgement(word=HostWord.GREEN)
    faults = [result for result in bad if result.reason in CONTRACT_FAULTS]
    if faults:
        return Judgement(word=HostWord.UNJUDGEABLE, failed=ids(faults), reproduction=tell_unjudgeable(faults))
    red = [result for result in bad if is_red(result)]
    if red:
        return Judgement(word=HostWord.REJECTED, failed=ids(red), reproduction=tell(red))
    return Judgement(word=HostWord.UNCLEAR, failed=ids(bad), reproduction=tell(bad))


def held_to(results: Sequence[CheckResult], against: Mapping[str, str]) -> tuple[CheckResult, ...]:
    """Take back what passed now but not before on the same commit: a check has one verdict there, and this is chance.

    `against` says of a check what an earlier receipt saw of it.
    """
    return tuple(
        replace(
            result,
            green=False,
            outcome_on_candidate=CheckOutcome.FLAKY,
            reason=JudgeReason.FLAKY,
            output_tail=f"{result.output_tail}\nit passed now, and was seen as {against[result.check_id]} before",
        )
        if result.green and result.check_id in against
        else result
        for result in results
    )


def judge_unchecked(contract: Contract) -> Judgement:
    """Conclude about a result that is no commit: checks that run in a checkout say nothing of it."""
    if not contract.checks:
        return Judgement(word=HostWord.GREEN)
    named = tuple(check.id for check in contract.checks)
    told = f"The result is no commit, so {' and '.join(named)} could not be run on it."
    return Judgement(word=HostWord.UNJUDGEABLE, failed=named, reproduction=told)


def is_red(result: CheckResult) -> bool:
    """Tell whether a check that is not green is the candidate's doing."""
    if result.outcome_on_candidate is CheckOutcome.FAILED or result.reason is JudgeReason.CONTROL_NOT_RED:
        return True
    broken = result.outcome_on_candidate in (CheckOutcome.ERROR, CheckOutcome.TIMEOUT, CheckOutcome.ABSENT)
    return broken and result.outcome_on_base in CONCLUSIVE


def ids(results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return the checks' ids."""
    return tuple(result.check_id for result in results)


def tell(results: Sequence[CheckResult]) -> str:
    """Write what was run and what it printed last."""
    return "\n".join(
        f"{result.check_id}: {result.outcome_on_candidate} ({result.reason}), exit code {result.exit_code};"
        f" its output ends with:\n{result.output_tail[-TAIL_CHARACTERS:]}"
        for result in results
    )


def tell_unjudgeable(results: Sequence[CheckResult]) -> str:
    """Write for a person which checks cannot judge, why, and what was seen on both sides; then what was printed."""
    said = (
        f"Check {result.check_id} cannot judge it: {CANNOT[result.reason]}."
        f" Seen on the base: {result.outcome_on_base or 'nothing'}; on the candidate: {result.outcome_on_candidate}."
        for result in results
    )
    return f"{' '.join(said)}\n\n{tell(results)}"


def receipts(results: Sequence[CheckResult]) -> list[NewEvidence]:
    """Return one receipt per check; only a green one counts as passed."""
    return [
        NewEvidence(
            kind=EvidenceKind.CHECK,
            ref=result.log_path or f"sha256:{result.output_digest}",
            slot=result.check_id,
            digest=result.output_digest,
            result="passed" if result.green else f"{result.outcome_on_candidate}: {result.reason}",
            sandbox=result.sandbox,
        )
        for result in results
    ]
