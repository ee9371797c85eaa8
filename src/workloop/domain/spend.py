"""What spending is counted in: units, and amounts in all of them at once, in whole numbers."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, assert_never

from workloop.domain.clock import SECOND_US
from workloop.domain.frozen import frozen
from workloop.domain.session import Tokens

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


@frozen
class Amount:
    """How much was spent, or is set aside, in every unit; cost in micro-dollars, time in microseconds."""

    tokens: Tokens = Tokens()
    cost_micros: int = 0
    wall_us: int = 0
    sessions: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.tokens + other.tokens,
            self.cost_micros + other.cost_micros,
            self.wall_us + other.wall_us,
            self.sessions + other.sessions,
        )

    def of(self, unit: Unit) -> int:
        """Return how much it is in one unit."""
        match unit:
            case Unit.INPUT:
                return self.tokens.input
            case Unit.OUTPUT:
                return self.tokens.output
            case Unit.CACHE_READ:
                return self.tokens.cache_read
            case Unit.CACHE_WRITE:
                return self.tokens.cache_write
            case Unit.TOKENS:
                return fresh(self.tokens)
            case Unit.COST:
                return self.cost_micros
            case Unit.WALL:
                return self.wall_us
            case Unit.SESSIONS:
                return self.sessions
            case _:
                assert_never(unit)


NOTHING: Final = Amount()


def fresh(tokens: Tokens) -> int:
    """Return how many tokens a provider works anew for."""
    return tokens.input + tokens.output + tokens.cache_write


def most(one: Amount, other: Amount) -> Amount:
    """Return the larger of two accounts of the same spending, in each unit for itself."""
    return Amount(
        Tokens(
            max(one.tokens.input, other.tokens.input),
            max(one.tokens.output, other.tokens.output),
            max(one.tokens.cache_read, other.tokens.cache_read),
            max(one.tokens.cache_write, other.tokens.cache_write),
        ),
        max(one.cost_micros, other.cost_micros),
        max(one.wall_us, other.wall_us),
        max(one.sessions, other.sessions),
    )


def number(unit: Unit, count: int) -> str:
    """Write a count of one unit without its name."""
    if unit is Unit.COST:
        return f"{count / MICROS:,.2f}" if count % 10_000 == 0 or count >= MICROS else f"{count / MICROS:,.6f}"
    return f"{count / SECOND_US:,.0f}" if unit is Unit.WALL else f"{count:,}"


def share(unit: Unit, used: int, whole: int) -> str:
    """Write how much of a whole is used, in words."""
    return f"{number(unit, used)} of {number(unit, whole)} {NOUNS[unit]}"
