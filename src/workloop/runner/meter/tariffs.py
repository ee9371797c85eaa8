"""How the list of prices is asked once for the rates of a model, which are then only multiplied, to the same figure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from workloop.runner.meter.usage import Counted

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

LONG_CACHED = "cache_write_1h_tokens"
ENTRIES_MAX = 1_000  # sessions choose the names of models
# Input that is new, output, read from a cache, written to one, and then each extra.
Amounts = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """The price of one unit of each amount, by the size of the whole input; None is a range without an end."""

    ends: tuple[int | None, ...]
    rates: tuple[tuple[Decimal, ...], ...]

    def cost(self, amounts: Amounts) -> Decimal:
        """Return the price of amounts in dollars."""
        size = whole_input(amounts)
        chosen = next(rates for end, rates in zip(self.ends, self.rates, strict=True) if end is None or size <= end)
        return sum((rate * amount for rate, amount in zip(chosen, amounts, strict=True) if amount), Decimal())


@lru_cache(ENTRIES_MAX)
def entry_of(provider: str, model: str) -> "tuple[Provider, ModelInfo] | None":
    """Find a model in the list."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None


@dataclass(slots=True)
class Tariffs:
    """The tariffs that were needed so far."""

    known: dict[object, Tariff | None] = field(default_factory=dict[object, Tariff | None])

    def cost(self, entry: "tuple[Provider, ModelInfo]", counted: Counted, moment: datetime) -> Decimal | None:
        """Return the price of an answer in dollars; None when only the list itself can tell it."""
        prices, names = prices_at(entry, counted, moment), tuple(sorted(counted.extras))
        amounts = amounts_of(counted, names)
        if counted.extras.get(LONG_CACHED, 0) > counted.tokens.cache_write:
            return None
        # The list and all that is in it lives as long as the process, so that identities name its prices.
        key = (id(entry[1]), names, *((name, id(price)) for name, price in vars(prices).items()))
        if key not in self.known:
            if len(self.known) >= ENTRIES_MAX:
                self.known.clear()
            self.known[key] = tariff_of(prices, names)
        tariff = self.known[key]
        return None if tariff is None else tariff.cost(amounts)


def prices_at(entry: "tuple[Provider, ModelInfo]", counted: Counted, moment: datetime) -> "ModelPrice":
    """Return a model's prices at a moment, which depend on the context only with whoever offers it himself."""
    provider, model = entry
    own = bool(counted.context) and any(model is offered for offered in provider.models)
    return model.get_prices(moment, dict(counted.context) if own else None)


def tariff_of(prices: "ModelPrice", names: tuple[str, ...]) -> Tariff | None:
    """Ask the list for the rates of each range; None when an answer's price is not simply their sum."""
    ends = (*ends_of(vars(prices).values()), None)
    starts = (0, *(end for end in ends if end is not None))
    try:
        rates = tuple(rates_from(start, prices, names) for start in starts)
    except ValueError:
        return None
    tariff = Tariff(ends=ends, rates=rates)
    samples = [(start + 11, 7, 5, 3, *(2 for _ in names)) for start in starts]
    ask = asking(prices, names)
    return tariff if all(tariff.cost(sample) == ask(sample) for sample in samples) else None


def rates_from(start: int, prices: "ModelPrice", names: tuple[str, ...]) -> tuple[Decimal, ...]:
    """Return the rates of a range of input that begins behind a size, each by what one more unit adds."""
    ask, nothing = asking(prices, names), (0,) * len(names)
    usual = ask((start + 2, 0, 0, 0, *nothing))
    fresh = ask((start + 3, 0, 0, 0, *nothing)) - usual
    output = ask((start + 2, 1, 0, 0, *nothing)) - usual
    read = ask((start + 1, 0, 1, 0, *nothing)) - usual + fresh
    written = ask((start + 1, 0, 0, 1, *nothing))
    write = written - usual + fresh
    extras = tuple(ask((start + 1, 0, 0, 1, *(int(other == name) for other in names))) - written for name in names)
    return (fresh, output, read, write, *extras)


def asking(prices: "ModelPrice", names: tuple[str, ...]) -> Callable[[Amounts], Decimal]:
    """Return what asks the list for a price of amounts."""
    from genai_prices import Usage

    def ask(amounts: Amounts) -> Decimal:
        usage = Usage(
            input_tokens=whole_input(amounts),
            cache_read_tokens=amounts[2],
            cache_write_tokens=amounts[3],
            output_tokens=amounts[1],
            **dict(zip(names, amounts[4:], strict=True)),
        )
        return prices.calc_price(usage)["total_price"]

    return ask


def ends_of(prices: Iterable[object]) -> list[int]:
    """Return the sizes of input behind which other prices begin."""
    from genai_prices.types import TieredPrices

    return sorted({tier.start for price in prices if isinstance(price, TieredPrices) for tier in price.tiers})


def amounts_of(counted: Counted, names: tuple[str, ...]) -> Amounts:
    """Return what an answer used of each."""
    tokens = counted.tokens
    extras = (counted.extras[name] for name in names)
    return (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, *extras)


def whole_input(amounts: Amounts) -> int:
    """Return all input, new and cached."""
    return amounts[0] + amounts[2] + amounts[3]
