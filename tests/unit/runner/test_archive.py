"""What is kept of a stream can be read again, wherever the file was cut off."""

import gzip
import os
import random
import zlib
from pathlib import Path

import pytest

from workloop.domain.errors import Fault
from workloop.runner.archive import CHUNK_BYTES, GZIP, Archive, replay, unpacked
from workloop.runner.framing import Line

RECORDING = Path(__file__).parents[2] / "recordings" / "claude" / "limit-mid-oauth.jsonl"
ROOMY = 1024 * 1024


def archived(path: Path, *pieces: bytes, bytes_max: int = ROOMY, end_bytes_max: int = 100) -> Archive:
    archive = Archive(path, bytes_max, end_bytes_max)
    for piece in pieces:
        archive.write(piece)
    return archive


def replayed(path: Path) -> list[Line]:
    return list(replay(path))


def test_recorded_stream_is_replayed_line_by_line_from_a_private_compressed_file(tmp_path: Path) -> None:
    data, path = RECORDING.read_bytes(), tmp_path / "stream"
    archived(path, *(data[start : start + 1000] for start in range(0, len(data), 1000))).close()
    assert replayed(path) == data.splitlines()
    assert gzip.decompress(path.read_bytes()) == data
    assert path.stat().st_size < len(data) / 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_everything_written_can_be_read_while_the_writer_lives(tmp_path: Path) -> None:
    """A writer that is killed leaves what this reads: nothing waits in its memory."""
    path = tmp_path / "stream"
    archive = archived(path)
    for number in range(50):
        archive.write(b'{"number": %d}\n' % number)
        assert replayed(path)[-1] == b'{"number": %d}' % number
    archive.write(b"half a li")
    assert replayed(path)[-1] == b"half a li"
    archive.close()


def test_file_cut_at_any_byte_gives_a_beginning_of_the_lines(tmp_path: Path) -> None:
    path, cut = tmp_path / "stream", tmp_path / "cut"
    chance = random.Random(7)
    lines = [chance.randbytes(chance.randrange(60)).hex().encode() for _ in range(40)]
    archived(path, *(line + b"\n" for line in lines)).close()
    packed, whole, longest = path.read_bytes(), b"\n".join(lines) + b"\n", 0
    for size in range(len(packed) + 1):
        cut.write_bytes(packed[:size])
        found = replayed(cut)
        assert whole.startswith(b"\n".join(bytes_of(line) for line in found))
        assert len(found) >= longest
        longest = len(found)
    assert longest == len(lines)


def bytes_of(line: Line) -> bytes:
    assert isinstance(line, bytes)
    return line


def test_beyond_the_cap_a_mark_and_the_last_whole_lines_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    pieces = [b'{"number": %04d}\n' % number for number in range(1_000)]
    archived(path, *pieces, bytes_max=40).close()
    assert replayed(path) == [
        b'{"number": 0000}',
        b'{"number": 0001}',
        b'{"numb',
        b'{"type": "workloop_cut", "dropped_bytes": %d}' % (17_000 - 40 - 5 * 17),
        *(b'{"number": %04d}' % number for number in range(995, 1_000)),
    ]


@pytest.mark.parametrize("size", [0, 39, 40, 41, 139, 140])
def test_stream_that_hardly_passes_the_cap_is_kept_whole(tmp_path: Path, size: int) -> None:
    path = tmp_path / "stream"
    archived(path, b"x" * size, bytes_max=40).close()
    assert gzip.decompress(path.read_bytes()) == b"x" * size


def test_end_without_a_newline_is_all_dropped_and_told(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    archived(path, b"one\n", b"y" * 10_000, bytes_max=4).close()
    assert replayed(path) == [b"one", b'{"type": "workloop_cut", "dropped_bytes": 10000}']


def test_bomb_is_unpacked_in_small_pieces_wherever_it_was_cut(tmp_path: Path) -> None:
    """Megabytes of nothing pack to kilobytes; they come back bounded, and no byte less than there is."""
    path, cut = tmp_path / "stream", tmp_path / "cut"
    archived(path, (b"\0" * 99 + b"\n") * 10_000, bytes_max=ROOMY * 4).close()
    packed = path.read_bytes()
    for size in range(len(packed) % 13, len(packed) + 1, 13):
        cut.write_bytes(packed[:size])
        pieces = list(unpacked(cut))
        assert b"".join(pieces) == zlib.decompressobj(GZIP).decompress(packed[:size])
        assert max(map(len, pieces)) <= CHUNK_BYTES
    assert replayed(path) == [b"\0" * 99] * 10_000


def test_damaged_file_gives_the_lines_before_the_damage_and_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    archived(path, b"one\n", b"two\n").close()
    packed = path.read_bytes()
    path.write_bytes(packed[:-8] + b"\xff" * 8)
    lines = replay(path)
    with pytest.raises(Fault) as caught:
        list(lines)
    assert caught.value.code == "ARCHIVE_DAMAGED"


def test_disk_that_takes_no_more_is_a_fault_with_its_place(tmp_path: Path) -> None:
    archive = archived(tmp_path / "stream")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, archive.stream.fileno())
    os.close(full)
    for write in (lambda: archive.write(b"one\n"), archive.close):
        with pytest.raises(Fault) as caught:
            write()
        assert caught.value.code == "ARCHIVE_UNWRITABLE"
    assert str(tmp_path) in caught.value.hint


def test_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "stream").symlink_to(tmp_path / "other")
    with pytest.raises(Fault):
        archived(tmp_path / "stream")
    assert not (tmp_path / "other").exists()
