"""What an ended session is booked at: by the meter, by its own report, by a list of prices, or as unknown."""

from collections.abc import Sequence

from workloop.domain.charge import Charge, Source, settled, unknown
from workloop.domain.clock import Instant
from workloop.domain.gate import produced
from workloop.domain.session import SessionReport, Tokens
from workloop.domain.spend import NOTHING, Amount, most
from workloop.domain.units import TOKEN_UNITS, Unit
from workloop.driver.attempt.outcomes import trusted
from workloop.driver.spending.purse import Purse, replaced
from workloop.driver.spending.spending import Spending


def settle(purse: Purse, report: SessionReport, *, reports_cost: bool) -> tuple[Charge, tuple[Unit, ...]]:
    """Return a session's charge, and the units with a ceiling in which it cannot be known."""
    source = Source.METER if purse.metered is not None else Source.REPORT
    tokens_known, cost_known = known(purse, report, reports_cost=reports_cost)
    dark = dark_in(tokens_known=tokens_known, cost_known=cost_known)
    return concluded(purse.spending, purse.charge, final(purse, report), report.ended_at, dark, source)


def known(purse: Purse, report: SessionReport, *, reports_cost: bool) -> tuple[bool, bool]:
    """Tell whether a session's tokens are known, and its cost; what said nothing at all used nothing.

    Of an agent that never says what it costs, and that no list of prices covers, nobody expects to be told.
    """
    if purse.metered is not None and purse.metered_whole:
        return True, True
    if not trusted(report):
        return False, not (reports_cost or purse.lists)
    if report.usage_reported or report.cost_micros is not None or produced(report):
        priced = report.usage_reported and purse.priced(larger(purse.told, report.tokens)) is not None
        told = report.cost_micros is not None or priced
        return report.usage_reported, told or not (reports_cost or purse.lists)
    return True, True


def larger(one: Tokens, other: Tokens) -> Tokens:
    """Return the larger count of each bucket."""
    return most(Amount(one), Amount(other)).tokens


def final(purse: Purse, report: SessionReport) -> Amount:
    """Return what a session came to, by whoever saw most of it; an agent's own price comes before a list's.

    Of one that went round the meter the dearer of both counts: its own word is all that there is.
    """
    tokens = larger(purse.told, report.tokens)
    cost = report.cost_micros
    if cost is None:
        cost = purse.told_micros if purse.told_micros is not None else purse.priced(tokens)
    if purse.past_meter:
        cost = max(cost or 0, purse.priced(tokens) or 0)
    counted = most(Amount(tokens, cost or 0), purse.metered or NOTHING)
    return replaced(counted, max(0, report.ended_at - report.started_at), 0 if purse.charge.probe else 1)


def dark_in(*, tokens_known: bool, cost_known: bool) -> tuple[Unit, ...]:
    """Return the units in which a session's spending is not known."""
    return (*(() if tokens_known else TOKEN_UNITS), *(() if cost_known else (Unit.COST,)))


def concluded(
    spending: Spending, charge: Charge, used: Amount, at: Instant, dark: Sequence[Unit], source: Source
) -> tuple[Charge, tuple[Unit, ...]]:
    """Return a charge settled, or unknown in the units that a ceiling concerns."""
    lacking = spending.lacks(charge, dark)
    if lacking:
        return unknown(charge, used, at=at, lacking=lacking), lacking
    return settled(charge, used, at=at, priced=Unit.COST not in dark and used.cost_micros > 0, source=source), ()


def untold(purse: Purse, at: Instant, *, began: bool) -> tuple[Charge, tuple[Unit, ...]]:
    """Return the charge of a session that nobody reports on; one that said nothing at all used nothing."""
    dark = dark_in(tokens_known=not began, cost_known=not began)
    return concluded(purse.spending, purse.charge, purse.used(), at, dark, Source.STREAM)
