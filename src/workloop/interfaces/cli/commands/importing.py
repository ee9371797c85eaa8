"""How another tracker's backlog is brought into the queue once, by hand, and what came of it."""

from dataclasses import replace
from pathlib import Path

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Reader, one_of
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.commands.campaign import refuse_remote
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES = (Place("kind"), Place("path", optional=True))
USUAL = "backlog"


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--trusted",), "trusted", Shape.FLAG, "make its entries work at once, instead of proposing them"),
        Option(("--dry-run",), "dry_run", Shape.FLAG, "say what would be done, and change nothing"),
    )


def run(invocation: Invocation, given: Given) -> int:
    """Bring the queue into step with a backlog, as the settings or the command line describe it."""
    from workloop.config.trackers import TrackerConfig, TrackerKind
    from workloop.wiring.tracking import import_once

    refuse_remote(invocation)
    reader = Reader(values_of(given.options))
    trusted, dry_run = reader.flag("trusted"), reader.flag("dry_run")
    if not given.places:
        known = ", ".join(TrackerKind)
        raise BadRequest("BAD_REQUEST", "kind: is required", hint=f"name the tracker: {known}", field="kind")
    kind = one_of(reader, "kind", TrackerKind, given.places[0])
    settings = invocation.settings()
    own = next((each.config.tracker for each in settings.targets if each.place == settings.place), None)
    config = own if own is not None and own.kind is kind else TrackerConfig(kind=kind, path=Path())
    if len(given.places) > 1:
        config = replace(config, path=Path(given.places[1]).absolute())
    elif config is not own:
        config = replace(config, path=settings.place.repository / USUAL)
    config = replace(config, trusted=config.trusted or trusted)
    done = import_once(settings, config, dry_run=dry_run)
    render.answer(
        invocation, "import", {"path": str(config.path), "trusted": config.trusted, "dry_run": dry_run, **done}
    )
    return exits.OK
