"""A tariff multiplies to the very figure that the list of prices would give."""

from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.domain.clock import Instant, from_text
from workloop.domain.session import Tokens
from workloop.runner.meter.prices import ListedPrices, listed_price, moment_of
from workloop.runner.meter.tariffs import LONG_CACHED, Tariffs, entry_of
from workloop.runner.meter.usage import Counted

AT = from_text("2026-11-29T00:00:00Z")
PRICES = ListedPrices()
# Imported by name, because a type checker takes minutes over its literal.
PROVIDERS = import_module("genai_prices.data").providers
MODELS = [(provider.id, model.id) for provider in PROVIDERS for model in provider.models]
COUNTS = st.one_of(st.integers(min_value=0, max_value=3), st.integers(min_value=0, max_value=600_000))
CONTEXTS = st.sampled_from(
    [{}, *({"service_tier": tier} for tier in ("default", "priority", "flex")), {"speed": "fast"}]
)


@given(
    st.sampled_from(MODELS),
    st.tuples(COUNTS, COUNTS, COUNTS, COUNTS),
    st.dictionaries(st.sampled_from([LONG_CACHED, "web_searches"]), st.integers(min_value=1, max_value=5)),
    CONTEXTS,
    st.integers(min_value=0, max_value=3 * 365 * 86_400_000_000),
)
def test_price_is_the_one_that_the_list_itself_would_give(
    named: tuple[str, str],
    tokens: tuple[int, int, int, int],
    extras: dict[str, int],
    context: dict[str, str],
    before_us: int,
) -> None:
    counted, at = Counted(tokens=Tokens(*tokens), extras=extras, context=context), Instant(AT - before_us)
    assert PRICES.listed(*named, counted, at) == listed_price(*named, counted, at)


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5.5")])
@pytest.mark.parametrize("size", [199_999, 200_000, 200_001, 272_000, 272_001, 900_000])
def test_range_of_sizes_begins_where_the_list_has_it(provider: str, model: str, size: int) -> None:
    counted = Counted(tokens=Tokens(size - 2, 5, 1, 1))
    assert PRICES.listed(provider, model, counted, AT) == listed_price(provider, model, counted, AT)


def test_list_is_asked_once_for_a_model_and_not_for_each_answer() -> None:
    tariffs, entry = Tariffs(), entry_of("anthropic", "claude-sonnet-4-5")
    assert entry is not None
    costs = [tariffs.cost(entry, Counted(tokens=Tokens(count, 1)), moment_of(AT)) for count in range(20)]
    assert None not in costs
    assert len(tariffs.known) == 1


def test_more_kept_for_an_hour_than_was_written_is_left_to_the_list() -> None:
    entry = entry_of("anthropic", "claude-sonnet-4-5")
    assert entry is not None
    odd = Counted(tokens=Tokens(9, 9, 0, 1), extras={LONG_CACHED: 2})
    assert Tariffs().cost(entry, odd, moment_of(AT)) is None
