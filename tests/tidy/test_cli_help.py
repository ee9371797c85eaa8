"""The command line says the same as the table of actions, whole and once."""

from collections.abc import Mapping
from typing import Any

import click
import pytest
from generated_docs import kinds

from workloop.domain.errors import Refusal
from workloop.interfaces.cli import exits
from workloop.interfaces.cli.group import INTRODUCTION, top
from workloop.interfaces.cli.invocation import GLOBALS
from workloop.interfaces.cli.plain import read_line
from workloop.interfaces.cli.plan import ORDER, OWN, help_of, plan_of
from workloop.interfaces.cli.spelling import OUTCOMES, values_of
from workloop.interfaces.cli.surfaces import Surfaces
from workloop.interfaces.cli.verbs import VERBS
from workloop.service.actions import ACTIONS


def closed(*things: object) -> Any:
    """Stand for a door that no help may open."""
    raise AssertionError(things)


SHUT = Surfaces(serve_stdio=closed, make_endpoint=closed, run_loop=closed, verify_by_host=closed)


def help_text(name: str) -> str:
    """Return a command's help as a person reads it."""
    group: click.Command = top(SHUT)
    context = click.Context(group, info_name="workloop", max_content_width=200, terminal_width=200)
    for word in name.split(" "):
        assert isinstance(group, click.Group)
        found = group.get_command(context, word)
        assert found is not None, name
        group, context = found, click.Context(found, info_name=word, parent=context, terminal_width=200)
    return group.get_help(context)


def test_every_action_has_a_command() -> None:
    """add_items is `add`; all others keep their names."""
    assert {verb.action for verb in VERBS.values()} | {"add_items"} == set(ACTIONS)
    assert set(ORDER) == {*VERBS, *OWN}


@pytest.mark.parametrize("name", ORDER)
def test_help_names_every_argument_of_its_command(name: str) -> None:
    """What an action takes, its command takes, and says so."""
    text = help_text(name)
    assert help_of(name).split(" ", maxsplit=1)[0] in text
    for option in (*plan_of(name).options, *GLOBALS):
        assert all(flag in text for flag in option.flags), (name, option)
        assert option.help.split(" ", maxsplit=1)[0] in text


@pytest.mark.parametrize("name", VERBS)
def test_every_argument_of_an_action_can_be_given(name: str) -> None:
    """No argument is lost between the table and the command line."""
    verb = VERBS[name]
    takes = set(ACTIONS[verb.action].takes)
    takes -= {"key"} if "keys" in takes else set()  # one key is a list of one
    reached = {option.name for option in plan_of(name).options} | {place.name for place in verb.places}
    assert takes <= reached, (name, takes - reached)


def test_plain_lines_and_the_library_read_the_same() -> None:
    """The fast reader is a subset of the library, never another grammar."""
    lines: Mapping[str, Mapping[str, Any]] = {
        "show a": {},
        "complete --token t --commit abc --evidence file:x --versions a=1 --versions b=2": {
            "token": "t",
            "outcome": {"kind": "commit", "ref": "abc"},
            "evidence": [{"kind": "file", "ref": "x"}],
            "versions": {"a": "1", "b": "2"},
        },
        "complete --no-change --failed-check=a --failed-check b": {
            "outcome": {"kind": "no_change"},
            "failed_checks": ["a", "b"],
        },
        "release --untouched --reason=": {"untouched": True, "reason": ""},
        "claim --lease-seconds 60 --tool a --tool b": {"lease_seconds": 60, "tools": ["a", "b"]},
    }
    for text, expected in lines.items():
        line = read_line(text.split(" "))
        assert line is not None, text
        assert values_of(line.given.options) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "--help",
        "show --help",
        "nonsense",
        "show a b",
        "show --key",
        "--json=1 status",
        "lane",
        "show -x",
        "show --bogus a",
    ],
)
def test_whatever_needs_explaining_is_left_to_the_library(text: str) -> None:
    """The fast reader never guesses."""
    assert read_line([word for word in text.split(" ") if word]) is None


def test_every_kind_of_error_has_an_exit_code_that_help_names() -> None:
    """One table, and the introduction says it."""
    for kind in kinds().values():
        assert not issubclass(kind, Refusal) or kind.kind in exits.BY_KIND, kind
    spoken = " ".join(INTRODUCTION.split())
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 75, 77, 130, 143):
        assert f"{code} " in spoken
        assert exits.MEANINGS[code]


def test_every_kind_of_outcome_has_an_option() -> None:
    """A new kind of result cannot be forgotten here."""
    from workloop.domain.contract import OutcomeKind

    assert set(OUTCOMES) == {kind.value for kind in OutcomeKind}
