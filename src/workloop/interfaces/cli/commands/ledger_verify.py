"""How people learn whether a ledger says what was written there."""

from workloop.interfaces.cli import ledgers, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option

PLACES = ledgers.PLACES


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ledgers.OPTIONS


def run(invocation: Invocation, given: Given) -> int:
    """Verify a ledger and say what can be believed of it."""
    from workloop.repair.ledger.report import told_verification

    found = ledgers.verified(given, "ledger verify")
    render.answer(invocation, "ledger_verify", told_verification(found))
    return ledgers.code_of(found)
