"""How a well-formed command line is read without the library that explains the others, because that costs 0.1 s."""

from collections.abc import Sequence
from typing import NamedTuple

from workloop.interfaces.cli.invocation import GLOBALS
from workloop.interfaces.cli.plan import GROUPS, ORDER, Plan, plan_of
from workloop.interfaces.cli.spelling import Given, Option


class Line(NamedTuple):
    """A command line that was understood."""

    plan: Plan
    options: dict[str, str]
    given: Given


def flags_of(options: Sequence[Option]) -> dict[str, Option]:
    """Return options by every spelling."""
    return {flag: option for option in options for flag in option.flags}


def read_line(words: Sequence[str]) -> Line | None:
    """Understand a command line, or return None for whatever needs help, an explanation or a refusal."""
    rest = list(words)
    options: dict[str, str] = {}
    everywhere = flags_of(GLOBALS)
    while rest and rest[0].startswith("-"):
        taken = take(rest, everywhere)
        if taken is None:
            return None
        options[taken[0].name] = taken[1]
    name = command_of(rest)
    if name is None:
        return None
    plan = plan_of(name)
    known = {**everywhere, **flags_of(plan.options)}
    given: list[tuple[Option, str]] = []
    places: list[str] = []
    while rest:
        if not rest[0].startswith("-"):
            places.append(rest.pop(0))
            continue
        taken = take(rest, known)
        if taken is None:
            return None
        if taken[0] in GLOBALS:
            options[taken[0].name] = taken[1]
        else:
            given.append(taken)
    if len(places) > len(plan.places) and not (plan.places and plan.places[-1].many):
        return None
    return Line(plan, options, Given(given, places))


def take(words: list[str], known: dict[str, Option]) -> tuple[Option, str] | None:
    """Take one option with its value off the front, or return None when it is not plainly one."""
    flag, equals, value = words[0].partition("=")
    option = known.get(flag)
    if option is None or (equals and (option.bare or not flag.startswith("--"))):
        return None
    del words[0]
    if option.bare or equals:
        return option, value
    return (option, words.pop(0)) if words else None


def command_of(words: list[str]) -> str | None:
    """Take the command's name off the front; a group may be a command itself."""
    grouped = bool(words) and words[0] in GROUPS
    count = 2 if grouped and (words[0] not in ORDER or " ".join(words[:2]) in ORDER) else 1
    name = " ".join(words[:count])
    del words[:count]
    return name if name in ORDER else None
