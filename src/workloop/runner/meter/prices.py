"""What tokens cost: as the operator says, else as listed, else as the provider's dearest; never nothing."""

import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from functools import cache
from typing import TYPE_CHECKING, Protocol

from workloop.domain.clock import EPOCH, Instant
from workloop.domain.session import Tokens
from workloop.runner.meter.tariffs import LONG_CACHED, Tariffs, entry_of
from workloop.runner.meter.usage import Counted

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

MILLION = 1_000_000
SUBSCRIPTION = "subscription"
# The price of a bucket, and what stands for it where a list has none.
RATES = {
    "input_mtok": "input_mtok",
    "output_mtok": "input_mtok",
    "cache_read_mtok": "input_mtok",
    "cache_write_mtok": "input_mtok",
    "cache_write_1h_mtok": "cache_write_mtok",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What an answer costs, and the model whose price was taken."""

    cost_micros: int
    priced_as: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPrice:
    """An operator's price of a model, in micro-dollars for a million tokens of each bucket."""

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None

    def cost_micros(self, tokens: Tokens) -> int:
        """Return the price of tokens, rounded up; a bucket without a price of its own costs as input does."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        fresh = tokens.input * self.input + tokens.output * self.output
        return -(-(fresh + tokens.cache_read * read + tokens.cache_write * write) // MILLION)


class Prices(Protocol):
    """A list of prices; it knows something for every model."""

    def warm(self) -> None:
        """Load what the first price would otherwise wait for."""
        ...

    def provider(self, url: str, usual: str) -> str:
        """Return the list's name of the provider behind a URL, or the usual one for a URL it does not know."""
        ...

    def price(self, provider: str, model: str, counted: Counted, at: Instant) -> Price:
        """Return the price of an answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dearest:
    """The highest price that a provider has for any of its models, per bucket, in dollars for a million tokens."""

    name: str
    rates: Mapping[str, Decimal]

    def cost(self, counted: Counted) -> Decimal:
        """Return what tokens would cost if each bucket were of the dearest model for it."""
        tokens = counted.tokens
        long_cached = min(counted.extras.get(LONG_CACHED, 0), tokens.cache_write)
        amounts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write - long_cached, long_cached)
        return (
            sum((self.rates[rate] * amount for rate, amount in zip(RATES, amounts, strict=True)), Decimal()) / MILLION
        )


@dataclass(slots=True)
class ListedPrices:
    """The bundled price list, which asks no network; own prices, by model, stand before it."""

    own: Mapping[str, OwnPrice] = field(default_factory=dict[str, OwnPrice])
    dearest: dict[str, Dearest] = field(default_factory=dict[str, Dearest])
    tariffs: Tariffs = field(default_factory=Tariffs)

    def warm(self) -> None:
        """Load the list, which takes half a second."""
        loaded()

    def provider(self, url: str, usual: str) -> str:
        """Return the list's name of the provider behind a URL, or the usual one for a URL it does not know."""
        from genai_prices.data_snapshot import get_snapshot

        try:
            return get_snapshot().find_provider(None, None, url).id
        except LookupError:
            return usual

    def price(self, provider: str, model: str, counted: Counted, at: Instant) -> Price:
        """Return the price of an answer; a model that is not listed is as dear as the dearest of its provider."""
        own = self.own.get(model)
        if own is not None:
            return Price(cost_micros=own.cost_micros(counted.tokens), priced_as=model)
        listed = self.listed(provider, model, counted, at)
        if listed is not None:
            return listed
        if provider not in self.dearest:
            self.dearest[provider] = dearest_of(provider)
        dear = self.dearest[provider]
        return Price(cost_micros=whole_micros(dear.cost(counted)), priced_as=dear.name)

    def listed(self, provider: str, model: str, counted: Counted, at: Instant) -> Price | None:
        """Return the price of a listed model by its tariff; the list itself is asked where there is none."""
        entry = entry_of(provider, model)
        if entry is None:
            return None
        cost = self.tariffs.cost(entry, counted, moment_of(at))
        if cost is None:
            return listed_price(provider, model, counted, at)
        if counted.tokens.total and not cost:
            return None
        return Price(cost_micros=whole_micros(cost), priced_as=entry[1].id)


@cache
def loaded() -> None:
    """Load the list, and let no collection of garbage look through its objects again while tokens wait."""
    listed_price("openai", "", Counted(), Instant(0))
    gc.collect()
    gc.freeze()


def listed_price(provider: str, model: str, counted: Counted, at: Instant) -> Price | None:
    """Look a model up in the bundled list; None when it is not there or its entry prices no tokens."""
    from genai_prices import Usage, calc_price

    tokens = counted.tokens
    usage = Usage(
        input_tokens=tokens.input + tokens.cache_read + tokens.cache_write,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
        **counted.extras,
    )
    try:
        found = calc_price(
            usage, model, provider_id=provider, genai_request_timestamp=moment_of(at), price_context=counted.context
        )
    except (LookupError, ValueError):
        return None
    if tokens.total and not found.total_price:
        return None
    return Price(cost_micros=whole_micros(found.total_price), priced_as=found.model.id)


def dearest_of(provider_id: str) -> Dearest:
    """Find the highest price of each bucket over all models of a provider, at any size and any service."""
    from genai_prices.data_snapshot import find_provider_by_id, get_snapshot

    provider = find_provider_by_id(get_snapshot().providers, provider_id)
    assert provider is not None, f"{provider_id} is a provider of the list"
    rates: dict[str, Decimal] = {}
    for prices in every_price(provider):
        for rate, stand_in in RATES.items():
            highest = top(getattr(prices, rate)) or top(getattr(prices, stand_in)) or Decimal()
            rates[rate] = max(highest, rates.get(rate, Decimal()))
    return Dearest(name=f"dearest of {provider.id}", rates=rates)


def every_price(provider: "Provider") -> "Iterator[ModelPrice]":
    """Yield every price of every model, of whatever time and service."""
    for model in provider.models:
        yield from standard_prices(model)
        yield from (variant.prices for variant in model.price_variants or ())


def standard_prices(model: "ModelInfo") -> "Iterator[ModelPrice]":
    """Yield the prices of a model over time."""
    if isinstance(model.prices, list):
        yield from (conditional.prices for conditional in model.prices)
    else:
        yield model.prices


def top(price: object) -> Decimal | None:
    """Return the highest of a price's tiers."""
    from genai_prices.types import TieredPrices

    if isinstance(price, TieredPrices):
        return max((price.base, *(tier.price for tier in price.tiers)))
    return price if isinstance(price, Decimal) else None


def moment_of(at: Instant) -> datetime:
    """Return an instant as the list takes it."""
    return EPOCH + timedelta(microseconds=at)


def whole_micros(dollars: Decimal) -> int:
    """Return dollars in micro-dollars, rounded up."""
    return int((dollars * MILLION).to_integral_value(ROUND_CEILING))
