"""Whatever is done to a ledger's bytes, to what a line says or to the order of records: it is read, or refused."""

import json
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger_story import ACTIVATED, CONFIRMED, FINDING, NEW, OBSERVED, OLD, attempt, new_ledger, repair, story
from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.chain import BrokenLineError, Entry, Place, canonical, hash_of, read_line
from workloop.repair.ledger.faults import LedgerFault
from workloop.repair.ledger.reading import plain_entry
from workloop.repair.ledger.records import Activated, ActivationKind, Charged, ChargeState, Record, StopReason
from workloop.repair.ledger.schema import data_of
from workloop.repair.ledger.verifying import verify

STORY = tuple(story())
BACK = Activated(kind=ActivationKind.ROLLED_BACK, harness=OLD, previous=NEW)
POOL: tuple[Record, ...] = (
    *STORY,
    BACK,
    replace(BACK, harness=NEW, previous=OLD),
    replace(ACTIVATED, repair=2),
    replace(CONFIRMED, confirmed=False),
    replace(OBSERVED, phase="p4"),
    replace(repair("p6", 1), repair=2),
    attempt("p7", "two", 2),
    Charged(phase="p1", state=ChargeState.UNKNOWN),
    Charged(phase="p3", state=ChargeState.SETTLED, microusd=10_000_000),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=6)
    | st.sampled_from(["0" * 40, "ab" * 20, "ab" * 32, FINDING, "one", "p1", "task", "settled", "passed"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
SIGN = st.tuples(st.floats(0, 1), st.just(1), st.sampled_from([b"0", b"1", b"7", b"a", b"f", b"z"]))
EDIT = st.tuples(st.floats(0, 1), st.integers(0, 400), st.binary(max_size=40)) | SIGN
"""Where in the ledger, how many bytes go there, and what comes in their place."""
MOVE = st.tuples(st.integers(0, len(STORY) - 1), st.integers(0, 2), st.sampled_from(POOL))
"""Before which record, how many of the story are left out there, and what comes in their place."""


@contextmanager
def folder() -> Generator[Path]:
    """Make a folder for one example."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made) / "private"


@cache
def whole() -> tuple[bytes, bytes, tuple[Entry, ...]]:
    """Return the bytes of a ledger, those of its head, and what they say."""
    with folder() as place:
        ledger = new_ledger(place / "run.jsonl")
        for record in STORY:
            ledger.append(record)
        ledger.stop(StopReason.QUEUE_COMPLETE)
        return ledger.path.read_bytes(), anchor_path(ledger.path).read_bytes(), verify(ledger.path).entries


@settings(max_examples=150, deadline=None)
@given(st.lists(EDIT, min_size=1, max_size=3))
def test_any_edit_is_found_and_what_is_still_believed_was_written(edits: Sequence[tuple[float, int, bytes]]) -> None:
    told, head, entries = whole()
    edited = told
    for where, gone, new in edits:
        at = round(where * len(edited))
        edited = edited[:at] + new + edited[at + gone :]
    with folder() as place:
        place.mkdir()
        (place / "run.jsonl").write_bytes(edited)
        anchor_path(place / "run.jsonl").write_bytes(head)
        found = verify(place / "run.jsonl")
    assert found.whole is (edited == told)
    assert found.entries == entries[: found.good_prefix]


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(1, len(STORY)))
def test_a_line_that_says_anything_at_all_is_read_as_it_is_or_refused(data: st.DataObject, number: int) -> None:
    """A forger can make the hash and the link of a line fit whatever it says."""
    told, _, entries = whole()
    before = entries[number - 1]
    members = json.loads(told.splitlines()[number])
    name = data.draw(st.sampled_from(sorted(set(members) - {"hash"})))
    if name == "data":
        field = data.draw(st.sampled_from([*sorted(members["data"]), "other"]))
        members["data"][field] = data.draw(JSON)
    else:
        members[name] = data.draw(JSON)
    line = spelled(members)
    for found in (plain_entry(line, "run-1", before), closer(line, before)):
        if found is not None:
            assert canonical(data_of(found.record)) == canonical(members["data"])
            assert (found.seq, found.ts, found.mono_ms) == (number, members["ts"], members["mono_ms"])


def spelled(members: dict[str, Any]) -> bytes:
    """Spell a line with the hash that belongs to it."""
    head = "{" + ",".join(f'"{name}":{canonical(members[name])}' for name in members if name != "hash")
    return head.encode("ascii") + f',"hash":"{hash_of(head.encode("ascii"))}"}}'.encode("ascii")


def closer(line: bytes, before: Entry) -> Entry | None:
    """Return what a closer look makes of a line, if it takes it."""
    try:
        return read_line(line, Place(before.seq + 1, "run-1", before.hash), before.seq + 1)
    except BrokenLineError:
        return None


@settings(max_examples=60, deadline=None)
@given(st.lists(MOVE, max_size=4))
def test_whatever_a_writer_takes_in_whatever_order_its_reader_takes(moves: Sequence[tuple[int, int, Record]]) -> None:
    """The rest is refused and leaves no trace; at its end the run can be closed."""
    records = list(STORY)
    for at, gone, new in moves:
        records[at : at + gone] = [new]
    with folder() as place:
        ledger = new_ledger(place / "run.jsonl")
        taken = [record for record in records if accepted(ledger.append, record)]
        standing = ledger.standing()
        ledger.stop(StopReason.SUPERVISOR_ERROR)
        found = verify(ledger.path)
    assert found.first_bad is None
    assert [entry.record for entry in found.entries[1:-1]] == taken
    assert found.standing == standing


def accepted(append: Any, record: Record) -> bool:
    """Tell whether a record was taken; whatever was not contradicts those before it."""
    try:
        append(record)
    except LedgerFault as fault:
        if fault.code != "LEDGER_CONTRADICTED":
            raise
        return False
    return True
