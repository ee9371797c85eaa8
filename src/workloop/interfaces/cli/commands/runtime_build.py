"""How people build the runtime of a harness from a commit, so that a bench's configuration can name it."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES = (Place("repo"), Place("sha"))


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--activate",), "activate", Shape.FLAG, "put it into force as well, so that it can be rolled back"),
    )


def run(invocation: Invocation, given: Given) -> int:
    """Build, or find it built already."""
    from pathlib import Path

    from workloop.domain.reader import Reader
    from workloop.wiring.runtimes import build_runtime, runtime_store

    if len(given.places) != 2:
        raise BadRequest("USAGE", "name a repository and a full commit SHA", hint="workloop runtime build REPO SHA")
    repository, commit = Path(given.places[0]), given.places[1]
    if not repository.is_dir():
        raise BadRequest("NO_FOLDER", f"{repository} is not a folder", hint="name the harness's git repository")
    activate = Reader(values_of(given.options)).flag("activate", default=False)
    store = runtime_store(invocation.environment)
    render.answer(invocation, "runtime", build_runtime(store, repository, commit, activate=activate))
    return exits.OK
