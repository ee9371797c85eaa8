"""What must hold of ceilings on spending, by what sessions really spent and not by what was booked."""

from collections import Counter

from books import SimJournal
from stage import Stage

from workloop.config.budgets import Budgets
from workloop.domain.budget import Limit, Window, line_of
from workloop.domain.charge import Charge, ChargeState, run_origin
from workloop.domain.journal import RUNS_KEPT, SessionRow
from workloop.domain.session import Tokens
from workloop.domain.units import Unit
from workloop.driver.spending.leftover import Retold

EVENT_MAX = 10_000
"""So much at most a session spends between two of its words."""
KINDS = ("run", "day", "target", "harness", "item")


def drawn(seed: int) -> Budgets:
    """Return the ceilings of one night: tight ones, in turn of each scope."""
    from workloop.config.budgets import read_budgets

    kind = KINDS[seed % len(KINDS)]
    unit = ("cost_usd", "tokens")[seed % 2]
    most = (60_000 if kind == "item" else 250_000) + 17_000 * (seed % 7)
    ceiling = most / 1_000_000 if unit == "cost_usd" else most
    own = {"cost_usd": 0.03} if seed % 3 == 0 else {}
    tables = {
        kind: {unit: ceiling},
        "session": own,
        "reserve": {"cost_usd": 0.03, "tokens": 30_000},
        **({"time_zone": "UTC"} if kind == "day" else {}),
    }
    if seed % 5 == 1:
        tables["run"] = {"sessions": 12}
    return read_budgets(tables)


def check_ceilings(name: str, journal: SimJournal, stage: Stage, budgets: Budgets) -> list[str]:
    """No ceiling is passed by more than what is set aside for one running session, whatever was killed when."""
    broken: list[str] = []
    for limit in budgets.budget.limits:
        sums: Counter[tuple[str, int]] = Counter()
        for charge in journal.charge_rows.values():
            line = line_of(limit, charge.payer)
            record = stage.records.get(charge.session_id)
            if line is not None and record is not None:
                used = int(not charge.probe) if limit.unit is Unit.SESSIONS else record.spent
                sums[line.name, window_of(limit, charge, journal, budgets)] += used
        slack = 0 if limit.unit is Unit.SESSIONS else budgets.budget.reserve[limit.unit]
        broken += [
            f"{limit.knob} of {line!r} is passed on {name}: {used} of {limit.most}"
            for line, used in sums.items()
            if used > limit.most + slack
        ]
    return broken + check_sessions(name, stage, budgets)


def check_sessions(name: str, stage: Stage, budgets: Budgets) -> list[str]:
    """No session goes on after the word with which it reached its own ceiling."""
    most = budgets.budget.session.get(Unit.COST)
    records = [record for record in stage.records.values() if record.host == name]
    return [
        f"{record.session_id} spent {record.spent} of {most}"
        for record in records
        if most is not None and record.spent >= most + EVENT_MAX
    ]


def window_of(limit: Limit, charge: Charge, journal: SimJournal, budgets: Budgets) -> int:
    """Return in which run, or on which day, a session is counted."""
    match limit.window:
        case Window.RUN:
            return run_origin(charge.run, journal.runs(RUNS_KEPT))
        case Window.DAY:
            return budgets.day(charge.began_at)[0]
        case Window.TOTAL:
            return 0


def check_booked(name: str, journal: SimJournal, stage: Stage) -> list[str]:
    """In the end nothing is set aside any more, and each session is booked at what it really cost."""
    broken = [f"{name} never settled {charge.session_id}" for charge in journal.charges_open()]
    for charge in journal.charge_rows.values():
        record = stage.records.get(charge.session_id)
        settled = charge.state is ChargeState.SETTLED
        if record is not None and settled and charge.spent.cost_micros != record.spent:
            broken.append(f"{name} settled {charge.spent.cost_micros} for {record.session_id}: {record.spent}")
        if record is None and charge.spent.cost_micros:
            broken.append(f"{name} booked {charge.spent.cost_micros} for {charge.session_id}, which never ran")
    never = stage.records.keys() - journal.charge_rows.keys()
    return broken + [f"{name} booked nothing for {one}" for one in never if stage.records[one].host == name]


def retold(stage: Stage, row: SessionRow) -> Retold | None:
    """Return what the kept output of a session would tell whose loop was killed."""
    record = stage.records.get(row.session_id)
    if record is None or not record.spent:
        return Retold(produced=False)
    return Retold(tokens=Tokens(output=record.spent), cost_micros=record.spent, produced=True)
