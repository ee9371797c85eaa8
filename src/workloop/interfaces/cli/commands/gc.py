"""How people make room on the disk: which folders of the loop go, why that is safe, and what stays."""

from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import TARGET, require_here
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES: tuple[Place, ...] = ()
DRY_RUN = Option(("--dry-run",), "dry_run", Shape.FLAG, "only say what would go, and why it is safe")
ALL = Option(("--all",), "all", Shape.FLAG, "whatever its age; what holds work stays all the same")
OUTPUTS = Option(("--outputs",), "outputs", Shape.FLAG, "only the declared output folders inside trees, which stay")


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (DRY_RUN, ALL, OUTPUTS, TARGET)


def run(invocation: Invocation, given: Given) -> int:
    """Remove what may go, or say what would."""
    from workloop.domain.reader import Reader
    from workloop.wiring.disk import clear_outputs, clear_up

    require_here(invocation, "the loop's folders are cleared up on their own host")
    reader = Reader(values_of(given.options))
    target, dry_run = reader.text("target"), reader.flag("dry_run", default=False)
    settings = invocation.settings(whole=True)
    if reader.flag("outputs", default=False):
        facts = clear_outputs(settings, target=target, dry_run=dry_run)
    else:
        everything = reader.flag("all", default=False)
        facts = clear_up(settings, target=target, everything=everything, dry_run=dry_run)
    render.answer(invocation, "gc", facts)
    return exits.OK
