"""How a record becomes a line whose hash covers it and everything before it, and how such a line is read.

A line is one JSON object in ASCII with its members in this order: v, seq, run, ts, mono_ms, type, data (its own keys
sorted), prev, hash. `hash` is the SHA-256 of the format's name and of the raw bytes of the line before `,"hash"`;
`prev` is the hash of the line before, or for the first line a hash of the run and the inputs it was opened with.
"""

import hashlib
import json
import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple, cast

import msgspec

from workloop.domain.clock import SECOND_US, Instant, to_text
from workloop.repair.ledger.fields import WHOLE_MAX
from workloop.repair.ledger.plain import spell_plain
from workloop.repair.ledger.records import NAMES, VERSION, Record, RunOpen
from workloop.repair.ledger.schema import FieldError, data_of, record_of

LINE_HASH: Final = hashlib.sha256(b"workloop ledger 1 line\n")
GENESIS_DOMAIN: Final = b"workloop ledger 1 genesis\n"
LINE_BYTES_MAX: Final = 1 << 22
TAIL: Final = re.compile(rb',"hash":"([0-9a-f]{64})"\}\Z')
TAIL_BYTES: Final = len(b',"hash":"') + 64 + len(b'"}')
MEMBERS: Final = ("v", "seq", "run", "ts", "mono_ms", "type", "data", "prev", "hash")
TIME: Final = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z\Z")


class Reason(StrEnum):
    """What is wrong with a line, or with a ledger as a whole."""

    TORN = "torn"
    MALFORMED = "malformed"
    HASH = "hash"
    VERSION = "version"
    SEQUENCE = "sequence"
    LINK = "link"
    RUN = "run"
    SCHEMA = "schema"
    STRUCTURE = "structure"
    CUT = "cut"
    REWRITTEN = "rewritten"
    UNANCHORED = "unanchored"
    ANCHOR = "anchor"
    SIGNATURE = "signature"


class BrokenLineError(ValueError):
    """A line is not what stood there when it was written."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Place(NamedTuple):
    """Where in its chain a line stands."""

    seq: int
    run: str
    prev: str


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A line that was read: its record, where it stands, and when it was written; there is one for every line."""

    seq: int
    ts: str
    mono_ms: int
    record: Record
    hash: str


def genesis(opening: RunOpen) -> str:
    """Return what the first line links to: the run and the digests of its config and driver."""
    words = canonical([opening.run, opening.config_digest, opening.driver_digest])
    return hashlib.sha256(GENESIS_DOMAIN + words.encode("ascii")).hexdigest()


def canonical(value: object) -> str:
    """Return the one spelling of some data."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def stamp(now: Instant) -> str:
    """Write an instant in milliseconds."""
    seconds, rest_us = divmod(now, SECOND_US)
    return f"{spelled_second(seconds)}.{rest_us // 1_000:03}Z"


@lru_cache(maxsize=1)
def spelled_second(seconds: int) -> str:
    """Return a whole second as text; records come in bursts, so that it is often the last one again."""
    return to_text(Instant(seconds * SECOND_US))[: -len(".000000Z")]


@cache
def spelled_run(run: str) -> str:
    """Return a run as it stands on every line."""
    return canonical(run)


def head_of(place: Place, ts: str, mono_ms: int, name: str, data: str) -> bytes:
    """Return the bytes of a line that its hash covers."""
    where = f'"v":{VERSION},"seq":{place.seq},"run":{spelled_run(place.run)}'
    what = f'"ts":"{ts}","mono_ms":{mono_ms},"type":"{name}","data":{data}'
    return f'{{{where},{what},"prev":"{place.prev}"'.encode("ascii")


def line_of(place: Place, now: Instant, mono_ms: int, record: Record) -> tuple[bytes, str]:
    """Return a record as a line without its end, and the line's hash; raises FieldError when it cannot be one."""
    data = spell_plain(record) or canonical(data_of(record))
    head = head_of(place, stamp(now), mono_ms, NAMES[type(record)], data)
    if len(head) + TAIL_BYTES > LINE_BYTES_MAX:
        raise FieldError(f"is longer than {LINE_BYTES_MAX} bytes")
    digest = hash_of(head)
    return head + f',"hash":"{digest}"}}'.encode("ascii"), digest


def hash_of(head: bytes) -> str:
    """Return the hash of the bytes of a line before its own."""
    total = LINE_HASH.copy()
    total.update(head)
    return total.hexdigest()


def read_line(line: bytes, place: Place | None, seq: int) -> Entry:
    """Read the line at a place, or the first one of all; raises BrokenLineError when it is another line."""
    head, digest = checked_hash(line)
    members = members_of(line)
    if members["v"] != VERSION or type(members["v"]) is not int:
        raise BrokenLineError(Reason.VERSION, f"the format is not version {VERSION}")
    if type(members["seq"]) is not int or members["seq"] != seq:
        raise BrokenLineError(Reason.SEQUENCE, f"it is number {members['seq']!r} where {seq} belongs")
    record = record_in(members)
    here = place or first_place(record)
    if members["run"] != here.run:
        raise BrokenLineError(Reason.RUN, "it belongs to another run")
    if members["prev"] != here.prev:
        raise BrokenLineError(Reason.LINK, "it does not follow the line before it")
    ts, mono_ms = times_of(members)
    if head != head_of(here, ts, mono_ms, cast("str", members["type"]), canonical(members["data"])):
        raise BrokenLineError(Reason.MALFORMED, "it is not spelled as this program spells it")
    return Entry(seq, ts, mono_ms, record, digest)


def checked_hash(line: bytes) -> tuple[bytes, str]:
    """Return the bytes that the hash at a line's end covers, and that hash."""
    tail = TAIL.search(line[-TAIL_BYTES:])
    if tail is None:
        raise BrokenLineError(Reason.MALFORMED, "it does not end with its hash")
    head, digest = line[:-TAIL_BYTES], tail[1].decode("ascii")
    if hash_of(head) != digest:
        raise BrokenLineError(Reason.HASH, "its bytes are not those that its hash was made of")
    return head, digest


def members_of(line: bytes) -> dict[str, object]:
    """Return the members of a line."""
    try:
        value: object = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise BrokenLineError(Reason.MALFORMED, "it is not JSON in ASCII") from error
    if not isinstance(value, dict) or tuple(cast("dict[str, object]", value)) != MEMBERS:
        raise BrokenLineError(Reason.MALFORMED, f"its members are not {', '.join(MEMBERS)}")
    return cast("dict[str, object]", value)


def first_place(record: Record) -> Place:
    """Return where a first line stands, by what it says itself."""
    if not isinstance(record, RunOpen):
        raise BrokenLineError(Reason.STRUCTURE, "the first record does not open a run")
    return Place(seq=0, run=record.run, prev=genesis(record))


def times_of(members: dict[str, object]) -> tuple[str, int]:
    """Return when a line says that it was written."""
    ts, mono_ms = members["ts"], members["mono_ms"]
    if not isinstance(ts, str) or not TIME.match(ts):
        raise BrokenLineError(Reason.SCHEMA, "ts: is not an instant in UTC with milliseconds")
    if type(mono_ms) is not int or not 0 <= mono_ms <= WHOLE_MAX:
        raise BrokenLineError(Reason.SCHEMA, f"mono_ms: is not a whole number from 0 to {WHOLE_MAX}")
    return ts, mono_ms


def record_in(members: dict[str, object]) -> Record:
    """Return the record of a line."""
    name = members["type"]
    if not isinstance(name, str):
        raise BrokenLineError(Reason.SCHEMA, "type: is not a text")
    try:
        return record_of(name, members["data"])
    except FieldError as error:
        raise BrokenLineError(Reason.SCHEMA, str(error)) from error
