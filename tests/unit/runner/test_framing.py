"""Lines out of bytes: every cut gives the same lines, and memory stays bounded."""

from pathlib import Path

from workloop.runner.framing import Line, LineSplitter, OverlongLine, TailBuffer

RECORDING = Path(__file__).parents[2] / "recordings" / "claude" / "limit-mid-oauth.jsonl"


def lines_of(pieces: list[bytes], line_bytes_max: int = 1_000_000) -> list[Line]:
    splitter = LineSplitter(line_bytes_max)
    return [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish()


def test_recorded_stream_cut_at_every_byte_gives_the_same_lines() -> None:
    data = RECORDING.read_bytes()
    whole = lines_of([data])
    assert b"\n".join(line for line in whole if isinstance(line, bytes)) == data.rstrip(b"\n")
    for cut in range(len(data) + 1):
        assert lines_of([data[:cut], data[cut:]]) == whole


def test_last_line_without_newline_is_kept() -> None:
    assert lines_of([b"one\ntw", b"o"]) == [b"one", b"two"]


def test_empty_stream_has_no_line() -> None:
    assert lines_of([b""]) == []


def test_line_at_the_cap_is_kept_and_one_byte_more_is_a_marker() -> None:
    assert lines_of([b"12345\n"], 5) == [b"12345"]
    assert lines_of([b"123456\nx\n"], 5) == [OverlongLine(6), b"x"]


def test_overlong_line_is_one_marker_however_it_arrives() -> None:
    for size in (1, 2, 3, 7):
        data = b"a" * 20 + b"\nnext\n" + b"b" * 9
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        assert lines_of(pieces, 5) == [OverlongLine(20), b"next", OverlongLine(9)]


def test_splitter_holds_no_more_than_its_cap() -> None:
    splitter = LineSplitter(1_000)
    for _ in range(10_000):
        splitter.feed(b"x" * 999)
        assert len(splitter._pending) <= 1_000
    assert splitter.feed(b"\n") == [OverlongLine(9_990_000)]


def test_tail_keeps_the_last_bytes_and_counts_all() -> None:
    tail = TailBuffer(5)
    for piece in (b"abc", b"defg", b"", b"h" * 20, b"\xc3\xa9!"):
        tail.feed(piece)
    assert (tail.text(), tail.seen) == ("hhé!", 30)
