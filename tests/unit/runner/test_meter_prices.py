"""What an answer costs, and that ignorance is never cheap."""

from decimal import Decimal
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.domain.clock import from_text
from workloop.domain.session import Tokens
from workloop.runner.meter.prices import ListedPrices, OwnPrice, dearest_of, listed_price
from workloop.runner.meter.usage import Counted

AT = from_text("2026-11-29T00:00:00Z")
MILLION = Tokens(1_000_000, 1_000_000, 1_000_000, 1_000_000)
# Imported by name, because a type checker takes minutes over its literal.
PROVIDERS = import_module("genai_prices.data").providers
MODELS = [
    (provider.id, model.id)
    for provider in PROVIDERS
    if provider.id in {"anthropic", "openai"}
    for model in provider.models
]
COUNTS = st.integers(min_value=0, max_value=150_000)


def counted(tokens: Tokens, **extras: int) -> Counted:
    return Counted(tokens=tokens, extras=extras)


def test_each_bucket_has_its_own_price() -> None:
    prices = ListedPrices()
    costs = [
        prices.price("anthropic", "claude-sonnet-4-5", counted(tokens), AT).cost_micros
        for tokens in (Tokens(1000), Tokens(0, 1000), Tokens(0, 0, 1000), Tokens(0, 0, 0, 1000))
    ]
    assert costs == [3000, 15000, 300, 3750]


def test_what_is_kept_for_an_hour_in_the_cache_costs_more() -> None:
    long = ListedPrices().price(
        "anthropic", "claude-sonnet-4-5", counted(Tokens(0, 0, 0, 1000), cache_write_1h_tokens=1000), AT
    )
    assert long.cost_micros == 6000


def test_long_context_and_search_and_a_faster_service_cost_what_they_cost() -> None:
    prices = ListedPrices()
    short = prices.price("anthropic", "claude-sonnet-4-5", counted(Tokens(100_000)), AT).cost_micros
    long = prices.price("anthropic", "claude-sonnet-4-5", counted(Tokens(300_000)), AT).cost_micros
    assert long == 6 * short
    searched = prices.price("anthropic", "claude-sonnet-4-5", counted(Tokens(100_000), web_searches=2), AT).cost_micros
    assert searched == short + 20_000
    plain = Counted(tokens=Tokens(1000, 1000))
    fast = Counted(tokens=Tokens(1000, 1000), context={"service_tier": "priority"})
    assert (
        prices.price("openai", "gpt-5.5", fast, AT).cost_micros
        > prices.price("openai", "gpt-5.5", plain, AT).cost_micros
    )


def test_dated_name_of_a_model_has_the_price_of_the_model() -> None:
    price = ListedPrices().price("anthropic", "claude-sonnet-4-5-20250929", counted(Tokens(1000)), AT)
    assert (price.priced_as, price.cost_micros) == ("claude-sonnet-4-5", 3000)


def test_cost_is_rounded_up_to_a_whole_micro_dollar() -> None:
    assert ListedPrices().price("anthropic", "claude-sonnet-4-5", counted(Tokens(0, 0, 1)), AT).cost_micros == 1


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("model", ["", "nobody-knows-me", "scripted", "../x"])
def test_unknown_model_is_as_dear_as_the_dearest_of_its_provider_and_says_so(provider: str, model: str) -> None:
    price = ListedPrices().price(provider, model, counted(Tokens(1)), AT)
    assert price.priced_as == f"dearest of {provider}"
    assert price.cost_micros > 0


@given(st.sampled_from(MODELS), COUNTS, COUNTS, COUNTS, COUNTS)
def test_no_known_model_is_dearer_than_an_unknown_one(
    named: tuple[str, str], fresh: int, output: int, read: int, write: int
) -> None:
    provider, model = named
    known = counted(Tokens(fresh, output, read, write))
    price = listed_price(provider, model, known, AT)
    assert (
        price is None or price.cost_micros <= ListedPrices().price(provider, "nobody-knows-me", known, AT).cost_micros
    )


@pytest.mark.parametrize("provider", [provider.id for provider in PROVIDERS])
def test_every_provider_of_the_list_has_a_dearest_price(provider: str) -> None:
    dearest = dearest_of(provider)
    tokens = {model.id for entry in PROVIDERS if entry.id == provider for model in entry.models}
    assert not tokens or dearest.cost(counted(MILLION)) >= Decimal(0)


def test_own_price_stands_before_the_list_and_may_be_nothing() -> None:
    own = {
        "llama": OwnPrice(input=0, output=0),
        "gpt-5.5": OwnPrice(input=1_000_000, output=2_000_000, cache_read=500_000),
    }
    prices = ListedPrices(own=own)
    assert prices.price("openai", "llama", counted(MILLION), AT).cost_micros == 0
    price = prices.price("openai", "gpt-5.5", counted(Tokens(3, 2, 1, 1)), AT)
    assert (price.cost_micros, price.priced_as) == (9, "gpt-5.5")


def test_provider_is_known_by_its_url_and_else_is_the_usual_one() -> None:
    prices = ListedPrices()
    assert prices.provider("https://openrouter.ai/api/v1", "openai") == "openrouter"
    assert prices.provider("http://127.0.0.1:8080/v1", "openai") == "openai"
