"""The manifest of reported failures and the tests agree, both ways."""

import re
from pathlib import Path

import pytest

from requirements import REQUIREMENTS, Requirement

TESTS = Path(__file__).parents[1]
DEFINITION = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
GROUPS = "ABCDEFGHJLMN"
NAMED_BY_ID = re.compile(rf"(?<=_)[{GROUPS}][0-9]{{2}}(?=_)", re.IGNORECASE)


def defined() -> set[str]:
    """Return the name of every test."""
    return {name for path in TESTS.rglob("test_*.py") for name in DEFINITION.findall(path.read_text())}


@pytest.mark.parametrize("row", REQUIREMENTS, ids=[row.id for row in REQUIREMENTS])
def test_each_requirement_has_its_tests_or_a_reason(row: Requirement) -> None:
    """A row without tests says why, and every test that a row names exists."""
    assert row.tests or row.note
    assert sorted(set(row.tests) - defined()) == []


def ids_in(name: str) -> list[str]:
    """Return the ids that a test's name carries, wherever they stand in it."""
    return [found.upper() for found in NAMED_BY_ID.findall(name)]


def test_each_test_that_is_named_by_an_id_is_in_its_row() -> None:
    """A test whose name carries ids stands in the row of each."""
    listed = {row.id: set(row.tests) for row in REQUIREMENTS}
    named = [(number, name) for name in defined() for number in ids_in(name)]
    assert sorted((number, name) for number, name in named if name not in listed.get(number, set())) == []


def test_every_id_in_a_name_is_found() -> None:
    """A second id counts as much as the first."""
    assert ids_in("test_c25_c26_how_a_claim_ended") == ["C25", "C26"]
    assert ids_in("test_c27_capacity_lifts_no_brake_and_c29_a_persons_word_does") == ["C27", "C29"]
    assert ids_in("test_agents_of_a_year_before_c99x_and_h264") == []


def test_each_id_stands_once_and_says_something_of_its_own() -> None:
    """Ids and sentences are not repeated."""
    assert len({row.id for row in REQUIREMENTS}) == len(REQUIREMENTS)
    assert len({row.sentence for row in REQUIREMENTS}) == len(REQUIREMENTS)
