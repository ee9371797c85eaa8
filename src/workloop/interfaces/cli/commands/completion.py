"""How a shell learns to complete the command."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place

PLACES = (Place("shell"),)
SHELLS = ("bash", "zsh", "fish")


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ()


def run(invocation: Invocation, given: Given) -> int:
    """Print the script of one shell."""
    from click.shell_completion import get_completion_class

    from workloop.interfaces.cli.entry import COMPLETE_VARIABLE
    from workloop.interfaces.cli.group import PROGRAM, top

    shell = given.places[0] if given.places else ""
    kind = get_completion_class(shell)
    if shell not in SHELLS or kind is None:
        raise BadRequest(
            "BAD_REQUEST",
            f"shell: {shell!r} is not one of {', '.join(SHELLS)}",
            hint='for bash: eval "$(workloop completion bash)"',
            field="shell",
        )
    render.out(kind(top(invocation.surfaces), {}, PROGRAM, COMPLETE_VARIABLE).source_template % script_names(shell))
    return exits.OK


def script_names(shell: str) -> dict[str, str]:
    """Return what the library puts into a shell's script."""
    from workloop.interfaces.cli.entry import COMPLETE_VARIABLE
    from workloop.interfaces.cli.group import PROGRAM

    del shell
    return {
        "complete_func": f"_{PROGRAM}_completion",
        "complete_var": COMPLETE_VARIABLE,
        "prog_name": PROGRAM,
    }
