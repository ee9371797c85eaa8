"""Which paths the meter lets through, and what of them is paid for."""

import re
from dataclasses import dataclass
from enum import StrEnum

from workloop.runner.meter.port import Dialect, Upstream


class Family(StrEnum):
    """Whose way of speaking a URL of the meter is for."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


METERED = {
    (Family.ANTHROPIC, "/v1/messages"): Dialect.ANTHROPIC,
    (Family.OPENAI, "/v1/responses"): Dialect.RESPONSES,
    (Family.OPENAI, "/v1/responses/compact"): Dialect.RESPONSES,
    (Family.OPENAI, "/v1/chat/completions"): Dialect.CHAT,
}
FREE_POSTS = frozenset({(Family.ANTHROPIC, "/v1/messages/count_tokens")})
MODELS = re.compile(r"/v1/models(/[A-Za-z0-9][A-Za-z0-9._:@-]*)?")
KEY_MARK = "wlk-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A request's path, taken apart: family, a key if the path brings one, and the rest."""

    family: Family
    key: str
    rest: str


class Passage(StrEnum):
    """What becomes of a request for a path."""

    METERED = "metered"
    FREE = "free"
    PROBE = "probe"
    UPGRADE = "upgrade"
    CLOSED = "closed"


def address_of(path: str) -> Address | None:
    """Take a path apart; None when it does not begin with a family."""
    _, name, *rest = f"{path}//".split("/", 2)
    family = next((family for family in Family if family == name), None)
    if family is None:
        return None
    tail = f"/{rest[0]}".rstrip("/")
    first, _, behind = tail.removeprefix("/").partition("/")
    if first.startswith(KEY_MARK):
        return Address(family=family, key=first, rest=f"/{behind}" if behind else "")
    return Address(family=family, key="", rest=tail)


def passage(method: str, address: Address, *, upgrade: bool) -> Passage:
    """Say what becomes of a request; whatever could cost something uncounted is closed."""
    known = (address.family, address.rest) in METERED
    if known and upgrade:
        return Passage.UPGRADE
    if method == "POST" and known:
        return Passage.METERED
    if method == "POST" and (address.family, address.rest) in FREE_POSTS:
        return Passage.FREE
    if method == "GET" and MODELS.fullmatch(address.rest):
        return Passage.FREE
    return Passage.PROBE if method in {"GET", "HEAD"} and address.rest in {"", "/v1"} else Passage.CLOSED


def dialect_of(address: Address) -> Dialect:
    """Return the dialect of an address, or that in which its family is told what is wrong."""
    usual = Dialect.ANTHROPIC if address.family is Family.ANTHROPIC else Dialect.CHAT
    return METERED.get((address.family, address.rest), usual)


def target(upstream: Upstream, address: Address, query: str) -> str:
    """Return where a request goes on to."""
    if address.family is Family.ANTHROPIC:
        url = f"{upstream.anthropic_url.rstrip('/')}{address.rest}"
    else:
        url = f"{upstream.openai_url.rstrip('/')}{address.rest.removeprefix('/v1')}"
    return f"{url}?{query}" if query else url
