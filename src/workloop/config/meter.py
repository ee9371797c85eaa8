"""Which agents' model calls go through the meter, whose key pays for them, and prices of the operator's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from workloop.config.budgets import DOLLARS_MAX
from workloop.domain.reader import Json, Reader, bad
from workloop.domain.units import MICROS

FILE_MARK = "@"  # a marker in front of a path


@dataclass(frozen=True, slots=True, kw_only=True)
class Metering:
    """How one agent's calls are metered: with a key out of a private file, or by the agent's own login.

    A URL that is empty is the provider's usual one.
    """

    key: str = ""
    login: bool = False
    anthropic_url: str = ""
    openai_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """What a million tokens of a model cost, in micro-dollars; a part of the cache that names none costs as input."""

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterConfig:
    """The meter as a whole: the operator's prices by model, and how long a provider may stay silent within a call."""

    prices: Mapping[str, ModelPrice] = field(default_factory=dict[str, ModelPrice])
    idle_seconds: float = 900.0


def read_metering(value: Json, path: str) -> Metering | None:
    """Read how one agent is metered; nothing leaves it alone."""
    if value is None:
        return None
    reader = Reader(value, path)
    found = Metering(
        key=reader.text("key"),
        login=reader.flag("login"),
        anthropic_url=read_url(reader, "anthropic_url"),
        openai_url=read_url(reader, "openai_url"),
    )
    reader.done()
    if bool(found.key) is found.login:
        raise bad(path, "needs either a key or login = true", hint='for example key = "@~/.keys/provider"')
    if found.key and not found.key.startswith(FILE_MARK):
        hint = 'put it into a file of mode 600 and write key = "@/path"'
        raise bad(f"{path}.key", "is a secret, which does not belong into settings", hint=hint)
    return found


def read_url(reader: Reader, name: str) -> str:
    """Read where a provider is; raises BadRequest for anything but a plain URL."""
    text = reader.text(name)
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.username):
        raise bad(reader.at(name), "expected a URL such as https://api.example.com/v1")
    return text


def read_meter(value: Json) -> MeterConfig:
    """Read the meter's own table."""
    reader, usual = Reader({} if value is None else value, "meter"), MeterConfig()
    table = Reader(reader.take("prices") or {}, "meter.prices")
    config = MeterConfig(
        prices={model: read_price(table.take(model), table.at(model)) for model in table.values},
        idle_seconds=reader.number("idle_seconds", default=usual.idle_seconds, lowest=1.0, highest=86_400.0),
    )
    table.done()
    reader.done()
    return config


def read_price(value: Json, path: str) -> ModelPrice:
    """Read one model's price, in dollars for a million tokens."""
    reader = Reader(value, path)
    price = ModelPrice(
        input=micros(reader, "input_usd"),
        output=micros(reader, "output_usd"),
        cache_read=micros(reader, "cache_read_usd") if "cache_read_usd" in reader.values else None,
        cache_write=micros(reader, "cache_write_usd") if "cache_write_usd" in reader.values else None,
    )
    reader.done()
    return price


def micros(reader: Reader, name: str) -> int:
    """Read an amount of dollars, which has to be there."""
    if name not in reader.values:
        raise bad(reader.at(name), "is required", hint="write 0 for a model that costs nothing")
    return round(reader.number(name, default=0.0, lowest=0.0, highest=DOLLARS_MAX) * MICROS)
