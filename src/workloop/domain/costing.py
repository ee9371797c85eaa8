"""What sessions cost, added up by what people ask for, and what a backlog may cost by that history."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from workloop.domain.charge import Charge, ChargeState
from workloop.domain.clock import to_text
from workloop.domain.progress import Weight
from workloop.domain.session import Tokens
from workloop.domain.spend import NOTHING, Amount, fresh
from workloop.domain.units import Unit

DRAWS: Final = 400
DRAWN_MAX: Final = 500
"""Beyond so many items the sum of draws is stretched from this many."""
FEW: Final = 5
"""A forecast from fewer finished items says that it is a guess."""


class By(StrEnum):
    """What costs are added up by."""

    PROJECT = "project"
    ITEM = "item"
    MODEL = "model"
    DAY = "day"
    HARNESS = "harness"


Spoke = Callable[[str], bool]
"""Whether a session, by its id, did anything at all, so that it must have used something."""


def always(session_id: str) -> bool:
    """Say of every session that it may have used something."""
    del session_id
    return True


def dark(charge: Charge, spoke: Spoke) -> frozenset[Unit]:
    """Return in which of money and tokens nobody knows what a session used, so that its 0 is no 0."""
    money, tokens = charge.spent.cost_micros, charge.spent.tokens.total
    if money and tokens:
        return frozenset()
    lost = charge.state is ChargeState.UNKNOWN
    used = lost or money > 0 or tokens > 0 or spoke(charge.session_id)
    found = {Unit.COST} if used and not money and not charge.priced else set[Unit]()
    return frozenset(found | ({Unit.TOKENS} if used and not tokens else set()))


class Past(NamedTuple):
    """What something cost, and the units in which that is not the whole of it."""

    spent: Amount
    dark: frozenset[Unit] = frozenset()


@dataclass(slots=True, kw_only=True)
class Sum:
    """What some sessions cost together; `wasted` is the part whose claims brought nothing.

    `cost_unknown` and `tokens_unknown` count those of which nobody knows: they are in the sum as nothing.
    """

    spent: Amount = NOTHING
    wasted: Amount = NOTHING
    unknown: int = 0
    unpriced: int = 0
    running: int = 0
    cost_unknown: int = 0
    tokens_unknown: int = 0
    roots: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def add(self, charge: Charge, spoke: Spoke = always) -> None:
        """Add one session."""
        if charge.state is ChargeState.RESERVED:
            self.running += 1
            return
        self.spent += charge.spent
        missing = dark(charge, spoke)
        self.cost_unknown += Unit.COST in missing
        self.tokens_unknown += Unit.TOKENS in missing
        self.unknown += charge.state is ChargeState.UNKNOWN
        self.unpriced += not charge.priced and charge.spent.tokens.total > 0
        if charge.brought in (Weight.FRUITLESS, Weight.UNCOUNTED):
            self.wasted += charge.spent
        if charge.payer.root:
            self.roots.add((charge.payer.target, charge.payer.root))

    @property
    def wasted_share(self) -> float | None:
        """Return which part brought nothing, by money where any is known, else by tokens; None for nothing at all."""
        unit = Unit.COST if self.spent.cost_micros else Unit.TOKENS
        whole = self.spent.of(unit)
        return round(self.wasted.of(unit) / whole, 4) if whole else None

    @property
    def reread_share(self) -> float | None:
        """Return which part of what the models were given was read from a cache, so paid for again (G14)."""
        tokens = self.spent.tokens
        given = tokens.input + tokens.cache_read + tokens.cache_write
        return round(tokens.cache_read / given, 4) if given else None


def name_by(charge: Charge, by: By) -> str:
    """Return under which name a session's cost is added up."""
    match by:
        case By.PROJECT:
            return charge.payer.target
        case By.ITEM:
            return charge.payer.root
        case By.MODEL:
            return charge.model
        case By.DAY:
            return to_text(charge.began_at)[:10]
        case By.HARNESS:
            return charge.payer.harness


def sums(charges: Iterable[Charge], by: By, spoke: Spoke = always) -> dict[str, Sum]:
    """Add sessions up by a name, the dearest first; days in their order."""
    found: dict[str, Sum] = {}
    for charge in charges:
        found.setdefault(name_by(charge, by), Sum()).add(charge, spoke)
    if by is By.DAY:
        return dict(sorted(found.items()))
    return dict(sorted(found.items(), key=lambda pair: (-pair[1].spent.cost_micros, -fresh(pair[1].spent.tokens))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How an amount of one unit is spread: the middle, and what nine in ten stay under."""

    samples: int
    middle: int
    high: int


def spread(values: Sequence[int]) -> Spread:
    """Return how values are spread; of none, nothing is known."""
    if not values:
        return Spread(samples=0, middle=0, high=0)
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, (9 * len(ordered)) // 10)]
    return Spread(samples=len(ordered), middle=round(statistics.median(ordered)), high=high)


def per_session(charges: Iterable[Charge], spoke: Spoke = always) -> dict[tuple[str, str], dict[Unit, Spread]]:
    """Return what one session costs, by role and harness, in each unit by those of which it is known."""
    found: dict[tuple[str, str], list[Past]] = {}
    for charge in charges:
        if charge.state is not ChargeState.RESERVED and not charge.probe:
            past = Past(charge.spent, dark(charge, spoke))
            found.setdefault((charge.role, charge.payer.harness), []).append(past)
    return {key: {unit: spread(known_in(unit, pasts)) for unit in SHOWN} for key, pasts in found.items()}


def known_in(unit: Unit, pasts: Iterable[Past]) -> list[int]:
    """Return the amounts in a unit of what is known whole in it."""
    return [past.spent.of(unit) for past in pasts if unit not in past.dark]


SHOWN: Final = (Unit.COST, Unit.TOKENS, Unit.WALL, Unit.SESSIONS)


def per_root(charges: Iterable[Charge], over: frozenset[tuple[str, str]], spoke: Spoke = always) -> list[Past]:
    """Return what each finished item cost with all its follow-ups; one unknown session makes the whole unknown."""
    found: dict[tuple[str, str], Past] = {}
    for charge in charges:
        root = (charge.payer.target, charge.payer.root)
        if root in over and charge.state is not ChargeState.RESERVED:
            before = found.get(root, Past(NOTHING))
            found[root] = Past(before.spent + charge.spent, before.dark | dark(charge, spoke))
    return list(found.values())


def draws(below: int) -> Iterator[int]:
    """Yield numbers below a bound as evenly as dice would, and the same ones each time."""
    state = 1
    while True:
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        yield (state >> 33) % below


def forecast(history: Sequence[Past], items: int) -> dict[Unit, Spread]:
    """Return what so many more items may cost in all, drawn again and again from what finished ones did.

    In each unit only those of which it is known are drawn from; a unit of which nothing is known has no samples.
    """
    if not history or not items:
        return {}
    return {unit: drawn_from(known_in(unit, history), items) for unit in SHOWN}


def drawn_from(amounts: Sequence[int], items: int) -> Spread:
    """Return how the sum of so many draws is spread."""
    if not amounts:
        return spread(())
    drawn, chosen = min(items, DRAWN_MAX), draws(len(amounts))
    totals = [sum(amounts[next(chosen)] for _ in range(drawn)) * items // drawn for _ in range(DRAWS)]
    found = spread(totals)
    return Spread(samples=len(amounts), middle=found.middle, high=found.high)


def tokens_of(tokens: Tokens) -> Mapping[str, int]:
    """Return the four buckets by name."""
    return {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write": tokens.cache_write,
    }
