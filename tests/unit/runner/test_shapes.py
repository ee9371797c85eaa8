"""Lines are read into shapes the short way and the long way: both see the same, and what does not fit is absent."""

import json
from pathlib import Path

import pytest

from workloop.runner.harness.claude.wire import DECODER, SHAPES, Assistant, Result, System, User
from workloop.runner.harness.shapes import built, decoded

RECORDINGS = Path(__file__).parents[2] / "recordings" / "claude"


def test_recorded_lines_read_the_same_the_long_way() -> None:
    lines = [line for path in RECORDINGS.glob("*.jsonl") for line in path.read_bytes().splitlines()]
    seen = 0
    for line in lines:
        told = decoded(DECODER, line)
        if told is not None:
            values = json.loads(line)
            assert built(SHAPES[values["type"]], values) == told
            seen += 1
    assert seen > 700


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('{"attempt": "many", "subtype": "init"}', System(subtype="init")),
        ('{"attempt": 2.7}', System(attempt=2)),
        ('{"attempt": -1}', System()),
        ('{"attempt": true}', System()),
        ('{"retry_delay_ms": 1.5}', System(retry_delay_ms=1)),
        ('{"retry_delay_ms": 1e300}', System()),
        ('{"mcp_servers": {"name": "x"}}', System()),
    ],
)
def test_parts_that_do_not_fit_are_absent(given: str, kept: System) -> None:
    assert built(System, json.loads(given)) == kept


def test_what_fits_inside_of_what_does_not_is_kept() -> None:
    content = [7, {"type": "text", "text": "hello", "is_error": "no"}, None]
    told = built(Assistant, {"message": {"id": 5, "model": "m", "content": content, "usage": {"output_tokens": "1"}}})
    assert told.message is not None
    assert (told.message.id, told.message.model) == ("", "m")
    assert [(block.type, block.text, block.is_error) for block in told.message.content] == [("text", "hello", None)]
    answer = built(User, {"message": {"content": [{"type": "tool_result", "content": [{"text": "a"}, "b"]}]}})
    assert answer.message is not None
    assert [part.text for part in answer.message.content[0].content if not isinstance(part, str)] == ["a"]


def test_tables_lose_the_rows_that_do_not_fit() -> None:
    told = built(Result, {"errors": ["one", 2], "modelUsage": {"m": {"inputTokens": 5, "costUSD": "x"}, "n": 7}})
    assert told.errors == ["one"]
    assert told.model_usage is not None
    assert list(told.model_usage) == ["m"]
    assert told.model_usage["m"].input_tokens == 5
