"""How recorded texts and codes of one harness become classes: the rules are data, this reads them."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast

from workloop.domain.session import SessionClass, ToolResultClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """All conditions must hold; a fact is compared without regard to case."""

    gives: str
    equals: Mapping[str, tuple[str, ...]]
    contains: Mapping[str, tuple[str, ...]]

    def matches(self, facts: Mapping[str, str]) -> bool:
        """Say whether the facts meet every condition."""
        return all(facts.get(name, "").casefold() in options for name, options in self.equals.items()) and all(
            any(option in facts.get(name, "").casefold() for option in options)
            for name, options in self.contains.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """The rules of one harness, in order; the first match decides."""

    versions: tuple[str, ...]
    ignored: frozenset[str]
    session_rules: tuple[Rule, ...]
    tool_rules: tuple[Rule, ...]
    reset_pattern: re.Pattern[str] | None

    def session_class(self, facts: Mapping[str, str]) -> SessionClass | None:
        """Return the class that the facts of a failed session name."""
        gives = first(self.session_rules, facts)
        return SessionClass(gives) if gives else None

    def tool_class(self, facts: Mapping[str, str]) -> ToolResultClass | None:
        """Return the class that the facts of a failed tool call name."""
        gives = first(self.tool_rules, facts)
        return ToolResultClass(gives) if gives else None


def first(rules: tuple[Rule, ...], facts: Mapping[str, str]) -> str:
    """Return what the first matching rule gives, or nothing."""
    return next((rule.gives for rule in rules if rule.matches(facts)), "")


@cache
def load_signatures(harness: str) -> Signatures:
    """Read the shipped signature file of a harness."""
    source = files("workloop.runner.harness") / "signatures" / f"{harness}.toml"
    table = tomllib.loads(source.read_text(encoding="utf-8"))
    pattern = table.get("reset_pattern", "")
    return Signatures(
        versions=tuple(table["versions"]),
        ignored=frozenset(table["ignored"]),
        session_rules=tuple(read_rule(rule) for rule in table["session"]),
        tool_rules=tuple(read_rule(rule) for rule in table["tool"]),
        reset_pattern=re.compile(pattern) if pattern else None,
    )


def read_rule(table: Mapping[str, object]) -> Rule:
    """Read one rule of a signature file."""
    return Rule(
        gives=cast("str", table["gives"]),
        equals=read_options(table.get("equals", {})),
        contains=read_options(table.get("contains", {})),
    )


def read_options(table: object) -> dict[str, tuple[str, ...]]:
    """Read the conditions of a rule: a fact's name and its accepted texts."""
    options = cast("Mapping[str, list[str]]", table)
    return {name: tuple(text.casefold() for text in texts) for name, texts in options.items()}
