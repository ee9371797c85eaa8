"""The Responses API as Codex speaks it: requests to conversations, moves to answers."""

import json
import re
from collections.abc import Iterator

from workloop.testing.model.conversation import (
    Conversation,
    JsonObject,
    ToolUse,
    blocks_of,
    event,
    object_of,
    objects,
)
from workloop.testing.model.dialect import Dialect, Envelope, Header
from workloop.testing.model.moves import Call, Cut, Fail, Say, Usage
from workloop.testing.model.openai_errors import error_of, refuse
from workloop.testing.model.responses_tools import address, declarations

OWN_TEXTS = ("<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md")
CWD = re.compile(r"<cwd>(.*?)</cwd>")
COMMAND_HEAD = re.compile(r"\A(?:Chunk ID|Wall time).*?^Output:\n", re.DOTALL | re.MULTILINE)
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
CREATED_AT = 1_700_000_000
INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}


def read(body: JsonObject, header: Header) -> Conversation:
    """Read one request."""
    items = items_of(body)
    messages = [(str(item.get("role")), text_of(item)) for item in items if item.get("type", "message") == "message"]
    prompts = [text for role, text in messages if role == "user" and not text.startswith(OWN_TEXTS)]
    workdir = CWD.search("\n".join(text for _, text in messages))
    declared = declarations(body, items)
    return Conversation(
        session=header("session-id"),
        model=str(body.get("model", "")),
        streaming=body.get("stream") is True,
        wants_json="format" in object_of(body.get("text")),
        tools=tuple(declared),
        workdir=workdir[1] if workdir else "",
        prompts=tuple(prompt for prompt in prompts if prompt),
        answers=tuple(text for role, text in messages if role == "assistant" and text),
        calls=tuple(calls_of(items)),
        declared=declared,
    )


def items_of(body: JsonObject) -> list[JsonObject]:
    """Return the conversation's items; a plain string is one user message."""
    given = body.get("input")
    return [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else objects(given)


def text_of(item: JsonObject) -> str:
    """Join the texts of a message."""
    return "\n".join(str(part.get("text", "")) for part in blocks_of(item.get("content"))).strip()


def calls_of(items: list[JsonObject]) -> Iterator[ToolUse]:
    """Yield the tool calls with the results that answer them."""
    results = {str(item.get("call_id")): result_of(item) for item in items if str(item.get("type")).endswith("_output")}
    for item in items:
        kind, call_id = str(item.get("type")), str(item.get("call_id"))
        if kind in CALLS:
            space = str(item.get("namespace") or "").rstrip("_")
            name = "tool_search" if kind == "tool_search_call" else str(item.get("name", kind))
            shown = f"{space}__{name}" if space else name
            yield ToolUse(call_id=call_id, name=shown, arguments=arguments_of(item), result=results.get(call_id))


def arguments_of(item: JsonObject) -> JsonObject:
    """Return what a call was given; a freeform tool's text is its input."""
    if "input" in item:
        return {"input": item["input"]}
    given = item.get("arguments")
    try:
        return object_of(json.loads(given) if isinstance(given, str) else given)
    except ValueError:
        return {}


def result_of(item: JsonObject) -> str:
    """Return a result as text, without what the CLI writes above a command's output."""
    output = item.get("output", item.get("tools"))
    text = output if isinstance(output, str) else json.dumps(output)
    return COMMAND_HEAD.sub("", text)


def whole(move: Call | Say, envelope: Envelope) -> JsonObject:
    """Return a complete answer."""
    return ended(move, envelope, [item for item, _ in items_to_say(move, envelope)])


def stream(move: Call | Say, envelope: Envelope) -> Iterator[bytes]:
    """Yield a complete answer as server-sent events."""
    yield event("response.created", response=response(envelope, "in_progress"))
    items = items_to_say(move, envelope)
    for index, (item, begun) in enumerate(items):
        yield event("response.output_item.added", output_index=index, item=begun)
        yield from parts(item, index)
        yield event("response.output_item.done", output_index=index, item=item)
    answer = ended(move, envelope, [item for item, _ in items])
    yield event(f"response.{answer['status']}", response=answer)


def broken(move: Cut | Fail, envelope: Envelope, text: str) -> Iterator[bytes]:
    """Yield the beginning of an answer, and the error event if the failure has one."""
    yield event("response.created", response=response(envelope, "in_progress"))
    item = message(envelope, text)
    yield event("response.output_item.added", output_index=0, item={**item, "status": "in_progress", "content": []})
    yield event("response.output_text.delta", output_index=0, item_id=item["id"], content_index=0, delta=text)
    if isinstance(move, Fail):
        error = error_of(move)
        told = {"code": error.get("code") or error["type"], "message": error["message"]}
        yield event("response.failed", response={**response(envelope, "failed"), "error": told})


def items_to_say(move: Call | Say, envelope: Envelope) -> list[tuple[JsonObject, JsonObject]]:
    """Return the items of an answer, each finished and as it begins."""
    text = move.say if isinstance(move, Call) else move.text
    items = [message(envelope, text)] if text else []
    pairs: list[tuple[JsonObject, JsonObject]] = [
        (item, {**item, "status": "in_progress", "content": []}) for item in items
    ]
    if isinstance(move, Call):
        item = call_item(move, envelope)
        pairs.append((item, {**item, "status": "in_progress"}))
    return pairs


def message(envelope: Envelope, text: str) -> JsonObject:
    """Return a finished message."""
    content = [{"type": "output_text", "text": text, "annotations": list[object]()}]
    return {
        "type": "message",
        "id": f"msg_{envelope.tag}",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def call_item(call: Call, envelope: Envelope) -> JsonObject:
    """Return a finished call in the form that its declaration asks for."""
    name, tag = str(call.tool), envelope.tag
    declared = envelope.declared.get(name, {})
    item: dict[str, object] = {"call_id": f"call_{tag}", "status": "completed"}
    match declared.get("type"):
        case "tool_search":
            own = {"type": "tool_search_call", "execution": "client", "arguments": dict(call.arguments)}
        case "custom":
            own = {"type": "custom_tool_call", "name": name, "input": str(call.arguments.get("input", ""))}
        case _:
            own = {"type": "function_call", "name": str(declared.get("name", name))}
            own["arguments"] = json.dumps(dict(call.arguments))
    space = {"namespace": declared["namespace"]} if "namespace" in declared else {}
    return {"id": f"item_{tag}", **item, **own, **space}


def parts(item: JsonObject, index: int) -> Iterator[bytes]:
    """Yield what comes between the beginning and the end of an item; arguments come in two halves, as in life."""
    where = {"output_index": index, "item_id": item["id"]}
    match item["type"]:
        case "message":
            text = objects(item["content"])[0]["text"]
            yield event("response.output_text.delta", content_index=0, delta=text, **where)
            yield event("response.output_text.done", content_index=0, text=text, **where)
        case "function_call":
            written = str(item["arguments"])
            for half in (written[: len(written) // 2], written[len(written) // 2 :]):
                yield event("response.function_call_arguments.delta", delta=half, **where)
            yield event("response.function_call_arguments.done", arguments=written, **where)
        case _:
            return


def response(envelope: Envelope, status: str) -> dict[str, object]:
    """Return the fields that every state of an answer has."""
    return {
        "id": f"resp_{envelope.tag}",
        "object": "response",
        "created_at": CREATED_AT,
        "status": status,
        "model": envelope.model,
        "output": list[object](),
        "error": None,
        "incomplete_details": None,
        "usage": None,
    }


def ended(move: Call | Say, envelope: Envelope, output: list[JsonObject]) -> JsonObject:
    """Return the answer as it stands at its end."""
    reason = INCOMPLETE.get(move.stop) if isinstance(move, Say) else None
    answer = response(envelope, "incomplete" if reason else "completed")
    details = {"reason": reason} if reason else None
    return {**answer, "output": output, "incomplete_details": details, "usage": bill(envelope.usage)}


def bill(usage: Usage) -> JsonObject:
    """Return the usage under the names of the API, where the cached part is within the input."""
    given = usage.input + usage.cache_read + usage.cache_write
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + usage.output,
    }


RESPONSES = Dialect(
    name="responses",
    path="/responses",
    read=read,
    address=address,
    whole=whole,
    stream=stream,
    broken=broken,
    refuse=refuse,
)
