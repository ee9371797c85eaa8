"""The Chat Completions API as opencode, Copilot and Qwen Code speak it: requests to conversations, moves to answers."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from workloop.testing.model.conversation import (
    Conversation,
    JsonObject,
    ToolUse,
    blocks_of,
    object_of,
    objects,
    text_of,
)
from workloop.testing.model.dialect import Dialect, Envelope, Header
from workloop.testing.model.moves import Call, Cut, Fail, Say, Usage
from workloop.testing.model.naming import chat_call
from workloop.testing.model.openai_errors import refuse

CREATED = 1_700_000_000
REMINDERS = re.compile(r"\s*<(system[-_]reminder|current_datetime)>.*?</\1>\s*", re.DOTALL)
WORKDIR = re.compile(r"[Ww]orking (?:in the )?directory:\s*(?:<[a-z_]+>)?([^\s<]+)")
STOPS = {"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}


def read(body: JsonObject, header: Header) -> Conversation:
    """Read one request."""
    prompts: list[str] = []
    answers: list[str] = []
    calls: dict[str, ToolUse] = {}
    seen: list[str] = []
    for message in objects(body.get("messages")):
        text = text_of(message.get("content"))
        seen.append(text)
        match message.get("role"):
            case "assistant":
                answers.append(text)
                note_calls(message, calls)
            case "tool":
                note_result(message, calls)
            case "user":
                prompts.append(said_by_user(message))
            case _:
                continue
    workdir = WORKDIR.search("\n".join(seen))
    functions = [object_of(tool.get("function")) for tool in objects(body.get("tools"))]
    return Conversation(
        session=header("x-session-affinity"),
        model=str(body.get("model", "")),
        streaming=body.get("stream") is True,
        wants_json="response_format" in body,
        tools=tuple(str(function.get("name")) for function in functions),
        workdir=workdir[1] if workdir else "",
        prompts=tuple(prompt for prompt in prompts if prompt),
        answers=tuple(answer for answer in answers if answer),
        calls=tuple(calls.values()),
        declared={str(function.get("name")): object_of(function.get("parameters")) for function in functions},
    )


def said_by_user(message: JsonObject) -> str:
    """Join the texts of a user message, without what the CLI puts in itself."""
    texts = [str(block.get("text", "")) for block in blocks_of(message.get("content")) if block.get("type") == "text"]
    return REMINDERS.sub("", "\n".join(texts)).strip()


def note_calls(message: JsonObject, calls: dict[str, ToolUse]) -> None:
    """Enter the tool calls of one answer."""
    for entry in objects(message.get("tool_calls")):
        call_id, function = str(entry.get("id")), object_of(entry.get("function"))
        arguments = arguments_of(function.get("arguments"))
        calls[call_id] = ToolUse(call_id=call_id, name=str(function.get("name")), arguments=arguments)


def note_result(message: JsonObject, calls: dict[str, ToolUse]) -> None:
    """Enter the result that answers an earlier call."""
    call_id = str(message.get("tool_call_id"))
    asked = calls.get(call_id) or ToolUse(call_id=call_id, name="", arguments={})
    calls[call_id] = replace(asked, result=REMINDERS.sub("", text_of(message.get("content"))))


def arguments_of(written: object) -> JsonObject:
    """Read the arguments of a call; broken ones count as none."""
    try:
        return object_of(json.loads(written) if isinstance(written, str) else None)
    except ValueError:
        return {}


def whole(move: Call | Say, envelope: Envelope) -> JsonObject:
    """Return a complete answer."""
    message: dict[str, object] = {"role": "assistant", "content": text_in(move) or None}
    if isinstance(move, Call):
        message["tool_calls"] = [call_entry(move, envelope, json.dumps(dict(move.arguments)))]
    choice = {"index": 0, "message": message, "finish_reason": finish_reason(move)}
    return {**head(envelope, "chat.completion"), "choices": [choice], "usage": bill(envelope.usage)}


def stream(move: Call | Say, envelope: Envelope) -> Iterator[bytes]:
    """Yield a complete answer as server-sent events; a tool's arguments come in two halves, as they do in life."""
    yield delta(envelope, {"role": "assistant", "content": ""})
    if text := text_in(move):
        yield delta(envelope, {"content": text})
    if isinstance(move, Call):
        written = json.dumps(dict(move.arguments))
        middle = len(written) // 2
        yield delta(envelope, {"tool_calls": [{"index": 0, **call_entry(move, envelope, "")}]})
        for half in (written[:middle], written[middle:]):
            yield delta(envelope, {"tool_calls": [{"index": 0, "function": {"arguments": half}}]})
    yield delta(envelope, {}, finish_reason(move))
    yield data({**head(envelope, "chat.completion.chunk"), "choices": [], "usage": bill(envelope.usage)})
    yield b"data: [DONE]\n\n"


def broken(move: Cut | Fail, envelope: Envelope, text: str) -> Iterator[bytes]:
    """Yield the beginning of an answer, and the error event if the failure has one."""
    yield delta(envelope, {"role": "assistant", "content": ""})
    yield delta(envelope, {"content": text})
    if isinstance(move, Fail):
        yield data(refuse(move).body)


def text_in(move: Call | Say) -> str:
    """Return what an answer says."""
    return move.say if isinstance(move, Call) else move.text


def finish_reason(move: Call | Say) -> str:
    """Return why the answer ends."""
    return "tool_calls" if isinstance(move, Call) else STOPS[move.stop]


def call_entry(move: Call, envelope: Envelope, arguments: str) -> dict[str, object]:
    """Return one tool call."""
    function = {"name": move.tool, "arguments": arguments}
    return {"id": f"call_{envelope.tag}", "type": "function", "function": function}


def head(envelope: Envelope, kind: str) -> dict[str, object]:
    """Return the fields that begin every part."""
    return {"id": f"chatcmpl-{envelope.tag}", "object": kind, "created": CREATED, "model": envelope.model}


def delta(envelope: Envelope, change: Mapping[str, object], reason: str | None = None) -> bytes:
    """Return the event for one change of the answer."""
    choice = {"index": 0, "delta": change, "finish_reason": reason}
    return data({**head(envelope, "chat.completion.chunk"), "choices": [choice]})


def data(document: JsonObject) -> bytes:
    """Return one server-sent event without a name."""
    return f"data: {json.dumps(document)}\n\n".encode()


def bill(usage: Usage) -> JsonObject:
    """Return the usage under the names of the API, whose prompt includes what was cached."""
    prompt = usage.input + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


CHAT = Dialect(
    name="chat",
    path="/chat/completions",
    read=read,
    address=chat_call,
    whole=whole,
    stream=stream,
    broken=broken,
    refuse=refuse,
)
