"""What a row of the manifest says: an id, a sentence, the tests that hold it, and what is left open."""

from typing import NamedTuple


class Requirement(NamedTuple):
    """One kind of failure: what must be true instead, the tests that hold it, and what is left open."""

    id: str
    sentence: str
    tests: tuple[str, ...] = ()
    note: str = ""


def held(number: str, sentence: str, *tests: str, note: str = "") -> Requirement:
    """Return a row that tests hold."""
    return Requirement(number, sentence, tests, note)


def open_row(number: str, sentence: str, note: str) -> Requirement:
    """Return a row without tests, with the reason."""
    return Requirement(number, sentence, (), note)
