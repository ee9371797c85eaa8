"""How recorded texts and codes of one harness become classes: the rules are data, this reads them."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Generic, TypeVar, cast

from workloop.domain.session import SessionClass, ToolResultClass

Gives = TypeVar("Gives", bound=StrEnum)
Options = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[Gives]):
    """All conditions must hold; a fact is compared without regard to case, and one that is empty holds nothing."""

    gives: Gives
    equals: Options
    contains: Options

    @property
    def asks(self) -> frozenset[str]:
        """Return the facts that must be there."""
        return frozenset(name for name, _options in (*self.equals, *self.contains))

    def matches(self, told: Mapping[str, str]) -> bool:
        """Say whether facts, in small letters and all there, meet every condition."""
        for name, options in self.equals:
            if told[name] not in options:
                return False
        for name, options in self.contains:
            text = told[name]
            for option in options:
                if option in text:
                    break
            else:
                return False
        return True


class Rules(Generic[Gives]):
    """Rules in order, of which the first match decides; those that ask for a fact that is not there are passed over."""

    def __init__(self, rules: tuple[Rule[Gives], ...]) -> None:
        self.rules = rules
        self.asked = frozenset[str]().union(*(rule.asks for rule in rules))
        self.by_facts: dict[frozenset[str], tuple[Rule[Gives], ...]] = {}

    def first(self, facts: Mapping[str, str]) -> Gives | None:
        """Return what the first matching rule gives."""
        told = {name: text.casefold() for name, text in facts.items() if text and name in self.asked}
        for rule in self.answerable(frozenset(told)):
            if rule.matches(told):
                return rule.gives
        return None

    def answerable(self, names: frozenset[str]) -> tuple[Rule[Gives], ...]:
        """Return the rules that ask for no other facts than these."""
        rules = self.by_facts.get(names)
        if rules is None:
            rules = self.by_facts[names] = tuple(rule for rule in self.rules if rule.asks <= names)
        return rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """The rules of one harness."""

    versions: tuple[str, ...]
    ignored: frozenset[str]
    session_rules: Rules[SessionClass]
    tool_rules: Rules[ToolResultClass]
    reset_pattern: re.Pattern[str] | None

    def session_class(self, facts: Mapping[str, str]) -> SessionClass | None:
        """Return the class that the facts of a failed session name."""
        return self.session_rules.first(facts)

    def tool_class(self, facts: Mapping[str, str]) -> ToolResultClass | None:
        """Return the class that the facts of a failed tool call name."""
        return self.tool_rules.first(facts)


# Whatever program passes it on: a budget or a deadline of the loop's, and no bill of the provider's.
METER_REFUSED = "workloop meter refused"
REFUSED_BY_US = Rule(gives=SessionClass.COST_CAP, equals=(), contains=(("text", (METER_REFUSED,)),))


@cache
def load_signatures(harness: str) -> Signatures:
    """Read the shipped signature file of a harness."""
    source = files("workloop.runner.harness") / "signatures" / f"{harness}.toml"
    table = tomllib.loads(source.read_text(encoding="utf-8"))
    pattern = table.get("reset_pattern", "")
    return Signatures(
        versions=tuple(table["versions"]),
        ignored=frozenset(table["ignored"]),
        session_rules=Rules((REFUSED_BY_US, *(read_rule(rule, SessionClass) for rule in table["session"]))),
        tool_rules=Rules(tuple(read_rule(rule, ToolResultClass) for rule in table["tool"])),
        reset_pattern=re.compile(pattern) if pattern else None,
    )


def read_rule(table: Mapping[str, object], classes: type[Gives]) -> Rule[Gives]:
    """Read one rule of a signature file."""
    return Rule(
        gives=classes(cast("str", table["gives"])),
        equals=read_options(table.get("equals", {})),
        contains=read_options(table.get("contains", {})),
    )


def read_options(table: object) -> Options:
    """Read the conditions of a rule: a fact's name and its accepted texts."""
    options = cast("Mapping[str, list[str]]", table)
    return tuple((name, tuple(text.casefold() for text in texts)) for name, texts in options.items())
