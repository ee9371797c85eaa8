"""The Messages API as Claude Code speaks it: requests to conversations, moves to answers."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from workloop.testing.model.conversation import (
    Conversation,
    JsonObject,
    ToolUse,
    blocks_of,
    declared_name,
    event,
    full_name,
    object_of,
    objects,
    text_of,
)
from workloop.testing.model.dialect import Dialect, Envelope, Header, HttpError
from workloop.testing.model.moves import Call, Cut, Fail, Say, Usage

TOOL_SEARCH = "ToolSearch"
PATH_TOOLS = frozenset({"Read", "Write", "Edit"})
REMINDER = "<system-reminder>"
REMINDERS = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
WORKDIR = re.compile(r"[Ww]orking directory: (\S+)")


def read(body: JsonObject, header: Header) -> Conversation:
    """Read one request."""
    prompts: list[str] = []
    answers: list[str] = []
    calls: dict[str, ToolUse] = {}
    seen = [text_of(body.get("system"))]
    for message in objects(body.get("messages")):
        blocks = blocks_of(message.get("content"))
        text = "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
        seen.append(text)
        note_calls(blocks, calls)
        if message.get("role") == "assistant":
            answers.append(text)
        else:
            prompts.append(without_reminders(blocks))
    workdir = WORKDIR.search("\n".join(seen))
    return Conversation(
        session=header("x-claude-code-session-id"),
        model=str(body.get("model", "")),
        streaming=body.get("stream") is True,
        wants_json="output_config" in body,
        tools=tuple(str(tool.get("name")) for tool in objects(body.get("tools"))),
        workdir=workdir[1] if workdir else "",
        prompts=tuple(prompt for prompt in prompts if prompt),
        answers=tuple(answer for answer in answers if answer),
        calls=tuple(calls.values()),
    )


def note_calls(blocks: Sequence[JsonObject], calls: dict[str, ToolUse]) -> None:
    """Enter the tool calls of one message, or the results that answer earlier ones."""
    for block in blocks:
        match block.get("type"):
            case "tool_use":
                call_id = str(block.get("id"))
                arguments = object_of(block.get("input"))
                calls[call_id] = ToolUse(call_id=call_id, name=str(block.get("name")), arguments=arguments)
            case "tool_result":
                call_id = str(block.get("tool_use_id"))
                asked = calls.get(call_id)
                calls[call_id] = ToolUse(
                    call_id=call_id,
                    name=asked.name if asked else "",
                    arguments=asked.arguments if asked else {},
                    result=REMINDERS.sub("", text_of(block.get("content"))),
                    failed=block.get("is_error") is True,
                )
            case _:
                continue


def without_reminders(blocks: Sequence[JsonObject]) -> str:
    """Join the texts of a user message, without those that the CLI puts in itself."""
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return "\n".join(text for text in texts if not text.startswith(REMINDER)).strip()


def address(call: Call, conversation: Conversation) -> Call | Say:
    """Give a call the name that the CLI declares, and absolute paths."""
    name = declared_name(call.tool, conversation.tools)
    if name is None:
        return looked_up(call, conversation)
    arguments = call.arguments
    if name in PATH_TOOLS and isinstance(path := arguments.get("file_path"), str):
        arguments = {**arguments, "file_path": str(PurePosixPath(conversation.workdir or ".") / path)}
    return replace(call, tool=name, arguments=arguments)


def looked_up(call: Call, conversation: Conversation) -> Call | Say:
    """Fetch a tool that is held back behind the CLI's tool search, or admit that there is none."""
    name = full_name(call.tool)
    if TOOL_SEARCH not in conversation.tools:
        return Say(f"I cannot go on: the tool {name} is not offered to me.")
    searches = [str(use.arguments.get("query")) for use in conversation.calls if use.name == TOOL_SEARCH]
    if any(name in query for query in searches):
        return replace(call, tool=name)
    return replace(call, tool=TOOL_SEARCH, arguments={"query": f"select:{name}"})


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


def broken(move: Cut | Fail, envelope: Envelope, text: str) -> Iterator[bytes]:
    """Yield the beginning of an answer, and the error event if the failure has one."""
    yield opening(envelope)
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    if isinstance(move, Fail):
        yield event("error", error={"type": move.kind, "message": move.message})


def refuse(fail: Fail) -> HttpError:
    """Return the error that the move itself spells out."""
    error = {"type": fail.kind, "message": fail.message}
    body = {"type": "error", "error": error, "request_id": "req_scripted"}
    return HttpError(status=fail.status, body=body, headers=fail.headers)


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


MESSAGES = Dialect(
    name="messages",
    path="/messages",
    read=read,
    address=address,
    whole=whole,
    stream=stream,
    broken=broken,
    refuse=refuse,
)
