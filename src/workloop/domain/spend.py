"""Amounts of what sessions use, in every unit at once, in whole numbers."""

from typing import Final, assert_never

from workloop.domain.frozen import frozen
from workloop.domain.session import Tokens
from workloop.domain.units import Unit


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
