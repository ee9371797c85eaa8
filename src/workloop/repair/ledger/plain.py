"""Records that are spelled in printable ASCII without any escape, which nearly all are, and so in one way at once.

What is not such a record is left to a closer look, and so is one that may be out of bounds.
"""

from functools import cache
from typing import Final

import msgspec

from workloop.repair.ledger.records import NAMES, TYPES, Record

PLAIN_BYTES_MAX: Final = 20_000
"""A longer line may hold a list that is too long."""
SPELLING: Final = msgspec.json.Encoder(order="sorted")


def is_plain(spelt: bytes) -> bool:
    """Tell whether some bytes hold no escape, nothing unprinted, and no long list."""
    return len(spelt) <= PLAIN_BYTES_MAX and b"\\" not in spelt and b"\x7f" not in spelt and spelt.isascii()


def spell_plain(record: Record) -> bytes | None:
    """Return the one spelling of a record that is plain and within every bound; None when it wants a closer look."""
    try:
        spelt = SPELLING.encode(record)
    except (TypeError, ValueError, OverflowError):
        return None
    read = read_plain(NAMES[type(record)], spelt) if is_plain(spelt) else None
    return spelt if read == record else None


def read_plain(name: str, spelt: bytes) -> Record | None:
    """Read the data of a record that is plain; None when it wants a closer look."""
    if name not in TYPES:
        return None
    try:
        record = decoder(name).decode(spelt)
    except msgspec.DecodeError:
        return None
    return record if SPELLING.encode(record) == spelt else None


@cache
def decoder(name: str) -> "msgspec.json.Decoder[Record]":
    """Return what decodes one type of record."""
    return msgspec.json.Decoder(TYPES[name])
