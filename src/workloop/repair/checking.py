"""Whether what a driver returned is what it may return; a slip of a driver is found here and never passed on."""

import dataclasses
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar, cast

from workloop.domain.session import head
from workloop.repair.config import DIGEST, full_sha, runtime_id_problem
from workloop.repair.ledger.records import ChargeState, RepairRefusal, VerdictKind
from workloop.repair.observations.finding import EvidenceRef, Observation, ObservationKind, ObservationSource
from workloop.repair.port import (
    Charge,
    CheckRun,
    Confirmation,
    EvidenceFile,
    HarnessRevision,
    Verdict,
    WorkerResult,
    WorkerStatus,
    unknown,
)

REPR_CHARACTERS_MAX: Final = 500
TEXT_CHARACTERS_MAX: Final = 100_000
ENTRIES_MAX: Final = 1_000
PATH_CHARACTERS_MAX: Final = 160
COUNT_MAX: Final = 2**53 - 1
UNRUN: Final = (RepairRefusal.INVALID_CANDIDATE, RepairRefusal.PROTECTED_PATH, RepairRefusal.CAPABILITY_WIDENED)
"""Why nothing of a candidate is run: what a check may say of it beside what its runs show."""

Kind = TypeVar("Kind")


class ContractBrokenError(ValueError):
    """A driver returned what it may not return; the message holds what came, cut to size."""


def shown(value: object) -> str:
    """Write a value that is not trusted to be shown, within bounds."""
    try:
        return head(repr(value), REPR_CHARACTERS_MAX)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def exactly(value: object, kind: type[Kind], what: str) -> Kind:
    """Return a value of just this class, with fields of the kinds that it declares."""
    if type(value) is not kind:
        raise ContractBrokenError(f"{what}: expected {kind.__name__}, got {shown(value)}")
    return value


def require(held: object, what: str, value: object) -> None:
    """Raise ContractBrokenError unless something holds."""
    if not held:
        raise ContractBrokenError(f"{what}, got {shown(value)}")


def worker_result(value: object) -> WorkerResult:
    """Check what a worker's phase returned; whether its candidate is any good is judged elsewhere."""
    result = exactly(value, WorkerResult, "the result of a worker")
    require(type(result.status) is WorkerStatus, "status: expected a WorkerStatus", result.status)
    require(full_sha(result.base), "base: expected a full commit SHA", result.base)
    require(result.candidate is None or _is_text(result.candidate), "candidate: expected a text", result.candidate)
    require(_is_text(result.transient), "transient: expected a text", result.transient)
    require(_is_count(result.wait_ms), "wait_ms: expected a whole number of milliseconds from 0 on", result.wait_ms)
    require(result.transient or not result.wait_ms, "wait_ms: expected transient to say why", result.wait_ms)
    require(_is_text(result.summary), "summary: expected a text", result.summary)
    _evidence_list(result.evidence)
    for entry in _entries(result.observations, "observations"):
        observation(entry)
    return result


def candidate_problem(candidate: str, base: str, harness: str | None) -> str:
    """Say why a candidate cannot be one; for a repair `harness` is the commit it has to go on from."""
    if not full_sha(candidate):
        return f"{head(candidate, REPR_CHARACTERS_MAX)!r} is not a full commit SHA"
    if candidate == base:
        return "it is the commit that the worker began from"
    if len(candidate) != len(base):
        return "it is named by another kind of SHA than its base"
    if harness is not None and base != harness:
        return f"the worker began from {base} and not from the harness in force, {harness}"
    return ""


def charge(value: object) -> Charge:
    """Return a charge; whatever cannot be one is unknown, for nobody can state it."""
    if type(value) is not Charge:
        return unknown(f"no charge but {shown(value)}")
    basis = value.basis if _is_text(value.basis) else ""
    if type(value.state) is not ChargeState or value.state is ChargeState.UNKNOWN:
        return unknown(basis or "the driver cannot state it")
    if not _is_count(value.microusd):
        return unknown(f"no whole number of micro-dollars from 0 on but {shown(value.microusd)}")
    return value


def confirmation(value: object) -> Confirmation:
    """Check what was said about an observation."""
    said = exactly(value, Confirmation, "the confirmation")
    require(type(said.confirmed) is bool, "confirmed: expected true or false", said.confirmed)
    require(_is_text(said.why), "why: expected a text", said.why)
    sound = said.reproducer == "" or _is_digest(said.reproducer)
    require(sound, "reproducer: expected a SHA-256 or nothing", said.reproducer)
    _runs(said.runs)
    _evidence_list(said.evidence)
    return said


def verdict(value: object, kind: VerdictKind, commit: str, base: str | None = None) -> Verdict:
    """Check a verdict: of the kind that was asked for, about the very commit, and in keeping with its own runs."""
    said = exactly(value, Verdict, f"the {kind} verdict")
    require(said.kind is kind, f"kind: expected {kind}", said.kind)
    require(said.commit == commit, f"commit: expected {commit}", said.commit)
    require(type(said.passed) is bool, "passed: expected true or false", said.passed)
    require(_is_text(said.why), "why: expected a text", said.why)
    known = {commit} if base is None else {commit, base}
    for run in _runs(said.runs):
        require(run.commit in known, f"runs: expected only runs of {' and '.join(sorted(known))}", run.commit)
        contradicted = said.passed and run.commit == commit and not run.passed
        require(not contradicted, "runs: a run of the candidate failed, and the verdict is that it passed", run)
    _evidence_list(said.evidence)
    if said.refusal is not None:
        _refusal(said)
    return said


def _refusal(said: Verdict) -> None:
    require(type(said.refusal) is RepairRefusal, "refusal: expected a RepairRefusal or nothing", said.refusal)
    require(said.refusal in UNRUN, f"refusal: expected {', '.join(UNRUN)} or nothing", said.refusal)
    require(said.kind is not VerdictKind.ACCEPTANCE, "refusal: only a repair is refused", said.refusal)
    require(not said.passed, "refusal: the verdict is that it passed", said.refusal)
    ran = [run for run in said.runs if run.commit == said.commit]
    require(not ran, "refusal: nothing of a refused candidate is run", said.runs)


def revision(value: object) -> HarnessRevision:
    """Check the form of a harness revision."""
    given = exactly(value, HarnessRevision, "the harness revision")
    require(full_sha(given.commit), "commit: expected a full commit SHA", given.commit)
    require(_is_text(given.runtime_id), "runtime_id: expected a text", given.runtime_id)
    problem = runtime_id_problem(given.runtime_id)
    require(not problem, f"runtime_id: {problem}", given.runtime_id)
    return given


def observation(value: object) -> Observation:
    """Check the form of a finding; its own class holds the bounds."""
    given = exactly(value, Observation, "an observation")
    require(type(given.kind) is ObservationKind, "kind: expected an ObservationKind", given.kind)
    require(type(given.source) is ObservationSource, "source: expected an ObservationSource", given.source)
    for entry in _entries(given.evidence, "evidence"):
        exactly(entry, EvidenceRef, "evidence of an observation")
    try:
        dataclasses.replace(given)
    except (TypeError, ValueError) as error:
        raise ContractBrokenError(f"an observation holds what it may not: {shown(given)}") from error
    return given


def worker_paths(value: object) -> tuple[Path, ...]:
    """Check the folders that workers can reach."""
    paths = _entries(value, "worker_paths")
    for path in paths:
        require(isinstance(path, Path) and path.is_absolute(), "worker_paths: expected absolute paths", path)
    return cast("tuple[Path, ...]", paths)


def _evidence_list(value: object) -> None:
    for entry in _entries(value, "evidence"):
        given = exactly(entry, EvidenceFile, "evidence")
        require(_is_text(given.path), "evidence: expected a path", given.path)
        path = PurePosixPath(given.path)
        plain = given.path.isprintable() and len(given.path) <= PATH_CHARACTERS_MAX and str(path) == given.path
        below = plain and path.parts and not path.is_absolute() and ".." not in path.parts
        require(below, "evidence: expected a path below the phase's folder", given.path)
        require(_is_digest(given.digest), "evidence: expected a SHA-256", given.digest)


def _runs(value: object) -> tuple[CheckRun, ...]:
    runs = tuple(exactly(entry, CheckRun, "a run of a check") for entry in _entries(value, "runs"))
    for run in runs:
        require(full_sha(run.commit), "runs: expected a full commit SHA", run.commit)
        require(type(run.passed) is bool, "runs: expected true or false", run.passed)
    return runs


def _entries(value: object, what: str) -> tuple[object, ...]:
    if type(value) is not tuple:
        raise ContractBrokenError(f"{what}: expected a tuple, got {shown(value)}")
    entries = cast("tuple[object, ...]", value)
    require(len(entries) <= ENTRIES_MAX, f"{what}: expected at most {ENTRIES_MAX} entries", len(entries))
    return entries


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= COUNT_MAX


def _is_text(value: object) -> bool:
    return type(value) is str and len(value) <= TEXT_CHARACTERS_MAX


def _is_digest(value: object) -> bool:
    return type(value) is str and DIGEST.fullmatch(value) is not None
