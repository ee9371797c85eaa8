"""How people go on after a run of the bench: with a new campaign of what the old one left."""

from pathlib import Path

from workloop.domain.reader import Reader
from workloop.domain.units import MICROS
from workloop.interfaces.cli import exits, ledgers, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, values_of
from workloop.service.arguments import Shape

PLACES = ledgers.PLACES
FAILED = Option(("--failed",), "failed", Shape.FLAG, "also the tasks that used up their attempts")


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (*ledgers.OPTIONS, FAILED)


def run(invocation: Invocation, given: Given) -> int:
    """Print the campaign of what a run left; exits with 3 and prints none when it left nothing."""
    import json

    from workloop.repair.ledger.remaining import remaining

    found = ledgers.verified(given, "repair remaining")
    config = Path(invocation.config) if invocation.config else None
    failed = Reader(values_of(given.options)).flag("failed")
    left = remaining(found, ledgers.ledger_of(given, "repair remaining"), config, failed=failed)
    if not left.tasks:
        render.tell("the run left no task")
        return exits.NOTHING
    render.out(json.dumps(left.config, indent=2))
    render.tell(f"{len(left.tasks)} tasks left; spent so far: {left.spent_microusd / MICROS:.6f} USD")
    for task in left.uncertain:
        render.tell(f"uncertain: {task}: it was being worked on, look at what it left before it is tried again")
    if left.unknown_charges:
        render.tell(f"nobody knows what {left.unknown_charges} phases cost: look at the provider's bill first")
    return exits.OK
