"""How a journal's rows become values and values rows, by position."""

import json

from workloop.domain.budget import Payer
from workloop.domain.charge import Charge, ChargeState
from workloop.domain.charge import Source as ChargeSource
from workloop.domain.clock import Instant
from workloop.domain.gate import Cause, Gate, GateKey, GateState, Source
from workloop.domain.journal import (
    Decision,
    DecisionRow,
    RunRow,
    SessionRow,
    Subject,
    SubjectKind,
    TargetRow,
    Verb,
)
from workloop.domain.progress import Pace, Weight
from workloop.domain.session import SessionClass, Tokens
from workloop.domain.spend import Amount
from workloop.domain.units import Unit
from workloop.store.journal.sqlite.file import Row


def write_decision(decision: Decision, at: Instant) -> Row:
    """Write a new decision."""
    subject = decision.subject
    return (
        subject.kind.value, subject.name, subject.target, decision.verb.value, decision.code, decision.message,
        decision.unblock, decision.wakes_at, decision.item, decision.session, at,
    )  # fmt: skip


def read_decision(row: Row) -> DecisionRow:
    """Read a decision."""
    number, kind, name, target, verb, code, message, unblock, wakes_at, item, session, first_at, last_at, times = row
    decision = Decision(
        subject=Subject(kind=SubjectKind(kind), name=name, target=target),
        verb=Verb(verb),
        code=code,
        message=message,
        unblock=unblock,
        wakes_at=wakes_at,
        item=item,
        session=session,
    )
    return DecisionRow(number=number, decision=decision, first_at=first_at, last_at=last_at, times=times)


def write_gate(gate: Gate) -> Row:
    """Write a gate."""
    return (
        gate.key.harness, gate.key.account, gate.key.tier, gate.state.value,
        None if gate.cause is None else gate.cause.value, gate.until,
        None if gate.source is None else gate.source.value, gate.since, gate.try_at, gate.probes, gate.last_probe,
        gate.openings, gate.silent, gate.transients, gate.guesses, gate.remedy, gate.detail, gate.question,
    )  # fmt: skip


def read_gate(row: Row) -> Gate:
    """Read a gate."""
    return Gate(
        key=GateKey(harness=row[0], account=row[1], tier=row[2]),
        state=GateState(row[3]),
        cause=None if row[4] is None else Cause(row[4]),
        until=row[5],
        source=None if row[6] is None else Source(row[6]),
        since=row[7],
        try_at=row[8],
        probes=row[9],
        last_probe=row[10],
        openings=row[11],
        silent=row[12],
        transients=row[13],
        guesses=row[14],
        remedy=row[15],
        detail=row[16],
        question=row[17],
    )


def write_target(target: TargetRow) -> Row:
    """Write a target."""
    return (
        target.name, target.pace.fruitless, target.pace.not_before, int(target.paused), target.pause_reason,
        target.paused_until, target.served_at, target.question,
    )  # fmt: skip


def read_target(row: Row) -> TargetRow:
    """Read a target."""
    return TargetRow(
        name=row[0],
        pace=Pace(fruitless=row[1], not_before=row[2]),
        paused=row[3] == 1,
        pause_reason=row[4],
        paused_until=row[5],
        served_at=row[6],
        question=row[7],
    )


def write_session(row: SessionRow) -> Row:
    """Write a session."""
    tokens = row.tokens
    return (
        row.session_id, row.target, row.harness, row.began_at, row.run, row.item_key, row.item_id, row.fence,
        row.role, row.phase, int(row.probe), row.account, row.tier, row.model, row.version, row.resume_id,
        row.resumes, row.cwd, row.base_sha, row.log_path, row.ended_at,
        None if row.session_class is None else row.session_class.value, row.settled, int(row.acted),
        int(row.produced), int(row.guessed), row.exit_code, row.signal, tokens.input, tokens.output,
        tokens.cache_read, tokens.cache_write, int(row.usage_reported), row.cost_micros, row.reset_at,
        row.final_text, row.detail,
    )  # fmt: skip


def read_session(row: Row) -> SessionRow:
    """Read a session; the first column is the order in which it was written."""
    return SessionRow(
        session_id=row[1], target=row[2], harness=row[3], began_at=row[4], run=row[5], item_key=row[6],
        item_id=row[7], fence=row[8], role=row[9], phase=row[10], probe=row[11] == 1, account=row[12], tier=row[13],
        model=row[14], version=row[15], resume_id=row[16], resumes=row[17], cwd=row[18], base_sha=row[19],
        log_path=row[20], ended_at=row[21], session_class=None if row[22] is None else SessionClass(row[22]),
        settled=row[23], acted=row[24] == 1, produced=row[25] == 1, guessed=row[26] == 1, exit_code=row[27],
        signal=row[28],
        tokens=Tokens(input=row[29], output=row[30], cache_read=row[31], cache_write=row[32]),
        usage_reported=row[33] == 1, cost_micros=row[34], reset_at=row[35], final_text=row[36], detail=row[37],
    )  # fmt: skip


def read_run(row: Row) -> RunRow:
    """Read a run."""
    number, pid, host, version, began_at, ended_at, reason, detail = row
    return RunRow(
        number=number,
        pid=pid,
        host=host,
        version=version,
        began_at=began_at,
        ended_at=ended_at,
        reason=reason,
        detail=detail,
    )


def write_charge(charge: Charge) -> Row:
    """Write a charge."""
    payer, spent = charge.payer, charge.spent
    return (
        charge.session_id, charge.began_at, charge.run, payer.target, payer.campaign, payer.harness, payer.root,
        charge.item_key, charge.role, charge.phase, charge.account, charge.model, int(charge.probe),
        charge.state.value, json.dumps({unit.value: most for unit, most in charge.reserved.items()}),
        spent.tokens.input, spent.tokens.output, spent.tokens.cache_read, spent.tokens.cache_write, spent.cost_micros,
        spent.wall_us, spent.sessions, int(charge.priced), charge.source.value, charge.ended_at,
        None if charge.brought is None else charge.brought.value,
    )  # fmt: skip


def read_charge(row: Row) -> Charge:
    """Read a charge; the first column is the order in which it was written."""
    return Charge(
        session_id=row[1],
        began_at=row[2],
        run=row[3],
        payer=Payer(target=row[4], campaign=row[5], harness=row[6], root=row[7]),
        item_key=row[8],
        role=row[9],
        phase=row[10],
        account=row[11],
        model=row[12],
        probe=row[13] == 1,
        state=ChargeState(row[14]),
        reserved={Unit(unit): int(most) for unit, most in json.loads(row[15]).items()},
        spent=read_amount(row[16:23]),
        priced=row[23] == 1,
        source=ChargeSource(row[24]),
        ended_at=row[25],
        brought=None if row[26] is None else Weight(row[26]),
    )


def read_amount(row: Row) -> Amount:
    """Read an amount in all its units."""
    fresh_in, out, cache_read, cache_write, cost_micros, wall_us, sessions = row
    return Amount(Tokens(fresh_in, out, cache_read, cache_write), cost_micros, wall_us, sessions)
