"""What ceilings are counted in: the units, how each is named, and how a count of it is written."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from workloop.domain.clock import SECOND_US

MICROS: Final = 1_000_000
"""So many micro-dollars are a dollar."""


class Unit(StrEnum):
    """What a ceiling can be set on, by the name of its key in the settings.

    `tokens` are those a provider works anew for: input, output and what is written into its cache, not what is read
    from there.
    """

    INPUT = "input_tokens"
    OUTPUT = "output_tokens"
    CACHE_READ = "cache_read_tokens"
    CACHE_WRITE = "cache_write_tokens"
    TOKENS = "tokens"
    COST = "cost_usd"
    WALL = "wall_seconds"
    SESSIONS = "sessions"


TOKEN_UNITS: Final = (Unit.INPUT, Unit.OUTPUT, Unit.CACHE_READ, Unit.CACHE_WRITE, Unit.TOKENS)
NOUNS: Final[Mapping[Unit, str]] = {
    Unit.INPUT: "input tokens",
    Unit.OUTPUT: "output tokens",
    Unit.CACHE_READ: "tokens read from the cache",
    Unit.CACHE_WRITE: "tokens written to the cache",
    Unit.TOKENS: "tokens without those read from the cache",
    Unit.COST: "USD",
    Unit.WALL: "seconds of sessions",
    Unit.SESSIONS: "sessions",
}


def number(unit: Unit, count: int) -> str:
    """Write a count of one unit without its name."""
    if unit is Unit.COST:
        return f"{count / MICROS:,.2f}" if count % 10_000 == 0 or count >= MICROS else f"{count / MICROS:,.6f}"
    return f"{count / SECOND_US:,.0f}" if unit is Unit.WALL else f"{count:,}"


def share(unit: Unit, used: int, whole: int) -> str:
    """Write how much of a whole is used, in words."""
    return f"{number(unit, used)} of {number(unit, whole)} {NOUNS[unit]}"
