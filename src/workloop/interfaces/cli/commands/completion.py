"""How a shell learns to complete the command."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import COMPLETE_VARIABLE, PROGRAM, Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place

PLACES = (Place("shell"),)
SHELLS = ("bash", "zsh", "fish")


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ()


def run(invocation: Invocation, given: Given) -> int:
    """Print the script of one shell."""
    from click import Command
    from click.shell_completion import get_completion_class

    shell = given.places[0] if given.places else ""
    kind = get_completion_class(shell)
    if shell not in SHELLS or kind is None:
        raise BadRequest(
            "BAD_REQUEST",
            f"shell: {shell!r} is not one of {', '.join(SHELLS)}",
            hint='for bash: eval "$(workloop completion bash)"',
            field="shell",
        )
    script = kind(Command(PROGRAM), {}, PROGRAM, COMPLETE_VARIABLE)
    render.out(script.source_template % script.source_vars())
    return exits.OK
