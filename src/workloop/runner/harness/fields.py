"""How untrusted JSON is read without trusting its shape: a wrong type reads as absent."""

from collections.abc import Mapping
from typing import cast

import msgspec

from workloop.domain.clock import SECOND_US, Instant

INTEGER_MAX = 2**53
INSTANT_SECONDS_MAX = 4_102_444_800  # the year 2100: later resets are nonsense


class Fields:
    """One JSON object from outside."""

    def __init__(self, value: object) -> None:
        self.values: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, dict) else {}

    def __bool__(self) -> bool:
        return bool(self.values)

    def text(self, name: str) -> str:
        """Return a text, or an empty one."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def flag(self, name: str) -> bool:
        """Return whether the field is exactly true."""
        return self.values.get(name) is True

    def integer(self, name: str) -> int | None:
        """Return a whole number of bounded size, or None."""
        value = self.values.get(name)
        if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return int(value) if -INTEGER_MAX <= value <= INTEGER_MAX else None

    def count(self, name: str) -> int:
        """Return a whole number that is not negative; absent is zero."""
        value = self.values.get(name)
        if type(value) is int and 0 <= value <= INTEGER_MAX:  # the common case, and much faster
            return value
        return max(0, self.integer(name) or 0)

    def micros(self, name: str) -> int | None:
        """Return an amount of units as whole millionths."""
        value = self.values.get(name)
        return None if isinstance(value, bool) or not isinstance(value, int | float) else micros_of(value)

    def epoch_seconds(self, name: str) -> Instant | None:
        """Return an instant that is written as seconds since the epoch."""
        return instant_of_seconds(self.integer(name))

    def inner(self, name: str) -> "Fields":
        """Return a nested object, empty when there is none."""
        return Fields(self.values.get(name))

    def each(self, name: str) -> list["Fields"]:
        """Return the objects of a list."""
        value = self.values.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else []
        return [fields for fields in map(Fields, items) if fields]

    def texts(self, name: str) -> list[str]:
        """Return the texts of a list."""
        value = self.values.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else []
        return [item for item in items if isinstance(item, str)]

    def strings(self) -> dict[str, str]:
        """Return the members that are texts."""
        return {name: value for name, value in self.values.items() if isinstance(value, str)}

    def objects(self) -> list["Fields"]:
        """Return the values that are objects themselves."""
        return [fields for fields in map(Fields, self.values.values()) if fields]


def micros_of(amount: float | None) -> int | None:
    """Turn an amount of units into whole millionths; nonsense is None."""
    return round(amount * 1_000_000) if amount is not None and 0 <= amount <= INTEGER_MAX / 1_000_000 else None


def instant_of_seconds(seconds: int | None) -> Instant | None:
    """Turn seconds since the epoch into an instant; nonsense is None."""
    if seconds is None or not 0 < seconds < INSTANT_SECONDS_MAX:
        return None
    return Instant(seconds * SECOND_US)


def parse(line: bytes) -> Fields | None:
    """Read one line as a JSON object; None when it is not one."""
    try:
        value: object = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Fields(cast("object", value)) if isinstance(value, dict) else None
