"""Whatever is done to a ledger after it was written is found, and named by its line."""

import json
import os
import shutil
from io import FileIO
from pathlib import Path

import pytest

from ledger_story import OPENING, new_ledger, story, whole_ledger, write
from workloop.repair.ledger.anchor import ANCHOR_BYTES, anchor_path
from workloop.repair.ledger.chain import Reason, hash_of
from workloop.repair.ledger.records import NAMES, StopReason
from workloop.repair.ledger.verifying import AnchorState, Verification, verify

COUNT = len(list(story())) + 2


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Return a whole ledger."""
    path = tmp_path / "private" / "run.jsonl"
    whole_ledger(path)
    return path


def changed(path: Path, lines: list[bytes]) -> Verification:
    """Put other lines into a ledger, as anybody who may write there can, and verify it."""
    path.write_bytes(b"".join(lines))
    return verify(path)


def lines_in(path: Path) -> list[bytes]:
    """Return the lines of a ledger with their ends."""
    return path.read_bytes().splitlines(keepends=True)


def test_a_ledger_that_nobody_touched_is_whole_and_has_every_type_of_record(ledger: Path) -> None:
    found = verify(ledger)
    assert (found.whole, found.good_prefix, found.open_phases) == (True, COUNT, ())
    assert found.anchor is AnchorState.MATCHES
    assert {NAMES[type(entry.record)] for entry in found.entries} == set(NAMES.values())
    assert found.close is not None
    assert found.close.reason is StopReason.QUEUE_COMPLETE
    assert ledger.read_bytes().isascii()


def test_every_byte_that_is_changed_is_found_and_named_by_its_line(tmp_path: Path) -> None:
    """M18: the chain is over raw bytes, so there is no byte that does not count."""
    path = tmp_path / "private" / "run.jsonl"
    write(path, list(story())[:3]).stop(StopReason.SIGTERM)
    change_every_byte(path, lines=5)


@pytest.mark.slow
def test_every_byte_of_records_of_every_type_counts(ledger: Path) -> None:
    """M18: the same over a whole run."""
    change_every_byte(ledger, lines=COUNT)


def change_every_byte(path: Path, lines: int) -> None:
    """Change each byte of a ledger in turn, and see its line named."""
    line = 1
    with path.open("r+b", buffering=0) as stream:
        for position, byte in enumerate(path.read_bytes()):
            put(stream, position, byte ^ (0x01, 0x20, 0x80)[position % 3])
            found = verify(path)
            assert found.first_bad is not None, position
            assert (found.first_bad.line, found.good_prefix) == (line, line - 1), position
            put(stream, position, byte)
            line += byte == ord("\n")
    assert line == lines + 1
    assert verify(path).whole is True


def put(stream: FileIO, position: int, byte: int) -> None:
    """Change one byte of a file where it lies."""
    stream.seek(position)
    stream.write(bytes([byte]))


def test_every_record_that_is_dropped_is_found(ledger: Path) -> None:
    lines = lines_in(ledger)
    for number in range(COUNT - 1):
        found = changed(ledger, lines[:number] + lines[number + 1 :])
        assert found.first_bad is not None
        assert found.first_bad.line == number + 1
        assert found.first_bad.reason in (Reason.SEQUENCE, Reason.STRUCTURE)


def test_records_in_another_order_are_found(ledger: Path) -> None:
    lines = lines_in(ledger)
    for number in range(COUNT - 1):
        swapped = [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]
        found = changed(ledger, swapped)
        assert found.first_bad is not None
        assert found.first_bad.line == number + 1


def test_a_record_that_stands_twice_is_found(ledger: Path) -> None:
    lines = lines_in(ledger)
    for number in range(COUNT):
        found = changed(ledger, [*lines[: number + 1], *lines[number:]])
        assert found.first_bad is not None
        assert found.first_bad.line == number + 2


def test_a_record_of_another_run_is_found(ledger: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "run.jsonl"
    whole_ledger(other)
    lines = lines_in(ledger)
    for number, strange in enumerate(lines_in(other)):
        strange = strange.replace(b'"run":"run-1"', b'"run":"run-2"')
        head = strange[: strange.rindex(b',"hash"')]
        found = changed(ledger, [*lines[:number], head + b',"hash":"%b"}\n' % hash_of(head).encode(), *lines[number:]])
        assert found.first_bad is not None
        assert found.first_bad.line == number + 1


def test_a_record_put_in_the_place_of_another_is_found_by_the_line_after_it(ledger: Path) -> None:
    """A forger can make a hash fit its own line, but not the link of a line that was written after it."""
    lines = lines_in(ledger)
    for number in range(1, COUNT - 1):
        assert b'T08:00:00.000Z"' in lines[number]
        head = lines[number][: lines[number].rindex(b',"hash"')].replace(b"T08:00:00.000Z", b"T09:00:00.000Z")
        forged = head + b',"hash":"%b"}\n' % hash_of(head).encode()
        found = changed(ledger, [*lines[:number], forged, *lines[number + 1 :]])
        assert found.first_bad is not None
        assert (found.first_bad.line, found.first_bad.reason) == (number + 2, Reason.LINK)
        assert found.good_prefix == number + 1


def test_every_cut_of_the_end_is_found_by_the_head_outside(ledger: Path, tmp_path: Path) -> None:
    """M18: a chain alone cannot know that it went on."""
    lines = lines_in(ledger)
    for kept in range(COUNT - 1, 0, -1):
        found = changed(ledger, lines[:kept])
        assert found.first_bad is not None
        assert (found.first_bad.line, found.first_bad.reason) == (kept + 1, Reason.CUT)
        assert found.anchor is AnchorState.CONTRADICTS
        assert verify(ledger, anchor=tmp_path / "none", anchored=False).whole is True


def test_a_cut_inside_a_line_is_found(ledger: Path) -> None:
    whole = ledger.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for size in range(len(whole) - 1, last, -7):
        os.truncate(ledger, size)
        found = verify(ledger)
        assert found.first_bad is not None
        assert (found.first_bad.line, found.first_bad.reason) == (COUNT, Reason.TORN)


def test_a_ledger_that_was_written_anew_is_found_by_the_head_outside(ledger: Path, tmp_path: Path) -> None:
    """Whoever can write the file can make a chain that is whole in itself."""
    other = tmp_path / "other" / "run.jsonl"
    forged = new_ledger(other)
    for record in list(story())[:-5]:
        forged.append(record)
    forged.stop(StopReason.SPEND_LIMIT)
    assert verify(other).whole is True
    for extra in (0, 5):
        ledger.write_bytes(other.read_bytes() + b"".join(lines_in(ledger)[COUNT - extra :]))
        found = verify(ledger)
        assert found.first_bad is not None
    kept_elsewhere = tmp_path / "elsewhere"
    shutil.copy(anchor_path(ledger), kept_elsewhere)
    shutil.copy(other, ledger)
    shutil.copy(anchor_path(other), anchor_path(ledger))
    assert verify(ledger).whole is True
    found = verify(ledger, anchor=kept_elsewhere)
    assert found.first_bad is not None
    assert found.first_bad.reason in (Reason.REWRITTEN, Reason.CUT)


def test_a_ledger_of_the_same_length_that_was_written_anew_is_found(ledger: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "run.jsonl"
    forged = new_ledger(other)
    for record in story():
        forged.append(record)
    forged.stop(StopReason.QUEUE_COMPLETE, "honestly")
    head = verify(ledger).head
    shutil.copy(other, ledger)
    found = verify(ledger)
    assert found.first_bad is not None
    assert (found.first_bad.line, found.first_bad.reason, found.good_prefix) == (1, Reason.REWRITTEN, 0)
    shutil.copy(anchor_path(other), anchor_path(ledger))
    assert verify(ledger).whole is True
    assert verify(ledger, head=head).whole is False


def test_records_after_the_head_outside_are_not_believed(ledger: Path, tmp_path: Path) -> None:
    """A killed run leaves at most one record that its head does not cover."""
    path = tmp_path / "open" / "run.jsonl"
    growing = new_ledger(path)
    anchors = [anchor_path(path).read_bytes()]
    for record in story():
        growing.append(record)
        anchors.append(anchor_path(path).read_bytes())
    count = len(anchors)
    for records, anchor in enumerate(anchors, 1):
        anchor_path(path).write_bytes(anchor)
        found = verify(path)
        match count - records:
            case 0:
                assert (found.whole, found.anchor) == (True, AnchorState.MATCHES)
            case 1:
                assert (found.whole, found.anchor) == (True, AnchorState.BEHIND)
            case _:
                assert found.first_bad is not None
                assert (found.first_bad.line, found.first_bad.reason) == (records + 1, Reason.UNANCHORED)
                assert found.good_prefix == records
    growing.release()


def test_every_byte_of_the_head_outside_counts(ledger: Path) -> None:
    where = anchor_path(ledger)
    whole = where.read_bytes()
    assert len(whole) == ANCHOR_BYTES
    with where.open("r+b", buffering=0) as stream:
        for position, byte in enumerate(whole):
            put(stream, position, byte ^ 0x01)
            assert verify(ledger).whole is False, position
            put(stream, position, byte)
    os.truncate(where, ANCHOR_BYTES - 1)
    assert verify(ledger).whole is False


def test_a_missing_head_is_a_break_unless_one_asks_for_less(ledger: Path) -> None:
    anchor_path(ledger).unlink()
    found = verify(ledger)
    assert (found.whole, found.anchor, found.good_prefix) == (False, AnchorState.MISSING, COUNT)
    assert verify(ledger, anchored=False).whole is True


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"v":1', b'"v":2'),
        (b'"v":1', b'"v":true'),
        (b'"v":1,', b'"v":1, '),
        (b'"seq":0', b'"seq":0.0'),
        (b'"mono_ms":0', b'"mono_ms":-1'),
        (b'"max_tasks":2', b'"max_tasks":2,"max_tasks":2'),
        (b'"max_tasks":2', b'"max_tasks":2.5'),
        (b'"max_tasks":2', b'"max_tasks":NaN'),
        (b'"max_tasks":2', b'"max_tasks":"2"'),
        (b'"max_tasks":2', b'"max_tasks":true'),
        (b'"max_tasks":2', b'"max_tasks":null'),
        (b'"max_tasks":2', b'"max_task":2'),
        (b'"tasks":["one","two"]', b'"tasks":["one","one"]'),
        (b'"tasks":["one","two"]', b'"tasks":[]'),
        (b'"tasks":["one","two"]', b'"tasks":["one","\\ud800"]'),
        (b'"tasks":["one","two"]', b'"tasks":["one","t\\u0077o"]'),
        (b'"tasks":["one","two"]', b'"tasks":["one"," "]'),
        (b'"version":"1.2.3"', b'"version":"1\\n"'),
        (b'"type":"run_open"', b'"type":"run_opened"'),
        (b'"type":"run_open"', b'"type":7'),
        (b'"run":"run-1","ts"', b'"run":"run-2","ts"'),
        (b'"config_digest":"0', b'"config_digest":"1'),
        (b'"driver_digest":"0', b'"driver_digest":"1'),
        (b"T08:00:00.000Z", b"T24:00:00.000Z"),
        (b"T08:00:00.000Z", b"T08:00:00Z"),
    ],
)
def test_a_line_with_a_hash_of_its_own_is_read_strictly(ledger: Path, old: bytes, new: bytes) -> None:
    """A forger can always make the hash of a line fit its bytes."""
    lines = lines_in(ledger)
    head = lines[0][: lines[0].rindex(b',"hash"')]
    assert old in head
    forged = head.replace(old, new, 1)
    found = changed(ledger, [forged + b',"hash":"%b"}\n' % hash_of(forged).encode(), *lines[1:]])
    assert found.first_bad is not None
    assert (found.first_bad.line, found.good_prefix) == (1, 0)
    assert found.first_bad.reason is not Reason.HASH


def test_the_first_line_is_bound_to_the_digests_of_config_and_driver(ledger: Path) -> None:
    first = json.loads(lines_in(ledger)[0])
    assert first["data"]["config_digest"] == OPENING.config_digest
    assert first["data"]["driver_digest"] == OPENING.driver_digest
    assert list(first)[-1] == "hash"
