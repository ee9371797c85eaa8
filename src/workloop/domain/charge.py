"""What is written down of a session's spending: set aside before it starts, settled when it has ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from workloop.domain.budget import Payer, ScopeKind, name_of
from workloop.domain.clock import Instant
from workloop.domain.journal import NAME_CHARACTERS_MAX, RunRow
from workloop.domain.progress import Weight
from workloop.domain.session import Tokens, head
from workloop.domain.spend import NOTHING, Amount, fresh
from workloop.domain.units import TOKEN_UNITS, Unit


class ChargeState(StrEnum):
    """Where a charge stands; an unknown one is booked at what was set aside for it, or at more where more was seen."""

    RESERVED = "reserved"
    SETTLED = "settled"
    UNKNOWN = "unknown"


class Source(StrEnum):
    """Where a settled amount comes from."""

    REPORT = "report"
    METER = "meter"
    STREAM = "stream"
    PERSON = "person"
    RESERVE = "reserve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One session's spending: who pays, what was set aside, and what it came to.

    `priced` tells whether the amount of money is known; where it is not, and none is expected, it counts as nothing.
    `brought` is what its claim brought, empty until that is known. A probe is no session by count.
    """

    session_id: str
    began_at: Instant
    run: int = 0
    payer: Payer = field(default_factory=Payer)
    item_key: str = ""
    role: str = ""
    phase: str = ""
    account: str = ""
    model: str = ""
    probe: bool = False
    state: ChargeState = ChargeState.RESERVED
    reserved: Mapping[Unit, int] = field(default_factory=dict[Unit, int])
    spent: Amount = NOTHING
    priced: bool = False
    source: Source = Source.RESERVE
    ended_at: Instant | None = None
    brought: Weight | None = None

    def name(self, kind: ScopeKind) -> str:
        """Return under which name it is added up in a scope."""
        return name_of(kind, self.payer)


def bounded_charge(charge: Charge) -> Charge:
    """Return a charge whose texts are printable and bounded."""
    return replace(charge, model=head(charge.model, NAME_CHARACTERS_MAX))


TOPPED_UP: Final = frozenset({*TOKEN_UNITS, Unit.COST})


def settled(charge: Charge, spent: Amount, *, at: Instant, priced: bool, source: Source) -> Charge:
    """Return a charge whose amount is known."""
    return replace(charge, state=ChargeState.SETTLED, spent=spent, priced=priced, source=source, ended_at=at)


def unknown(charge: Charge, seen: Amount, *, at: Instant, lacking: Sequence[Unit]) -> Charge:
    """Return a charge whose amount cannot be known in some units: it is booked there at what was set aside."""
    spent = at_least(seen, {unit: charge.reserved.get(unit, 0) for unit in lacking if unit in TOPPED_UP})
    return replace(charge, state=ChargeState.UNKNOWN, spent=spent, priced=False, source=Source.RESERVE, ended_at=at)


def at_least(seen: Amount, reserved: Mapping[Unit, int]) -> Amount:
    """Return an amount that is nowhere below what was set aside."""
    tokens = Tokens(
        max(seen.tokens.input, reserved.get(Unit.INPUT, 0)),
        max(seen.tokens.output, reserved.get(Unit.OUTPUT, 0)),
        max(seen.tokens.cache_read, reserved.get(Unit.CACHE_READ, 0)),
        max(seen.tokens.cache_write, reserved.get(Unit.CACHE_WRITE, 0)),
    )
    lacking = max(0, reserved.get(Unit.TOKENS, 0) - fresh(tokens))
    cost = max(seen.cost_micros, reserved.get(Unit.COST, 0))
    return Amount(tokens + Tokens(input=lacking), cost, seen.wall_us, seen.sessions)


def taken_of(charge: Charge, unit: Unit, live: Amount = NOTHING) -> int:
    """Return what a charge takes of a unit: its amount once it is known, before that at least what was set aside."""
    if charge.state is not ChargeState.RESERVED:
        return charge.spent.of(unit)
    if unit is Unit.SESSIONS:
        return 0 if charge.probe else 1
    return max(charge.reserved.get(unit, 0), live.of(unit))


def run_origin(run: int, runs: Sequence[RunRow]) -> int:
    """Return the first run that a run goes on with: one that was killed has not ended, its successor goes on with it.

    So a loop that is killed and started again does not get its run's budget anew.
    """
    ended = {row.number: row.ended_at is not None for row in runs}
    first = run
    while ended.get(first - 1) is False:
        first -= 1
    return first
