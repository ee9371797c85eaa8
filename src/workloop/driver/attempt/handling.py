"""How one claim is seen through, so that nothing that goes wrong under it reaches the loop."""

import traceback
from dataclasses import dataclass

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.errors import BudgetSpent, Fault, Refusal, StoreUnavailable, WorkloopError
from workloop.domain.session import SessionReport
from workloop.driver.attempt.building import build
from workloop.driver.attempt.concluding import apply_brake, park_spent, release_infra
from workloop.driver.attempt.holding import Lease
from workloop.driver.attempt.insisting import insist, settled
from workloop.driver.attempt.verifying import verify
from workloop.driver.oversight import SessionFacts
from workloop.driver.project import Project, SessionKit

FAULT_DELAY_US = 30 * SECOND_US
TRACE_LINES = 3
UNSTARTABLE = frozenset({"HARNESS_MISSING", "HARNESS_CONFIG"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What became of a claim: every session that was spent on it, and what went wrong on the host's side.

    `remedy` says what a person must mend before any session can be started.
    """

    sessions: tuple[tuple[SessionFacts, SessionReport], ...] = ()
    fault: str = ""
    remedy: str = ""

    @property
    def report(self) -> SessionReport | None:
        """Return the last session's report, if one was spent."""
        return self.sessions[-1][1] if self.sessions else None


async def handle(project: Project, kit: SessionKit, lease: Lease, faults: int) -> Handled:
    """Build or verify under a claim, and give the item back when the host could not; records whatever is raised."""
    if lease.stop.requested.is_set():
        await give_back(project, lease, lease.stop.reason, None)
        return Handled()
    try:
        await (verify if lease.held.role == "verify" else build)(project, kit, lease)
    except BudgetSpent as spent:
        await stop_spending(project, lease, spent)
        return Handled(sessions=tuple(lease.sessions))
    except Exception as failed:
        if isinstance(failed, Fault) and failed.code in UNSTARTABLE:
            await give_back(project, lease, describe(failed), None)
            return Handled(sessions=tuple(lease.sessions), remedy=f"{failed.message}; {failed.hint}")
        fault = "" if lease.lost else describe(failed)
        project.tell("fault" if fault else "lost", {"key": lease.held.key, "error": fault or lease.reason})
        later = Instant(project.now() + FAULT_DELAY_US * 2**faults)
        await give_back(project, lease, describe(failed), later)
        return Handled(sessions=tuple(lease.sessions), fault=fault)
    if lease.lost:
        project.tell("lost", {"key": lease.held.key, "error": lease.reason})
    else:
        await finish(project, lease)
    return Handled(sessions=tuple(lease.sessions))


async def stop_spending(project: Project, lease: Lease, spent: BudgetSpent) -> None:
    """Give an item back that a ceiling leaves no room for; one that met its own is parked until a person acts."""
    project.tell("budget", {"key": lease.held.key, "detail": spent.message})
    if not spent.details.get("item"):
        await give_back(project, lease, spent.message, None)
        return
    try:
        if not lease.lost and not await settled(project, lease):
            lease.ending = True
            await insist(project, lease, park_spent, project, lease, spent)
    except (Refusal, StoreUnavailable) as refused:
        project.tell("refused", {"key": lease.held.key, "error": str(refused)})


async def finish(project: Project, lease: Lease) -> None:
    """Give back what a stop left open, and hold an item back that brings nothing."""
    if lease.stop.requested.is_set():
        await give_back(project, lease, lease.stop.reason, None)
    try:
        await insist(project, lease, apply_brake, project, lease.held)
    except (Refusal, StoreUnavailable) as refused:
        project.tell("refused", {"key": lease.held.key, "error": str(refused)})


async def give_back(project: Project, lease: Lease, reason: str, later: Instant | None) -> None:
    """Release an item that is still held; a claim that cannot be ended now ends with its lease."""
    try:
        if not lease.lost and not await settled(project, lease):
            await insist(project, lease, release_infra, project, lease.held, reason, later)
    except (Refusal, StoreUnavailable) as refused:
        project.tell("refused", {"key": lease.held.key, "error": str(refused)})


def describe(failed: Exception) -> str:
    """Say what failed; of an unforeseen failure also where."""
    if isinstance(failed, WorkloopError | OSError):
        return str(failed)
    where = "".join(traceback.format_exception(failed)[-TRACE_LINES:]).strip()
    return f"{type(failed).__name__}: {failed}; {where}"
