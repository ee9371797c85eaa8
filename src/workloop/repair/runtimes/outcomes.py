"""What became of tasks under each runtime, and when a runtime has made too many of them fail that went well before."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from workloop.domain.errors import BadRequest, IntegrityFault

VERSION = 1
NAME_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One task that was judged: under which runtime, in which run, and whether it was accepted."""

    runtime_id: str
    task_id: str
    run_id: str
    accepted: bool


def regressions(outcomes: Sequence[Outcome], runtime_id: str) -> tuple[str, ...]:
    """Return the tasks whose last outcome under a runtime is a failure, though another before it had them accepted."""
    went_well: set[str] = set()
    failing: dict[str, bool] = {}
    for outcome in outcomes:
        if outcome.runtime_id == runtime_id:
            failing[outcome.task_id] = not outcome.accepted and (
                outcome.task_id in went_well or failing.get(outcome.task_id, False)
            )
        elif outcome.accepted:
            went_well.add(outcome.task_id)
        else:
            went_well.discard(outcome.task_id)
    return tuple(sorted(task_id for task_id, is_failing in failing.items() if is_failing))


def has_regressed(outcomes: Sequence[Outcome], runtime_id: str, limit: int) -> bool:
    """Say whether a runtime has reached its number of regressions, so that the run stops with harness-regressed."""
    if limit < 1:
        raise BadRequest("LIMIT_INVALID", f"{limit} regressions would stop every run", hint="name 1 or more")
    return len(regressions(outcomes, runtime_id)) >= limit


def counts(outcomes: Sequence[Outcome], runtime_id: str) -> tuple[int, int]:
    """Return how many judgements under a runtime accepted a task, and how many did not."""
    own = [outcome.accepted for outcome in outcomes if outcome.runtime_id == runtime_id]
    return sum(own), len(own) - sum(own)


def read_outcomes(path: Path) -> tuple[Outcome, ...]:
    """Read all outcomes; a last line that a crash cut off was never told to anybody and does not count."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    return tuple(outcome_of(line, number, path) for number, line in enumerate(data.split(b"\n")[:-1], start=1))


def outcome_of(line: bytes, number: int, path: Path) -> Outcome:
    """Read one line; raises IntegrityFault for one that nobody here wrote."""
    try:
        return outcome_in(cast("Mapping[str, object]", json.loads(line)))
    except (ValueError, KeyError, TypeError) as wrong:
        raise IntegrityFault(
            "RUNTIME_RECORD_DAMAGED", f"{path}, line {number}, cannot be read: {wrong}", hint="look at the file"
        ) from wrong


def outcome_in(facts: Mapping[str, object]) -> Outcome:
    """Read the facts of a line; raises ValueError for what this program did not write."""
    accepted = facts["accepted"]
    if facts["v"] != VERSION or not isinstance(accepted, bool):
        raise ValueError("it is of another version")
    return Outcome(
        runtime_id=str(facts["runtime"]), task_id=str(facts["task"]), run_id=str(facts["run"]), accepted=accepted
    )


def append_outcome(path: Path, outcome: Outcome) -> None:
    """Write one outcome durably; the caller holds the store's lock."""
    for name in (outcome.task_id, outcome.run_id):
        if not 1 <= len(name) <= NAME_CHARACTERS_MAX:
            raise BadRequest("NAME_INVALID", f"a name has 1 to {NAME_CHARACTERS_MAX} characters", hint="shorten it")
    facts = {"v": VERSION, "runtime": outcome.runtime_id, "task": outcome.task_id, "run": outcome.run_id}
    line = json.dumps({**facts, "accepted": outcome.accepted}, separators=(",", ":")).encode() + b"\n"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        whole = os.pread(handle, os.fstat(handle).st_size, 0)
        kept = whole.rfind(b"\n") + 1
        os.ftruncate(handle, kept)
        os.pwrite(handle, line, kept)
        os.fsync(handle)
    finally:
        os.close(handle)
