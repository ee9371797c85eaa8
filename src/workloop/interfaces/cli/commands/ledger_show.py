"""How people read the records of a ledger that can be believed."""

from workloop.interfaces.cli import exits, ledgers, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option

PLACES = ledgers.PLACES


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ledgers.OPTIONS


def run(invocation: Invocation, given: Given) -> int:
    """Show the good records in their order; a line that is bad is named, and nothing after it is shown."""
    from workloop.repair.ledger.report import told_entries

    found = ledgers.verified(given, "ledger show")
    for facts in told_entries(found):
        if invocation.json:
            render.line(invocation, "record", facts)
        else:
            render.out(ledgers.record_line(facts))
    if found.first_bad is not None:
        render.tell(f"line {found.first_bad.line} is bad: {found.first_bad.detail}")
    return exits.OK if found.whole else exits.INTEGRITY
