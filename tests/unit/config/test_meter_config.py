"""What the settings say of the meter, and what they may not say."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from workloop.config.harnesses import HarnessKind, read_harness
from workloop.config.meter import MeterConfig, Metering, ModelPrice, read_meter, read_metering
from workloop.domain.errors import BadRequest
from workloop.wiring.metering import own_prices, proxies_in, upstream_of

HERE = Path("/settings")


def test_agent_without_the_table_is_left_alone() -> None:
    assert read_metering(None, "meter") is None
    assert read_harness({}, "harness.claude", "claude", HERE).meter is None


def test_key_is_read_from_a_private_file_and_is_in_no_text(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-secret\n")
    file.chmod(0o600)
    metering = read_metering({"key": f"@{file}", "openai_url": "https://o.example/v1"}, "meter")
    assert metering is not None
    assert metering == Metering(key=f"@{file}", openai_url="https://o.example/v1")
    upstream = upstream_of("codex", metering)
    assert (upstream.api_key, upstream.openai_url, upstream.subscription) == (
        "sk-secret",
        "https://o.example/v1",
        False,
    )
    assert upstream.anthropic_url == "https://api.anthropic.com"
    assert "sk-secret" not in str(upstream)


def test_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-secret")
    file.chmod(0o644)
    with pytest.raises(BadRequest, match="open to others"):
        upstream_of("codex", Metering(key=f"@{file}"))


def test_login_of_the_agent_s_own_costs_no_money() -> None:
    metering = read_metering({"login": True}, "meter")
    assert metering is not None
    upstream = upstream_of("claude", metering)
    assert (upstream.api_key, upstream.subscription) == (None, True)


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"login": True, "key": "@/key"},
        {"key": "sk-in-the-settings"},
        {"key": "@/key", "openai_url": "o.example"},
        {"key": "@/key", "openai_url": "ftp://o.example"},
        {"key": "@/key", "openai_url": "https://user:word@o.example"},
        {"key": "@/key", "url": "https://o.example"},
    ],
)
def test_table_that_could_not_be_meant_is_refused(table: Mapping[str, Any]) -> None:
    with pytest.raises(BadRequest):
        read_metering(dict(table), "harness.x.meter")


@pytest.mark.parametrize("kind", ["copilot", "qwen", "opencode"])
def test_login_that_cannot_go_through_is_refused_by_name(kind: str) -> None:
    with pytest.raises(BadRequest, match=r"harness\.x\.meter\.login"):
        read_harness({"kind": kind, "meter": {"login": True}}, "harness.x", "x", HERE)
    assert read_harness({"kind": kind, "meter": {"key": "@/key"}}, "harness.x", "x", HERE).meter is not None


def test_scripted_agent_has_nothing_to_meter() -> None:
    with pytest.raises(BadRequest, match=r"harness\.x\.meter"):
        read_harness({"kind": HarnessKind.SCRIPTED, "meter": {"key": "@/key"}}, "harness.x", "x", HERE)


def test_prices_are_dollars_for_a_million_tokens() -> None:
    assert read_meter(None) == MeterConfig()
    config = read_meter({"prices": {"llama": {"input_usd": 0, "output_usd": 0.25, "cache_read_usd": 0.01}}})
    assert config.prices == {"llama": ModelPrice(input=0, output=250_000, cache_read=10_000)}
    own = own_prices(config)["llama"]
    assert (own.input, own.output, own.cache_read, own.cache_write) == (0, 250_000, 10_000, None)


@pytest.mark.parametrize(
    "price", [{}, {"input_usd": 1}, {"input_usd": -1, "output_usd": 1}, {"input_usd": 1, "output_usd": 1, "x": 1}]
)
def test_price_that_leaves_something_open_is_refused(price: Mapping[str, Any]) -> None:
    with pytest.raises(BadRequest):
        read_meter({"prices": {"m": dict(price)}})


def test_proxies_are_those_of_the_environment() -> None:
    assert proxies_in({"HTTPS_PROXY": "http://p:1", "no_proxy": "a.example", "PATH": "x"}) == {
        "https": "http://p:1",
        "no": "a.example",
    }
