"""What an answer has used is the provider's own figure, in whatever pieces it passes by."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from workloop.domain.session import Tokens
from workloop.runner.meter.copying import AnswerCopy
from workloop.runner.meter.events import EventFeed
from workloop.runner.meter.port import Dialect
from workloop.runner.meter.usage import Counted

FOLDER = Path(__file__).parents[2] / "recordings" / "meter"
FIGURES: dict[str, dict[str, Any]] = json.loads((FOLDER / "figures.json").read_text())
DIALECTS = {"messages": Dialect.ANTHROPIC, "responses": Dialect.RESPONSES, "chat": Dialect.CHAT}
STREAMS = [name for name in FIGURES if name.endswith(".sse")]


def counted(name: str, *, pieces: int = 1_000_000, encoding: str = "", body: bytes | None = None) -> Counted:
    """Count one recorded answer, cut into pieces of that size."""
    raw = (FOLDER / name).read_bytes() if body is None else body
    kind = "text/event-stream; charset=utf-8" if name.endswith(".sse") else "application/json"
    copy = AnswerCopy(DIALECTS[name.partition("-")[0]], kind, encoding)
    for start in range(0, len(raw), pieces):
        copy.pass_by(raw[start : start + pieces])
    return copy.counted()


def tokens_of(name: str) -> Tokens:
    figure = FIGURES[name]
    return Tokens(figure["input"], figure["output"], figure["cache_read"], figure["cache_write"])


def test_every_recorded_answer_has_its_figures() -> None:
    assert {path.name for path in FOLDER.iterdir()} - {"README.md", "figures.json"} == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_counted_tokens_are_the_provider_s_own_figure(name: str) -> None:
    figure, found = FIGURES[name], counted(name)
    assert found.tokens == tokens_of(name)
    assert (found.complete, found.failed) == (figure["complete"], figure["failed"])
    assert dict(found.extras) == figure.get("extras", {})
    assert dict(found.context) == figure.get("context", {})
    assert found.model


@pytest.mark.parametrize("name", STREAMS)
def test_count_does_not_depend_on_where_a_stream_is_cut(name: str) -> None:
    whole = counted(name)
    assert all(counted(name, pieces=size) == whole for size in (1, 2, 3, 7, 64, 1000))


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_answer_is_counted_on_an_unpacked_copy(name: str, encoding: str) -> None:
    raw = (FOLDER / name).read_bytes()
    packed = gzip.compress(raw) if encoding == "gzip" else zlib.compress(raw)
    assert counted(name, pieces=11, encoding=encoding, body=packed) == counted(name)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip"])
def test_answer_that_cannot_be_unpacked_is_not_complete(encoding: str) -> None:
    found = counted("messages-success-0.sse", encoding=encoding, body=b"\x28\xb5\x2f\xfd no gzip at all")
    assert (found.complete, found.tokens) == (False, Tokens())


@pytest.mark.parametrize("name", STREAMS)
def test_stream_that_is_broken_off_anywhere_comes_to_no_more_than_the_whole(name: str) -> None:
    raw = (FOLDER / name).read_bytes()
    full = counted(name)
    for end in range(0, len(raw), 37):
        part = counted(name, body=raw[:end])
        assert part.tokens.input <= full.tokens.input
        assert not part.complete or part.tokens.total <= full.tokens.total


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("figure", ["-5", "1.5", "true", '"60"', "1e99", "null", "99999999999999999999"])
def test_figure_that_is_no_count_is_not_believed(name: str, figure: str) -> None:
    raw = (FOLDER / name).read_bytes()
    for key in (b'"output_tokens": 60', b'"completion_tokens": 60'):
        raw = raw.replace(key, key.removesuffix(b"60") + figure.encode())
    found = counted(name, body=raw)
    assert found.tokens.output >= 0
    assert found.tokens.total <= counted(name).tokens.total


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"usage": 5}', b'data: {"type": 7}\n\n'])
@pytest.mark.parametrize("ending", ["sse", "json"])
def test_anything_at_all_can_pass_by(dialect: str, body: bytes, ending: str) -> None:
    found = counted(f"{dialect}-x.{ending}", body=body)
    assert (found.complete, found.tokens) == (False, Tokens())


def test_event_that_is_too_big_is_dropped_and_the_next_one_read() -> None:
    feed = EventFeed(event_bytes_max=50)
    assert feed.feed(b"data: " + b"x" * 40) == []
    assert feed.feed(b"y" * 40) == []
    assert feed.feed(b"z\n\ndata: next\n\n") == [b"next"]
    assert feed.lossy


def test_data_of_several_lines_is_joined() -> None:
    assert EventFeed().feed(b": hello\nid: 4\ndata: one\ndata:two\n\n") == [b"one\ntwo"]
