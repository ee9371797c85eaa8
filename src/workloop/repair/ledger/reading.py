"""How the line that is expected at a place is read at once; whatever is unusual about one is left to a closer look.

It takes no line that the closer look would refuse: what stands around the data has to be what belongs there, and the
data has to look, to the byte, as its type of record does when it is plain.
"""

import re
from typing import Final

from workloop.repair.ledger.chain import TAIL_BYTES, Entry, Place, hash_of, read_line, spelled_run
from workloop.repair.ledger.plain import form_of
from workloop.repair.ledger.records import VERSION

HEAD: Final = re.compile(
    r"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z)"
    r'","mono_ms":(0|[1-9][0-9]{0,14}),"type":"([a-z_]+)","data":'
)


def read(line: bytes, run: str, before: Entry | None) -> Entry:
    """Read the line after another one of a run, or the first of all; raises BrokenLineError when it is another line."""
    if before is None:
        return read_line(line, None, 0)
    entry = plain_entry(line, run, before)
    return entry if entry is not None else read_line(line, Place(before.seq + 1, run, before.hash), before.seq + 1)


def plain_entry(line: bytes, run: str, before: Entry) -> Entry | None:
    """Read a line that is just as expected; None for one that wants a closer look."""
    seq, text = before.seq + 1, line.decode("latin-1")
    around = f'{{"v":{VERSION},"seq":{seq},"run":{spelled_run(run)},"ts":"'
    head = HEAD.match(text, len(around)) if text.startswith(around) else None
    if head is None:
        return None
    ts, mono_ms, name = head.groups()
    form = form_of(name)
    data = form.looks.match(text, head.end()) if form is not None else None
    if form is None or data is None:
        return None
    digest = hash_of(line[:-TAIL_BYTES])
    if text[data.end() :] != f',"prev":"{before.hash}","hash":"{digest}"}}':
        return None
    return Entry(seq, ts, int(mono_ms), form.reader.decode(data[0]), digest)
