"""How the members of one JSON object are taken, each once and of its exact type; what is not taken is refused."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

INTEGER_MAX = 2**53 - 1
TEXT_CHARACTERS_MAX = 300_000
Choice = TypeVar("Choice", bound=StrEnum)


class Malformed(ValueError):
    """What was read is not what it has to be."""


class Taking:
    """One object from outside; everything wrong with it is told by the member's name."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = dict(values)

    def text(self, name: str, *, required: bool = False) -> str:
        """Take a text; an absent one is empty."""
        value = self.values.pop(name, "")
        if not isinstance(value, str):
            raise Malformed(f"{name} is not a text")
        if required and not value.strip():
            raise Malformed(f"{name} is missing")
        if len(value) > TEXT_CHARACTERS_MAX:
            raise Malformed(f"{name} is longer than {TEXT_CHARACTERS_MAX} characters")
        return value

    def whole(self, name: str, *, lowest: int = 0, default: int | None = None) -> int:
        """Take a whole number that is not negative."""
        value = self.values.pop(name, default)
        if value is None:
            raise Malformed(f"{name} is missing")
        if type(value) is not int or not lowest <= value <= INTEGER_MAX:
            raise Malformed(f"{name} is not a whole number from {lowest} to {INTEGER_MAX}")
        return value

    def optional_whole(self, name: str) -> int | None:
        """Take a whole number that is not negative; None when it is absent."""
        return self.whole(name) if name in self.values else None

    def choice(self, name: str, choices: type[Choice], default: Choice | None = None) -> Choice:
        """Take one of an enumeration's words."""
        word = self.text(name, required=default is None)
        if not word and default is not None:
            return default
        try:
            return choices(word)
        except ValueError:
            raise Malformed(f"{name} is not one of {', '.join(choices)}") from None

    def flag(self, name: str) -> bool:
        """Take true or false; absent is false."""
        value = self.values.pop(name, False)
        if not isinstance(value, bool):
            raise Malformed(f"{name} is not true or false")
        return value

    def done(self) -> None:
        """Refuse what was not taken."""
        if self.values:
            raise Malformed(f"has the unknown member {min(self.values)[:80]!r}")
