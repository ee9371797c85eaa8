"""How the end of a loop is told: how it ended, since when it is gone, what it left, and what goes on from there."""

from typing import Any, Final

from workloop.domain.clock import Instant, to_text
from workloop.domain.journal import LOOP, RunRow, Subject, SubjectKind, Verb
from workloop.store.journal.port import JournalReading

Reason = dict[str, str]
HALTED: Final = "halted"
KEPT_FROM: Final = {"budget_spent": "budget_spent", "limited": "limited", "harness_stopped": "stopped"}
"""Ends that were brought about by what kept the targets from their next session, and the code of that."""
USUAL: Final = {
    HALTED: "workloop resume --halted, then workloop run",
    "drained": "add or promote work, then workloop run",
    "nothing_claimable": "add or promote work, then workloop run",
    "failed": "see to what it says, then workloop run",
    "faults": "see to what it says, then workloop run",
}
RUN: Final = "workloop run"
LEFT_SHOWN: Final = 5


def over(run: RunRow | None, *, alive: bool | None) -> bool:
    """Tell whether the last run is known to be over."""
    return run is not None and (run.ended_at is not None or alive is False)


def state_over(run: RunRow) -> str:
    """Say in a word how a run that is over ended."""
    return "killed" if run.ended_at is None else "stopped"


def reason(code: str, message: str, unblock: str) -> Reason:
    """Write one reason, as for items."""
    return {"code": code, "message": message, "unblock": unblock}


def ended_reason(journal: JournalReading, run: RunRow) -> Reason:
    """Say that no loop runs, since when, how the last one ended, what it left, and what goes on from there."""
    if run.ended_at is None:
        told = (
            f"no loop runs: run {run.number} began at {to_text(run.began_at)}, its process {run.pid} is gone and said"
            f" nothing at its end, so it was killed; its last sign is of {to_text(last_sign(journal, run))}"
        )
        return reason("KILLED", f"{told}; {left(journal)}", f"{RUN} takes up what it left")
    told = f"no loop runs: run {run.number} ended at {to_text(run.ended_at)}: {run.reason.replace('_', ' ')}"
    return reason(run.reason.upper(), told + (f"; {run.detail}" if run.detail else ""), remedy(journal, run))


def last_sign(journal: JournalReading, run: RunRow) -> Instant:
    """Return when a run wrote something down for the last time, as far as that is kept."""
    last = journal.decision_last(LOOP)
    signs = [run.began_at] + ([last.last_at] if last is not None else [])
    for row in journal.sessions(limit=LEFT_SHOWN):
        signs += [at for at in (row.began_at, row.ended_at) if at is not None]
    return max(signs)


def left(journal: JournalReading) -> str:
    """Say what a run that was killed did not bring to an end."""
    rows = journal.sessions_open()
    if not rows:
        return "it left no session open"
    named = ", ".join(f"{row.session_id[:8]}" + (f" of {row.item_key}" if row.item_key else "") for row in rows[:5])
    more = f" and {len(rows) - LEFT_SHOWN} more" if len(rows) > LEFT_SHOWN else ""
    return f"it left open: {named}{more}, which died with it, each with its claim and its work tree"


def remedy(journal: JournalReading, run: RunRow) -> str:
    """Say what a person does about an ended run: the change that its own last decision named, where it named one."""
    if run.reason in KEPT_FROM:
        found = [*own_words(journal, run), *words_about_targets(journal, run, KEPT_FROM[run.reason])]
        said = "; ".join(dict.fromkeys(found))
        if said:
            return said if "start the loop again" in said else f"{said}; then {RUN}"
    if run.reason == "sessions_spent":
        return next(iter(own_words(journal, run)), RUN)
    return USUAL.get(run.reason, RUN)


def own_words(journal: JournalReading, run: RunRow) -> list[str]:
    """Return what the decision to end named as the change that would have let the run go on."""
    last = journal.decision_last(LOOP)
    mine = last is not None and last.last_at >= run.began_at and last.decision.verb is Verb.STOP
    return [last.decision.unblock] if last is not None and mine and last.decision.unblock else []


def words_about_targets(journal: JournalReading, run: RunRow, code: str) -> list[str]:
    """Return what would let those targets go on that were kept from a session by this."""
    found: list[str] = []
    for target in journal.targets():
        last = journal.decision_last(Subject(kind=SubjectKind.TARGET, name=target.name))
        if last is not None and last.last_at >= run.began_at and last.decision.code == code and last.decision.unblock:
            found.append(f"{target.name}: {last.decision.unblock}")
    return found


def was(given: dict[str, Any], at: Instant) -> Reason:
    """Return what the loop last said while it ran, told as what it was."""
    return {**given, "message": f"the last word of the loop, at {to_text(at)}: {given['message']}", "unblock": ""}
