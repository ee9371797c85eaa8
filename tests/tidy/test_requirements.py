"""The manifest of reported failures and the tests agree, both ways."""

import re
from pathlib import Path

import pytest

from requirements import REQUIREMENTS, Requirement

TESTS = Path(__file__).parents[1]
DEFINITION = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
NAMED_BY_ID = re.compile(r"test_([ABEJ][0-9]{2})_", re.IGNORECASE)


def defined() -> set[str]:
    """Return the name of every test."""
    return {name for path in TESTS.rglob("test_*.py") for name in DEFINITION.findall(path.read_text())}


@pytest.mark.parametrize("row", REQUIREMENTS, ids=[row.id for row in REQUIREMENTS])
def test_each_requirement_has_its_tests_or_a_reason(row: Requirement) -> None:
    """A row without tests says why, and every test that a row names exists."""
    assert row.tests or row.note
    assert sorted(set(row.tests) - defined()) == []


def test_each_test_that_is_named_by_an_id_is_in_its_row() -> None:
    """A test whose name begins with an id stands in the row of that id."""
    listed = {row.id: set(row.tests) for row in REQUIREMENTS}
    named = {name: match[1].upper() for name in defined() if (match := NAMED_BY_ID.match(name))}
    assert sorted(name for name, number in named.items() if name not in listed.get(number, set())) == []


def test_each_id_stands_once_and_says_something_of_its_own() -> None:
    """Ids and sentences are not repeated."""
    assert len({row.id for row in REQUIREMENTS}) == len(REQUIREMENTS)
    assert len({row.sentence for row in REQUIREMENTS}) == len(REQUIREMENTS)
