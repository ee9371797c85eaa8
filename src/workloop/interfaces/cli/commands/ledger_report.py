"""How people learn what a run of the bench came to, as far as its ledger can be believed."""

from workloop.interfaces.cli import exits, ledgers, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option

PLACES = ledgers.PLACES


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ledgers.OPTIONS


def run(invocation: Invocation, given: Given) -> int:
    """Report a run; exits with 1 when it left a task or one failed."""
    from workloop.repair.ledger.report import told_run

    found = ledgers.verified(given, "ledger report")
    facts = told_run(found)
    if invocation.json:
        render.answer(invocation, "ledger_report", facts)
    else:
        render.out("\n".join(ledgers.report_lines(facts)))
    close = found.close
    left = close is None or close.remaining or close.failed
    return exits.UNEXPECTED if found.whole and left else ledgers.code_of(found)
