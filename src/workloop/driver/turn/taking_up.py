"""How a run begins where an earlier one was killed: its sessions proven dead, its claims ended, its state taken up."""

from dataclasses import replace
from pathlib import Path

from workloop.domain.errors import IntegrityFault, WorkloopError
from workloop.domain.journal import SessionRow
from workloop.domain.session import SessionClass
from workloop.driver.seam import run_sync
from workloop.driver.spending.leftover import settle_left
from workloop.driver.turn.desk import Desk
from workloop.driver.turn.recovery import recover
from workloop.driver.turn.site import Site

KILLED = "the loop that ran it was killed"


async def take_up(desk: Desk) -> None:
    """Clean up after an earlier run, and know again what it knew; a store that fails now is its target's affair."""
    for site in desk.parts.sites:
        try:
            await recover_once(site)
        except IntegrityFault:
            raise
        except WorkloopError as failed:
            site.fail(failed)
            desk.parts.tell("store", {"target": site.name, "error": str(failed)})
    await run_sync(end_sessions, desk)
    await run_sync(restore, desk)


async def recover_once(site: Site) -> None:
    """Clean up after an earlier run on one target, before anything is started there; again when its store was away."""
    if site.project is not None and not site.recovered:
        await run_sync(recover, site.project)
        site.recovered = True


def end_sessions(desk: Desk) -> None:
    """Prove every session dead that the journal knows no end of, and write down its end."""
    parts = desk.parts
    for row in parts.journal.sessions_open():
        folder = Path(row.log_path).parent
        survivors = parts.end_session(folder) if row.log_path and folder.is_dir() else ()
        if survivors:
            raise IntegrityFault(
                "SESSION_ALIVE",
                f"processes {list(survivors)} of session {row.session_id} survive from a killed loop",
                hint="end them by hand, then start the loop again",
            )
        parts.journal.session_put(killed(row, desk))


def settle_left_open(desk: Desk) -> None:
    """Settle what a killed loop had set aside, and know again how much of every ceiling is used."""
    parts, at = desk.parts, desk.now()
    for charge in parts.journal.charges_open():
        row = parts.journal.session_get(charge.session_id)
        told = parts.reread(row) if row is not None else None
        settled, lacking = settle_left(desk.spending, charge, told, parts.price, at)
        parts.journal.charge_put(settled)
        if lacking:
            desk.spending.stop_for(settled, lacking)
    desk.spending.restore(parts.journal, desk.book.run)


def killed(row: SessionRow, desk: Desk) -> SessionRow:
    """Return the record of a session that died with its loop."""
    return replace(row, ended_at=desk.now(), session_class=SessionClass.STOPPED, detail=KILLED)


def restore(desk: Desk) -> None:
    """Take up gates, paces and the order of service."""
    parts = desk.parts
    desk.gates.restore(parts.journal.gates(), desk.now())
    rows = parts.journal.targets()
    for site in parts.sites:
        site.restore(rows)
    order = sorted((site for site in parts.sites if site.served_at is not None), key=lambda site: site.served_at or 0)
    for number, site in enumerate(order, start=1):
        site.served = number
    desk.served = len(order)
