"""How the line that is expected at a place is read at once; whatever is unusual about one is left to a closer look.

It takes no line that the closer look would refuse: the members around the data have to be those of the place, and
the data, decoded within the same bounds and spelled again, has to be the same bytes.
"""

import hashlib
import re
from typing import Final

from workloop.repair.ledger.chain import LINE_DOMAIN, TAIL_BYTES, Entry, Place, read_line, spelled_run
from workloop.repair.ledger.plain import is_plain, read_plain
from workloop.repair.ledger.records import VERSION

HEAD: Final = re.compile(
    rb"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z)"
    rb'","mono_ms":(0|[1-9]\d{0,14}),"type":"([a-z_]+)","data":'
)
LINK: Final = b',"prev":"%b"'
LINK_BYTES: Final = len(LINK) - 2 + 64


def read(line: bytes, place: Place | None, seq: int) -> Entry:
    """Read the line at a place; raises BrokenLineError when it is another line."""
    if place is not None and is_plain(line):
        entry = plain_entry(line, place)
        if entry is not None:
            return entry
    return read_line(line, place, seq)


def plain_entry(line: bytes, place: Place) -> Entry | None:
    """Read a line that is just as expected; None for one that wants a closer look."""
    end = len(line) - TAIL_BYTES
    around = before(place)
    head = HEAD.match(line, len(around)) if line.startswith(around) else None
    if head is None or line[end - LINK_BYTES : end] != LINK % place.prev.encode("ascii"):
        return None
    digest = hashlib.sha256(LINE_DOMAIN + line[:end]).hexdigest()
    if line[end:] != b',"hash":"%b"}' % digest.encode("ascii"):
        return None
    ts, mono_ms, name = head.groups()
    record = read_plain(name.decode("ascii"), line[head.end() : end - LINK_BYTES])
    return None if record is None else Entry(place.seq, ts.decode("ascii"), int(mono_ms), record, digest)


def before(place: Place) -> bytes:
    """Return what a line begins with at a place, up to its time."""
    return b'{"v":%d,"seq":%d,"run":%b,"ts":"' % (VERSION, place.seq, spelled_run(place.run))
