"""How the commands are explained: help, usage errors and completion, from the same table that plain calls use."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import click

from workloop import __version__
from workloop.domain.errors import BadRequest
from workloop.interfaces.cli.invocation import GLOBALS, PROGRAM, invocation_of
from workloop.interfaces.cli.plan import GROUPS, ORDER, Plan, help_of, plan_of
from workloop.interfaces.cli.spelling import Given, Option
from workloop.interfaces.cli.surfaces import Surfaces
from workloop.service.arguments import ARGUMENTS, Shape

INTRODUCTION = """Keep coding agents working through a backlog, and believe nothing unchecked.

Exit codes: 0 done, 1 unexpected, 2 usage, 3 nothing claimable, 4 conflict or lease lost, 5 evidence rejected,
6 budget or brake, 7 not found, 8 store unavailable, 9 integrity, 75 limited, 77 forbidden, 130 and 143 interrupted.
"""


def invoke(words: Sequence[str], surfaces: Surfaces) -> int:
    """Run a command line through the library; raises BadRequest for a wrong one."""
    try:
        result = top(surfaces).main(args=list(words), prog_name=PROGRAM, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message(), err=True)
        return 2
    except click.UsageError as wrong:
        path = wrong.ctx.command_path if wrong.ctx is not None else PROGRAM
        raise BadRequest("USAGE", wrong.format_message(), hint=f"{path} --help") from wrong
    except click.Abort as aborted:
        raise KeyboardInterrupt from aborted
    return result if isinstance(result, int) else 0


class LazyGroup(click.Group):
    """Commands that are built when they are looked at."""

    def __init__(self, surfaces: Surfaces, name: str, text: str, prefix: str = "") -> None:
        super().__init__(
            name,
            help=text,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )
        self.surfaces = surfaces
        self.prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands of this group in the order of a day's work."""
        inside = [name.removeprefix(self.prefix) for name in ORDER if name.startswith(self.prefix)]
        return list(dict.fromkeys(name.split(" ")[0] for name in inside))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build one command or group."""
        if not self.prefix and cmd_name in GROUPS:
            return group_of(cmd_name, self.surfaces)
        name = self.prefix + cmd_name
        return command(name, self.surfaces) if name in ORDER else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without building them."""
        rows = [(name, GROUPS.get(name) or help_of(self.prefix + name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def group_of(name: str, surfaces: Surfaces) -> LazyGroup:
    """Build a group, which may be a command itself."""
    if name not in ORDER:
        return LazyGroup(surfaces, name, GROUPS[name], f"{name} ")
    group, plan = LazyGroup(surfaces, name, help_of(name), f"{name} "), plan_of(name)
    run = runner(plan, surfaces)

    @click.pass_context
    def unless_one_below(ctx: click.Context, **values: object) -> int | None:
        """Run the group as a command where none of its own was named."""
        if ctx.invoked_subcommand is None:
            return run(**values)
        every = (*plan.options, *GLOBALS)
        ctx.obj = {**(ctx.obj or {}), **{option.name: text for option, text in chosen(every, values)}}
        return None

    group.params += parameters((*plan.options, *GLOBALS))
    group.callback, group.invoke_without_command, group.no_args_is_help = unless_one_below, True, False
    return group


def top(surfaces: Surfaces) -> click.Group:
    """Build the whole command."""
    version = click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
    group = LazyGroup(surfaces, PROGRAM, INTRODUCTION)
    group.params += parameters(GLOBALS)
    group.callback = keep_globals
    return version(group)


@click.pass_context
def keep_globals(ctx: click.Context, **values: object) -> None:
    """Remember the options that came before the command."""
    ctx.obj = {option.name: text for option, text in chosen(GLOBALS, values)}


def command(name: str, surfaces: Surfaces) -> click.Command:
    """Build one command from what it takes."""
    plan = plan_of(name)
    places = [
        click.Argument([f"place_{number}"], required=False, nargs=-1 if place.many else 1, metavar=place.shown)
        for number, place in enumerate(plan.places)
    ]
    return click.Command(
        name.rsplit(" ", maxsplit=1)[-1],
        params=[*places, *parameters((*plan.options, *GLOBALS))],
        callback=runner(plan, surfaces),
        help=help_of(name),
    )


def runner(plan: Plan, surfaces: Surfaces) -> Callable[..., int]:
    """Return what the library calls with everything it read."""

    @click.pass_context
    def run(ctx: click.Context, **values: object) -> int:
        """Run the command."""
        every = (*plan.options, *GLOBALS)
        pairs = list(chosen(every, values))
        options = {option.name: text for option, text in pairs if option in GLOBALS}
        given = [pair for pair in pairs if pair[0] not in GLOBALS]
        places: list[str] = []
        for number in range(len(plan.places)):
            value = values[f"place_{number}"]
            places += texts_of(value)
        return plan.run(invocation_of(surfaces, {**(ctx.obj or {}), **options}), Given(given, places))

    return run


def parameters(options: Sequence[Option]) -> list[click.Parameter]:
    """Describe options to the library; the texts they take are read by the same code as those of plain calls."""
    described: list[click.Parameter] = []
    for number, option in enumerate(options):
        metavar = None if option.bare else metavar_of(option)
        described.append(
            click.Option(
                [f"option_{number}_{len(options)}", *option.flags],
                help=option.help,
                is_flag=True if option.bare else None,
                multiple=not option.bare,
                metavar=metavar,
            )
        )
    return described


METAVARS = {
    Shape.TEXT: "TEXT",
    Shape.WHOLE: "NUMBER",
    Shape.FLAG: "",
    Shape.TEXTS: "TEXT",
    Shape.OBJECT: "NAME=VALUE",
    Shape.OBJECTS: "KIND:REF",
}


def metavar_of(option: Option) -> str:
    """Say in a word what an option takes."""
    if option.kind:
        return "SHA" if option.kind == "commit" else "REF"
    if not option.name:
        return "JSON"
    known = ARGUMENTS.get(option.name)
    choices = option.choices or (known.choices if known is not None else ())
    return "|".join(choices) or METAVARS[option.shape]


def chosen(options: Sequence[Option], values: Mapping[str, object]) -> list[tuple[Option, str]]:
    """Return the options that were used, each with its text."""
    pairs: list[tuple[Option, str]] = []
    for number, option in enumerate(options):
        value = values[f"option_{number}_{len(options)}"]
        if option.bare:
            pairs += [(option, "")] if value else []
        else:
            pairs += [(option, text) for text in texts_of(value)]
    return pairs


def texts_of(value: object) -> list[str]:
    """Return the texts that the library read for one parameter."""
    if value is None:
        return []
    return [str(text) for text in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else [str(value)]
