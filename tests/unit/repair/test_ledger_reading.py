"""What is read of a ledger at once is what a closer look reads, to the byte, and never more than that."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger_story import whole_ledger
from workloop.domain.clock import from_text
from workloop.repair.ledger.chain import BrokenLineError, Entry, Place, hash_of, read_line, stamp
from workloop.repair.ledger.fields import ENTRIES_MAX, NAME_CHARACTERS_MAX, TEXT_CHARACTERS_MAX, WHOLE_MAX
from workloop.repair.ledger.plain import form_of, spell_plain
from workloop.repair.ledger.reading import plain_entry
from workloop.repair.ledger.records import Charged, ChargeState, Confirmed, EvidenceKept, Judged, Note, VerdictKind
from workloop.repair.ledger.schema import FieldError, record_of
from workloop.repair.ledger.verifying import verify

RUN = "run-1"
SHA = "ab" * 20
DIGEST = "cd" * 32
WHOLE: dict[str, dict[str, object]] = {
    "note": {"topic": "t", "text": "", "phase": None},
    "charge": {"phase": "p", "state": "settled", "microusd": 1, "basis": ""},
    "confirmation": {"fingerprint": DIGEST, "confirmed": False, "reason": "", "reproducer": None, "evidence": []},
    "task_outcome": {
        "task": "one",
        "end": "accepted",
        "attempts": 1,
        "harness": {"commit": SHA, "runtime_id": "r"},
        "commit": SHA,
        "detail": "",
    },
}


def closer(line: bytes, before: Entry) -> Entry | None:
    """Return what a closer look makes of a line."""
    try:
        return read_line(line, Place(before.seq + 1, RUN, before.hash), before.seq + 1)
    except BrokenLineError:
        return None


def forged(line: bytes, position: int, byte: int) -> bytes:
    """Return a line with another byte, and the hash that belongs to it."""
    head = line[: line.rindex(b',"hash"')]
    head = head[:position] + bytes([byte]) + head[position + 1 :]
    return b'%b,"hash":"%b"}' % (head, hash_of(head).encode())


def test_what_is_read_at_once_is_what_a_closer_look_reads(tmp_path: Path) -> None:
    whole_ledger(tmp_path / "private" / "run.jsonl")
    lines = (tmp_path / "private" / "run.jsonl").read_bytes().splitlines()
    entries = verify(tmp_path / "private" / "run.jsonl").entries
    at_once = 0
    for before, entry in pairwise(entries):
        found = plain_entry(lines[entry.seq], RUN, before)
        assert found in (None, entry)
        assert closer(lines[entry.seq], before) == entry
        at_once += found is not None
    assert at_once == len(lines) - 2, "all but the first, and one with a sign that is escaped"


def test_no_forged_line_is_read_at_once_that_a_closer_look_refuses(tmp_path: Path) -> None:
    """A forger can make the hash of a line fit whatever it says."""
    whole_ledger(tmp_path / "private" / "run.jsonl")
    lines = (tmp_path / "private" / "run.jsonl").read_bytes().splitlines()
    entries = verify(tmp_path / "private" / "run.jsonl").entries
    taken = 0
    for before, entry in pairwise(entries):
        line = lines[entry.seq]
        for position in range(line.rindex(b',"hash"')):
            for byte in (line[position] ^ 0x01, line[position] ^ 0x80, ord('"'), ord(" "), ord("0")):
                other = forged(line, position, byte)
                found = plain_entry(other, RUN, before)
                assert found is None or found == closer(other, before), other
                taken += found is not None
    assert taken > 100, "some bytes may be others: those of a text, or the digits of a time"


@given(st.text(max_size=300) | st.text(' !~"\\\x7f\x00é', max_size=4))
@example("")
@example(" ")
@example("~" * NAME_CHARACTERS_MAX)
@example("~" * (NAME_CHARACTERS_MAX + 1))
@example("~" * TEXT_CHARACTERS_MAX)
@example("~" * (TEXT_CHARACTERS_MAX + 1))
@example("0" * 40)
@example("0" * 63 + "1")
@example(SHA)
@example(DIGEST)
@example(DIGEST[:-1] + "\n")
@example(SHA.upper())
def test_a_word_is_plain_only_where_it_is_allowed(word: str) -> None:
    for name, data in WHOLE.items():
        for field, value in data.items():
            same_as_allowed(name, {**data, field: [word] if isinstance(value, list) else word})


def same_as_allowed(name: str, data: dict[str, object]) -> None:
    """Hold that data looks plain only if it is allowed, and always if it is and holds no sign that is escaped."""
    form = form_of(name)
    assert form is not None
    spelt = json.dumps(data, sort_keys=True, separators=(",", ":"))
    looks = form.looks.fullmatch(spelt) is not None
    try:
        record = record_of(name, data)
    except FieldError:
        assert not looks, spelt
        return
    assert looks is ("\\" not in spelt and "\x7f" not in spelt), spelt
    if looks:
        assert form.reader.decode(spelt) == record
        assert spell_plain(record) == spelt


@pytest.mark.parametrize(("number", "plain"), [(0, True), (10**15 - 1, True), (10**15, False), (WHOLE_MAX, False)])
def test_a_number_that_may_be_too_large_is_looked_at_closely(number: int, *, plain: bool) -> None:
    record = EvidenceKept(phase="p", name="n", digest=DIGEST, size_bytes=number)
    assert (spell_plain(record) is not None) is plain


@pytest.mark.parametrize("number", [-1, 1.0, True])
def test_a_number_that_is_none_is_never_plain(number: int) -> None:
    assert spell_plain(Charged(phase="p", state=ChargeState.SETTLED, microusd=number)) is None


def test_a_list_is_plain_up_to_its_longest() -> None:
    most = Confirmed(fingerprint=DIGEST, confirmed=True, evidence=(DIGEST,) * ENTRIES_MAX)
    assert spell_plain(most) is not None
    assert spell_plain(Confirmed(fingerprint=DIGEST, confirmed=True, evidence=(DIGEST,) * (ENTRIES_MAX + 1))) is None


def test_what_is_no_type_of_record_has_no_form() -> None:
    assert form_of("notes") is None


def test_a_record_that_cannot_be_spelled_at_all_is_looked_at_closely() -> None:
    assert spell_plain(Note(topic="t", text="\ud800")) is None
    assert spell_plain(Judged(kind=VerdictKind.ACCEPTANCE, commit=SHA, passed=True, runs=2**70)) is None


@pytest.mark.parametrize(
    ("instant", "told"),
    [
        ("2026-11-30T08:00:00.999999Z", "2026-11-30T08:00:00.999Z"),
        ("2026-11-30T08:00:01Z", "2026-11-30T08:00:01.000Z"),
        ("2026-11-30T08:00:00.001Z", "2026-11-30T08:00:00.001Z"),
        ("1999-12-31T23:59:59.9995Z", "1999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_told_in_whole_milliseconds(instant: str, told: str) -> None:
    assert stamp(from_text(instant)) == told
