"""How a verified ledger is told: what can be believed of it, its records one by one, and what the run came to."""

from collections.abc import Iterator
from typing import Any, Final

from workloop.repair.ledger.chain import Entry
from workloop.repair.ledger.records import (
    NAMES,
    Activated,
    Charged,
    ChargeState,
    Judged,
    PhaseEnd,
    PhaseKind,
    PhaseStart,
    RepairRejected,
    TaskOutcome,
)
from workloop.repair.ledger.schema import plain
from workloop.repair.ledger.verifying import Verification

Facts = dict[str, Any]
UNKNOWN: Final = "unknown"


def told_verification(found: Verification) -> Facts:
    """Return what can be believed of a ledger, and what not."""
    bad, close = found.first_bad, found.close
    return {
        "whole": found.whole,
        "good_records": found.good_prefix,
        "first_bad_line": bad.line if bad is not None else None,
        "problem": bad.reason.value if bad is not None else "",
        "detail": bad.detail if bad is not None else "",
        "closed": close is not None,
        "stopped": close.reason.value if close is not None else "",
        "open_phases": [f"{start.phase} ({start.kind} of {start.task})" for start in found.open_phases],
        "held": found.held,
        "head": found.head,
        "head_outside": found.anchor.value,
        "signed_by": found.signed_by,
    }


def told_entries(found: Verification) -> Iterator[Facts]:
    """Yield the good records, each with its line, its time and its fields."""
    for entry in found.entries:
        fields = plain(entry.record)
        assert isinstance(fields, dict)
        yield {"line": entry.seq + 1, "ts": entry.ts, "type": NAMES[type(entry.record)], "data": fields}


def told_run(found: Verification) -> Facts:
    """Return what a run came to, as far as its ledger can be believed."""
    standing, opening, close = found.standing, found.opening, found.close
    if standing is None or opening is None:
        return {**told_verification(found), "tasks": []}
    return {
        **told_verification(found),
        "run": opening.run,
        "stop_detail": close.detail if close is not None else "",
        "harness": plain(standing.harness),
        "spent_microusd": standing.spent_microusd,
        "limit_microusd": opening.limits.max_spend_microusd,
        "unknown_charges": standing.unknown_charges,
        "repairs": standing.repairs,
        "tasks": told_tasks(found),
        "phases": told_phases(found),
        "verdicts": [told_verdict(entry.record) for entry in found.entries if isinstance(entry.record, Judged)],
        "rejected_repairs": told_rejections(found.entries),
        "activations": [plain(entry.record) for entry in found.entries if isinstance(entry.record, Activated)],
    }


def told_tasks(found: Verification) -> list[Facts]:
    """Return what became of each task; one whose phase has no end or no known charge is uncertain."""
    standing, opening = found.standing, found.opening
    assert standing is not None
    assert opening is not None
    outcomes = {entry.record.task: entry.record for entry in found.entries if isinstance(entry.record, TaskOutcome)}
    starts = [entry.record for entry in found.entries if isinstance(entry.record, PhaseStart)]
    attempts = [start.task for start in starts if start.kind is PhaseKind.TASK]
    return [
        {
            "task": task,
            "end": outcomes[task].end.value if task in outcomes else "",
            "commit": outcomes[task].commit if task in outcomes else None,
            "attempts": attempts.count(task),
            "uncertain": task in standing.uncertain,
        }
        for task in opening.tasks
    ]


def told_phases(found: Verification) -> list[Facts]:
    """Return each worker's phase with what it cost and who kept it within its limits."""
    charges: dict[str, int | str] = {}
    for entry in found.entries:
        if isinstance(entry.record, Charged) and charges.get(entry.record.phase) != UNKNOWN:
            settled = entry.record.state is ChargeState.SETTLED
            charges[entry.record.phase] = entry.record.microusd if settled else UNKNOWN
    ends = [entry.record for entry in found.entries if isinstance(entry.record, PhaseEnd)]
    enforced = {end.phase: end.enforced_by.value for end in ends}
    open_phases = {start.phase for start in found.open_phases}
    return [
        {
            "phase": start.phase,
            "kind": start.kind.value,
            "task": start.task,
            "attempt": start.attempt,
            "microusd": charges.get(start.phase),
            "enforced_by": enforced.get(start.phase, ""),
            "open": start.phase in open_phases,
        }
        for start in (entry.record for entry in found.entries)
        if isinstance(start, PhaseStart)
    ]


def told_verdict(verdict: Judged) -> Facts:
    """Return a verdict with what it is about."""
    about = verdict.task or verdict.fingerprint or ""
    return {"kind": verdict.kind.value, "about": about, "commit": verdict.commit, "passed": verdict.passed}


def told_rejections(entries: tuple[Entry, ...]) -> list[Facts]:
    """Return the repairs that came to nothing."""
    return [
        {"repair": record.repair, "reason": record.reason.value, "commit": record.commit, "detail": record.detail}
        for record in (entry.record for entry in entries)
        if isinstance(record, RepairRejected)
    ]
