"""How untyped input becomes typed values, refusing the unknown by its path."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeAlias, TypeVar, cast

from workloop.domain.clock import Instant, from_text
from workloop.domain.errors import BadRequest

Json: TypeAlias = "str | int | float | bool | Mapping[str, Json] | list[Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

TEXT_CHARACTERS_MAX = 20_000
Choice = TypeVar("Choice", bound=StrEnum)


def bad(path: str, problem: str, *, code: str = "BAD_REQUEST", hint: str = "") -> BadRequest:
    """Build the refusal of one field."""
    return BadRequest(code, f"{path}: {problem}", hint=hint or "correct the field and send it again", field=path)


def no_bound(path: str) -> BadRequest:
    """Build the refusal of a bound of 0: one reads it as nothing at all, another as no bound."""
    hint = "leave it out for no bound; to let nothing begin, workloop pause"
    return bad(path, "is 0, which could mean that nothing may begin, or that there is no bound", hint=hint)


def storable(text: str, path: str) -> str:
    """Return a text that every store can keep; raises BadRequest for NUL and for halves of surrogate pairs."""
    if "\x00" in text:
        raise bad(path, "contains a NUL character")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise bad(path, "is not valid Unicode")
    return text


class Reader:
    """Take typed fields out of one mapping; what is not taken by the end is unknown and refused."""

    def __init__(self, value: Json, path: str = "") -> None:
        if not isinstance(value, Mapping):
            raise bad(path or "arguments", "expected an object")
        self.path = path
        self.values = value
        self.taken: set[str] = set()

    def at(self, name: str) -> str:
        """Return a field's path."""
        return f"{self.path}.{name}" if self.path else name

    def take(self, name: str) -> Json:
        """Return a field's raw value, or None when it is absent."""
        self.taken.add(name)
        return self.values.get(name)

    def text(self, name: str, *, default: str = "", required: bool = False, longest: int = TEXT_CHARACTERS_MAX) -> str:
        """Return a text; blank counts as absent."""
        value = self.take(name)
        if value is None:
            value = default
        if not isinstance(value, str):
            raise bad(self.at(name), "expected a text")
        value = value.strip()
        if required and not value:
            raise bad(self.at(name), "is required", hint=f"give {name} a value that is not blank")
        if len(value) > longest:
            raise bad(self.at(name), f"is longer than {longest} characters", code="TOO_LARGE")
        return storable(value, self.at(name))

    def optional_text(self, name: str) -> str | None:
        """Return a text, or None when it is absent or blank."""
        return self.text(name) or None

    def choice(self, name: str, choices: type[StrEnum], *, default: str = "", required: bool = False) -> str:
        """Return a text that is one of an enumeration's values."""
        value = self.text(name, default=default, required=required)
        allowed = [member.value for member in choices]
        if value and value not in allowed:
            raise bad(self.at(name), f"{value!r} is not one of {', '.join(allowed)}")
        return value

    def whole(self, name: str, *, default: int, lowest: int, highest: int, code: str = "BAD_REQUEST") -> int:
        """Return a whole number within bounds."""
        value = self.take(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise bad(self.at(name), f"expected a whole number from {lowest} to {highest}", code=code)
        return value

    def number(self, name: str, *, default: float, lowest: float, highest: float) -> float:
        """Return a number within bounds."""
        value = self.take(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not lowest <= value <= highest:
            raise bad(self.at(name), f"expected a number from {lowest} to {highest}")
        return float(value)

    def whole_bound(self, name: str, *, highest: int) -> int | None:
        """Return a whole number that holds something down, None when it is absent; 0 is refused, whoever wrote it."""
        value = self.whole(name, default=-1, lowest=0, highest=highest)
        if value == 0:
            raise no_bound(self.at(name))
        return value if value > 0 else None

    def number_bound(self, name: str, *, highest: float) -> float | None:
        """Return a number that holds something down, None when it is absent; 0 is refused, whoever wrote it."""
        value = self.number(name, default=-1.0, lowest=0.0, highest=highest)
        if value == 0:
            raise no_bound(self.at(name))
        return value if value > 0 else None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return true or false."""
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise bad(self.at(name), "expected true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts without blanks; one text alone counts as a list of one."""
        value = self.take(name)
        if value is None:
            return ()
        entries = [value] if isinstance(value, str) else value
        if not isinstance(entries, list):
            raise bad(self.at(name), "expected a list of texts")
        texts: list[str] = []
        for number, entry in enumerate(entries):
            if not isinstance(entry, str) or not entry.strip():
                raise bad(f"{self.at(name)}[{number}]", "expected a text that is not blank")
            texts.append(storable(entry.strip(), f"{self.at(name)}[{number}]"))
        return tuple(texts)

    def table(self, name: str) -> dict[str, str]:
        """Return a mapping of texts to texts; numbers are taken as written."""
        value = self.take(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise bad(self.at(name), "expected an object of texts")
        table: dict[str, str] = {}
        for key, entry in value.items():
            if isinstance(entry, bool) or not isinstance(entry, str | int):
                raise bad(f"{self.at(name)}.{key}", "expected a text")
            table[storable(key, self.at(name))] = storable(str(entry), f"{self.at(name)}.{key}")
        return table

    def entries(self, name: str) -> Iterator[tuple[str, Json]]:
        """Yield the path and raw value of each entry of a list."""
        value = self.take(name)
        if value is None:
            return
        if not isinstance(value, list):
            raise bad(self.at(name), "expected a list")
        for number, entry in enumerate(cast("list[Json]", value)):
            yield f"{self.at(name)}[{number}]", entry

    def done(self) -> None:
        """Refuse fields that nothing took."""
        unknown = sorted(set(self.values) - self.taken)
        if unknown:
            known = ", ".join(sorted(self.taken))
            raise bad(self.at(unknown[0]), "is not a known field", code="UNKNOWN_FIELD", hint=f"known here: {known}")


def one_of(reader: Reader, name: str, kinds: type[Choice], text: str) -> Choice:
    """Read one value of an enumeration."""
    try:
        return kinds(text)
    except ValueError as error:
        allowed = ", ".join(kind.value for kind in kinds)
        raise bad(reader.at(name), f"{text!r} is not one of {allowed}") from error


def read_instant(reader: Reader, name: str) -> Instant | None:
    """Read an RFC 3339 instant that may be absent."""
    text = reader.text(name)
    if not text:
        return None
    try:
        return from_text(text)
    except ValueError as error:
        raise bad(reader.at(name), f"{text!r} is not an RFC 3339 time with a zone") from error
