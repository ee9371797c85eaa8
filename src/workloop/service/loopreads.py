"""What people may know of a loop from its journal: its sessions, how often they die, and why it does what it does."""

from collections.abc import Sequence
from typing import Any

from workloop.domain.availability import passage
from workloop.domain.clock import Instant, to_text
from workloop.domain.errors import BadRequest, NotFound
from workloop.domain.gate import Entry, Gate, GateState
from workloop.domain.journal import (
    LOOP,
    DecisionRow,
    RunRow,
    SessionRow,
    Subject,
    SubjectKind,
    TargetRow,
    rated,
)
from workloop.domain.rates import Ended, Rate, fleet, rates
from workloop.service.loopends import ended_reason, over, reason, state_over, was
from workloop.store.journal.port import JournalReading

Answer = dict[str, Any]
CANDIDATES_SHOWN = 5
RATED_MOST = 5_000
UNSEEN = "not looked at"


def text_or_none(at: Instant | None) -> str | None:
    """Write an instant that may be absent."""
    return None if at is None else to_text(at)


def list_sessions(journal: JournalReading, *, target: str, item: str, limit: int, alive: bool | None = None) -> Answer:
    """List the newest sessions, newest first, of one target or item where one is named; none runs without a loop."""
    rows = journal.sessions(target=target, item_key=item, limit=limit + 1)
    runs = journal.runs(1)
    gone = bool(runs) and over(runs[0], alive=alive)
    return {"sessions": [session_row(row) for row in rows[:limit]], "more": len(rows) > limit, "loop_gone": gone}


def session_row(row: SessionRow) -> Answer:
    """Describe one session whole; its last message is part of it even when it settled nothing."""
    return {
        "session": row.session_id,
        "target": row.target,
        "item": row.item_key or None,
        "attempt": row.fence,
        "role": row.role,
        "phase": row.phase,
        "harness": row.harness,
        "account": row.account,
        "tier": row.tier,
        "model": row.model,
        "version": row.version,
        "probe": row.probe,
        "began_at": to_text(row.began_at),
        "ended_at": text_or_none(row.ended_at),
        "seconds": None if row.ended_at is None else round((row.ended_at - row.began_at) / 1_000_000, 3),
        "class": None if row.session_class is None else row.session_class.value,
        "settled": row.settled or None,
        "tokens": row.tokens.total if row.usage_reported else None,
        "cost_micros": row.cost_micros,
        "reset_at": text_or_none(row.reset_at),
        "exit_code": row.exit_code,
        "signal": row.signal,
        "resume_id": row.resume_id or None,
        "resumes": row.resumes or None,
        "cwd": row.cwd,
        "base_sha": row.base_sha,
        "log": row.log_path,
        "detail": row.detail,
        "last_words": row.final_text,
    }


def find_session(journal: JournalReading, prefix: str) -> SessionRow:
    """Return the one session whose id begins so; raises NotFound, or BadRequest when there are several."""
    exact = journal.session_get(prefix)
    if exact is not None:
        return exact
    found = journal.sessions_like(prefix, CANDIDATES_SHOWN) if prefix else []
    if not found:
        raise NotFound("SESSION_NOT_FOUND", f"no session {prefix!r}", hint="workloop sessions lists them")
    if len(found) > 1:
        names = ", ".join(row.session_id for row in found)
        raise BadRequest("SESSION_AMBIGUOUS", f"{prefix!r} begins several ids: {names}", hint="give more of the id")
    return found[0]


def list_rates(journal: JournalReading, *, target: str, limit: int) -> Answer:
    """Tell how often sessions die, by harness, version and phase, out of how many, over the newest sessions."""
    rows = journal.sessions(target=target, limit=min(limit, RATED_MOST))
    ended = [session for row in reversed(rows) if (session := rated(row)) is not None]
    by_harness = {
        harness: fleet([one for one in ended if one.population.harness == harness]) for harness in names(ended)
    }
    return {
        "sessions": len(rows),
        "rates": [rate_row(rate) for rate in rates(ended)],
        "suspect": [{"harness": name, "why": found.why} for name, found in by_harness.items() if found.pause],
    }


def names(ended: Sequence[Ended]) -> list[str]:
    """Return the harnesses of some sessions, each once."""
    return sorted({one.population.harness for one in ended})


def rate_row(rate: Rate) -> Answer:
    """Describe one rate, never without its denominator."""
    where = rate.population
    return {
        "harness": where.harness,
        "version": where.version,
        "phase": where.phase,
        "sessions": rate.sessions,
        "dead": rate.dead,
        "quiet": rate.quiet,
        "no_op": rate.no_op,
        "dead_share": round(rate.dead / rate.sessions, 4),
        "no_op_share": round(rate.no_op / rate.sessions, 4),
    }


def why_loop(journal: JournalReading, now: Instant, *, alive: bool | None) -> Answer:
    """Tell why the loop waits, sleeps or has stopped, when it wakes, and what one change would make it go on."""
    runs, last = journal.runs(1), journal.decision_last(LOOP)
    run = runs[0] if runs else None
    state = state_of(run, last, alive=alive)
    live = run is not None and not over(run, alive=alive)
    reasons = [ended_reason(journal, run)] if run is not None and not live else []
    reasons += [decision_reason(last)] if last is not None and not reasons else []
    reasons += [gate_reason(gate, now, live=live) for gate in journal.gates() if gate.state is not GateState.OPEN]
    return {
        "loop": run_row(run) if run is not None else None,
        "state": state,
        "reasons": reasons,
        "wakes_at": text_or_none(last.decision.wakes_at) if last is not None and live else None,
        "decision": decision_row(last) if last is not None else None,
        "targets": [target_line(journal, target, "" if live or run is None else state) for target in journal.targets()],
    }


def state_of(run: RunRow | None, last: DecisionRow | None, *, alive: bool | None) -> str:
    """Say in a word or two what the loop does."""
    if run is None:
        return "never run"
    if over(run, alive=alive):
        return state_over(run)
    return last.decision.verb.value if last is not None and last.last_at >= run.began_at else "running"


def decision_reason(row: DecisionRow) -> dict[str, str]:
    """Say what was decided last."""
    decision = row.decision
    return reason(decision.code, decision.message or decision.code.replace("_", " "), decision.unblock)


def gate_reason(gate: Gate, now: Instant, *, live: bool) -> dict[str, str]:
    """Say what keeps an account's sessions from starting, and what would open it; without a loop nothing is tried."""
    cause = gate.cause.value if gate.cause is not None else "unknown"
    found = passage(gate, now)
    match gate.state:
        case GateState.STOPPED:
            return reason(f"STOPPED_{cause.upper()}", f"{gate.key} is stopped: {gate.detail or cause}", gate.remedy)
        case GateState.PROBING:
            if not live:
                return reason(
                    "PROBING", f"{gate.key} was being probed when the loop ended", "the next run tries it again"
                )
            return reason("PROBING", f"{gate.key} is being probed", "wait for the probe's end")
        case _:
            due = "now" if found.entry is Entry.PROBE else text_or_none(found.at) or "later"
            until = f" until {to_text(gate.until)} ({gate.source})" if gate.until is not None else ""
            told = f"{gate.key} is closed by {cause}{until}; probed {gate.probes} times; {gate.detail}".rstrip("; ")
            then = "it is tried again" if live else "nothing tries it while no loop runs; it would be tried"
            return reason(f"CLOSED_{cause.upper()}", told, f"{then} {due}")


def run_row(run: RunRow) -> Answer:
    """Describe a run."""
    return {
        "run": run.number,
        "pid": run.pid,
        "host": run.host,
        "version": run.version,
        "began_at": to_text(run.began_at),
        "ended_at": text_or_none(run.ended_at),
        "reason": run.reason or None,
        "detail": run.detail,
    }


def decision_row(row: DecisionRow) -> Answer:
    """Describe a decision as it is kept."""
    decision = row.decision
    return {
        "verb": decision.verb.value,
        "code": decision.code,
        "message": decision.message,
        "unblock": decision.unblock,
        "wakes_at": text_or_none(decision.wakes_at),
        "target": decision.subject.target or (decision.subject.name if decision.subject.kind != "item" else ""),
        "item": decision.item or None,
        "session": decision.session or None,
        "since": to_text(row.first_at),
        "last_at": to_text(row.last_at),
        "times": row.times,
    }


def target_line(journal: JournalReading, target: TargetRow, ended: str) -> Answer:
    """Describe in one line where a target stands, or stood when the loop ended."""
    last = journal.decision_last(Subject(kind=SubjectKind.TARGET, name=target.name))
    return {
        "target": target.name,
        "state": "paused" if target.paused else ended or (last.decision.verb.value if last is not None else UNSEEN),
        "code": last.decision.code if last is not None else "",
        "message": target.pause_reason if target.paused else (last.decision.message if last is not None else ""),
    }


def why_target(journal: JournalReading, name: str, *, alive: bool | None = None) -> Answer:
    """Tell why a target gets no session now, or which it got, and what one change would alter that."""
    runs = journal.runs(1)
    ended = runs[0] if runs and over(runs[0], alive=alive) else None
    target = next((row for row in journal.targets() if row.name == name), None)
    last = journal.decision_last(Subject(kind=SubjectKind.TARGET, name=name))
    if target is None and last is None:
        known = ", ".join(row.name for row in journal.targets()) or "none yet"
        raise NotFound("TARGET_NOT_FOUND", f"the loop knows no target {name!r}", hint=f"targets: {known}")
    reasons = [] if last is None else [decision_reason(last)]
    if ended is not None:
        reasons = [ended_reason(journal, ended), *(was(given, last.last_at) for given in reasons if last is not None)]
    row, said = target or TargetRow(name=name), state_over(ended) if ended is not None else ""
    if row.paused and not any(row.pause_reason in given["message"] for given in reasons):
        until = f" until {to_text(row.paused_until)}" if row.paused_until is not None else ""
        reasons.insert(0, reason("PAUSED", f"paused{until}: {row.pause_reason}", "workloop resume"))
    return {
        "target": name,
        "state": "paused" if row.paused else said or (last.decision.verb.value if last is not None else UNSEEN),
        "reasons": reasons,
        "wakes_at": text_or_none(last.decision.wakes_at) if last is not None and ended is None else None,
        "fruitless": row.pace.fruitless,
        "not_before": text_or_none(row.pace.not_before),
        "served_at": text_or_none(row.served_at),
        "decision": decision_row(last) if last is not None else None,
    }


def about_item(
    journal: JournalReading, key: str, *, target: str = "", waits: bool = True, alive: bool | None = None
) -> Answer | None:
    """Return the loop's last word about an item: why it waits, if it does, or the last that started something for it.

    A decision of its own says why it waits, so it is over when the item does not wait any more. `gone` says that no
    loop runs, where that is known.
    """
    runs = journal.runs(1)
    own = journal.decision_last(Subject(kind=SubjectKind.ITEM, name=key, target=target)) if waits else None
    started = journal.decisions_on_item(key, 1)
    found = max((row for row in (own, *started) if row is not None), key=lambda row: row.last_at, default=None)
    sessions = journal.sessions(item_key=key, limit=1)
    if found is None and not sessions:
        return None
    return {
        "decision": decision_row(found) if found is not None else None,
        "session": session_row(sessions[0]) if sessions else None,
        "gone": ended_reason(journal, runs[0])["message"] if runs and over(runs[0], alive=alive) else None,
    }
