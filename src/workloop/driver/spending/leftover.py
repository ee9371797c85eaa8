"""What is booked of sessions whose loop died before it could settle them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from workloop.domain.charge import Charge, Source
from workloop.domain.clock import Instant
from workloop.domain.journal import SessionRow
from workloop.domain.session import Tokens
from workloop.domain.spend import Amount
from workloop.domain.units import Unit
from workloop.driver.spending.purse import Price
from workloop.driver.spending.settling import concluded, dark_in
from workloop.driver.spending.spending import Spending


@dataclass(frozen=True, slots=True, kw_only=True)
class Retold:
    """What kept output tells: tokens and cost where it says any, and whether the model said anything at all.

    Of a harness that does not report its cost, and that no list of prices covers, none is expected.
    """

    tokens: Tokens | None = None
    cost_micros: int | None = None
    model: str = ""
    produced: bool = False
    reports_cost: bool = True


Reread = Callable[[SessionRow], Retold | None]
"""None when the output of a session is not kept."""


def forgotten(row: SessionRow) -> Retold | None:
    """Keep nothing."""
    del row
    return None


def settle_left(
    spending: Spending, charge: Charge, told: Retold | None, price: Price, at: Instant
) -> tuple[Charge, tuple[Unit, ...]]:
    """Return a dead session's charge, and the units with a ceiling in which it cannot be known.

    What its kept output says is a floor: the call that was under way when it died is not in it.
    """
    told = told or Retold(produced=True)
    model = told.model or charge.model
    tokens = told.tokens or Tokens()
    cost = told.cost_micros
    if cost is None and told.tokens is not None:
        cost = price(charge.payer.harness, model, tokens)
    wall_us = max(0, at - charge.began_at) if told.tokens is not None else 0
    used = Amount(tokens, cost or 0, min(wall_us, charge.reserved.get(Unit.WALL, wall_us)), 0 if charge.probe else 1)
    idle = not told.produced and told.tokens is None
    priced = cost is not None or not told.reports_cost
    dark = dark_in(tokens_known=idle or told.tokens is not None, cost_known=idle or priced)
    return concluded(spending, replace(charge, model=model), used, at, dark, Source.STREAM)
