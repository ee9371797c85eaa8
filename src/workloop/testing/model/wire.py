"""How an answer looks in the Messages API, whole and as a stream of events."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from workloop.testing.model.conversation import JsonObject
from workloop.testing.model.moves import Call, Cut, Fail, Say, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What every part of one answer repeats: its number, the model it claims to be, and its usage."""

    tag: str
    model: str
    usage: Usage = field(default_factory=Usage)


def whole(move: Call | Say, envelope: Envelope) -> JsonObject:
    """Return a complete answer as one message."""
    return {
        **head(envelope),
        "content": content(move, envelope),
        "stop_reason": stop_reason(move),
        "usage": bill(envelope.usage),
    }


def stream(move: Call | Say, envelope: Envelope) -> Iterator[bytes]:
    """Yield a complete answer as server-sent events."""
    yield opening(envelope)
    for index, block in enumerate(content(move, envelope)):
        yield from block_events(index, block)
    delta = {"stop_reason": stop_reason(move), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage=bill(envelope.usage))
    yield event("message_stop")


def broken_stream(move: Cut | Fail, envelope: Envelope, text: str) -> Iterator[bytes]:
    """Yield the beginning of an answer, and the error event if the failure has one."""
    yield opening(envelope)
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    if isinstance(move, Fail):
        yield event("error", error={"type": move.kind, "message": move.message})


def error_body(kind: str, message: str) -> JsonObject:
    """Return the body of an HTTP error."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


def models(name: str) -> JsonObject:
    """Return the list of models, which is one."""
    entry = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
    return {"data": [entry], "has_more": False, "first_id": name, "last_id": name}


def head(envelope: Envelope) -> dict[str, object]:
    """Return the fields that begin every message."""
    return {
        "id": f"msg_{envelope.tag}",
        "type": "message",
        "role": "assistant",
        "model": envelope.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**bill(envelope.usage), "output_tokens": 1},
    }


def content(move: Call | Say, envelope: Envelope) -> list[dict[str, object]]:
    """Return the blocks of an answer."""
    text = move.say if isinstance(move, Call) else move.text
    blocks: list[dict[str, object]] = [{"type": "text", "text": text}] if text else []
    if isinstance(move, Call):
        call_id = f"toolu_{envelope.tag}"
        blocks.append({"type": "tool_use", "id": call_id, "name": move.tool, "input": dict(move.arguments)})
    return blocks


def stop_reason(move: Call | Say) -> str:
    """Return why the answer ends."""
    return "tool_use" if isinstance(move, Call) else move.stop


def bill(usage: Usage) -> dict[str, int]:
    """Return the usage under the names of the API."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def opening(envelope: Envelope) -> bytes:
    """Return the event that begins a stream."""
    return event("message_start", message=head(envelope))


def block_events(index: int, block: dict[str, object]) -> Iterator[bytes]:
    """Yield the events of one block; a tool's arguments come in two halves, as they do in life."""
    if block["type"] == "text":
        start: dict[str, object] = {"type": "text", "text": ""}
        deltas: list[dict[str, object]] = [{"type": "text_delta", "text": block["text"]}]
    else:
        start = {**block, "input": {}}
        written = json.dumps(block["input"])
        halves = written[: len(written) // 2], written[len(written) // 2 :]
        deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
    yield event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield event("content_block_delta", index=index, delta=delta)
    yield event("content_block_stop", index=index)


def event(name: str, **fields: object) -> bytes:
    """Return one server-sent event."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()
