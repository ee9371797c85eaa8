"""How things are named: time-ordered ids, item keys, derived follow-up keys."""

import re
import unicodedata
from typing import NewType, Protocol

from workloop.domain.clock import Instant
from workloop.domain.errors import BadRequest

ItemId = NewType("ItemId", int)
CampaignId = NewType("CampaignId", int)
Fence = NewType("Fence", int)
EventId = NewType("EventId", int)

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ID_TEXT_LENGTH = 13
RANDOM_BITS = 22
KEY_CHARACTERS_MAX = 200
FOLLOW_UP = re.compile(r"~(?:v|r|again|g)[0-9]+$")
SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}$")


class IdSource(Protocol):
    """Where unpredictable numbers come from; injected, so that a run can be repeated."""

    def bits(self, count: int) -> int:
        """Return a number of count random bits."""
        ...


def first_id(now: Instant, source: IdSource) -> ItemId:
    """Return a time-ordered 63-bit id; a batch takes this one and those that follow."""
    return ItemId(((now // 1000) << RANDOM_BITS) | source.bits(RANDOM_BITS))


def id_text(number: int) -> str:
    """Write an id as 13 characters of Crockford base 32, which sort as the numbers do."""
    digits: list[str] = []
    for _ in range(ID_TEXT_LENGTH):
        number, digit = divmod(number, 32)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def id_number(text: str) -> int:
    """Read what id_text wrote; raises ValueError for anything else."""
    if len(text) != ID_TEXT_LENGTH:
        raise ValueError(f"an id has {ID_TEXT_LENGTH} characters")
    number = 0
    for character in text:
        number = number * 32 + ALPHABET.index(character)
    return number


def spelling(raw: str) -> str:
    """Return a key as the store spells it: NFC, trimmed."""
    return unicodedata.normalize("NFC", raw.strip())


def normal_key(raw: str) -> str:
    """Return the canonical spelling of a key: NFC, trimmed, no white space or control characters inside."""
    key = spelling(raw)
    if not key:
        raise BadRequest("BAD_REQUEST", "key is empty", hint="give the item a stable key", field="key")
    if len(key) > KEY_CHARACTERS_MAX:
        raise BadRequest(
            "BAD_REQUEST", f"key is longer than {KEY_CHARACTERS_MAX} characters", hint="shorten it", field="key"
        )
    if " " in key or not key.isprintable():  # every other kind of white space is not printable
        raise BadRequest(
            "BAD_REQUEST",
            f"key {key!r} contains white space or control characters",
            hint="use letters, digits and punctuation such as - : / .",
            field="key",
        )
    return key


def own_key(raw: str) -> str:
    """Return the canonical spelling of a key that a caller chose; derived endings are the service's own."""
    key = normal_key(raw)
    if "~" in key and FOLLOW_UP.search(key):
        raise BadRequest(
            "KEY_RESERVED",
            f"key {key!r} ends like a follow-up's",
            hint="endings such as ~v1, ~r1, ~again1 and ~g1 are made by the service",
            field="key",
        )
    return key


def slug(text: str, length_max: int = 40) -> str:
    """Return a short ASCII name for branches and files, or an empty text when nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    return words[:length_max].rstrip("-")


def campaign_slug(text: str) -> str:
    """Check a campaign's name: lower-case letters, digits, dot, dash, underscore; at most 63."""
    if not SLUG.match(text):
        raise BadRequest(
            "BAD_REQUEST",
            f"campaign {text!r} is not a valid name",
            hint="use lower-case letters, digits, '.', '-' and '_', beginning with a letter or digit",
            field="campaign",
        )
    return text


def follow_up_key(root_key: str, letter: str, number: int) -> str:
    """Derive a follow-up's key, so that a replay can never make two."""
    return f"{root_key}~{letter}{number}"
