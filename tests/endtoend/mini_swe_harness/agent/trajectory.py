"""How a trajectory of mini-swe-agent becomes the events of a session, one after the other as they happened."""

from collections.abc import Iterator, Mapping
from typing import Any

Message = Mapping[str, Any]
Event = dict[str, Any]
OWN_TOOL = "bash"
NOT_RUN = "action was not executed"
MICROSECONDS = 1_000_000


def events_of(trajectory: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of a trajectory."""
    info, messages = trajectory["info"], trajectory["messages"]
    model = info["config"].get("model", {}).get("model_name", "")
    yield {"type": "started", "model": model, "version": info["mini_version"]}
    asked: Message = {}
    for message in messages:
        extra = message.get("extra") or {}
        match message["role"]:
            case "assistant":
                asked = message
                yield from asking(message)
            case "tool":
                yield answer(message, took_us(asked, message))
            case "user" if "interrupt_type" in extra:
                asked = {}
                yield from misled(extra)
            case "exit":
                yield from ending(asked, extra)
            case _:
                continue


def asking(message: Message) -> Iterator[Event]:
    """Yield what an answer of the model says, costs and calls."""
    if message.get("content"):
        yield {"type": "text", "text": message["content"]}
    yield usage(message["extra"]["response"])
    for action in message["extra"]["actions"]:
        yield {"type": "tool_call", "call_id": action["tool_call_id"], "name": OWN_TOOL, "kind": "shell"}


def usage(response: Mapping[str, Any]) -> Event:
    """Return the tokens of one answer."""
    told = response.get("usage") or {}
    cached = (told.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    prompt, output = told.get("prompt_tokens") or 0, told.get("completion_tokens") or 0
    return {"type": "usage", "input": prompt - cached, "cache_read": cached, "output": output}


def answer(message: Message, took: int | None) -> Event:
    """Return how a command ended: by itself, at its time, or because the tool that runs it failed."""
    extra = message["extra"]
    event = {"type": "tool_result", "call_id": message["tool_call_id"], "name": OWN_TOOL, "class": verdict(extra)}
    if event["class"] in ("ok", "command_nonzero"):
        event["exit_code"] = extra["returncode"]
    return event if took is None else {**event, "took_us": took}


def verdict(extra: Mapping[str, Any]) -> str:
    """Return the class of an end."""
    if not extra.get("exception_info"):
        return "ok" if extra["returncode"] == 0 else "command_nonzero"
    if extra["exception_info"] == NOT_RUN:
        return "cancelled"
    return "timeout" if extra.get("exception_type") == "TimeoutExpired" else "tool_fault"


def took_us(asked: Message, message: Message) -> int | None:
    """Return how long the only command of an answer took; of several nobody can say."""
    told = asked.get("extra") or {}
    if len(told.get("actions") or ()) != 1:
        return None
    return max(0, round((message["extra"]["timestamp"] - told["timestamp"]) * MICROSECONDS))


def misled(extra: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the calls of an answer that the agent did not take: of a tool it has not, or with wrong arguments."""
    yield usage(extra["response"])
    for call in extra["response"]["choices"][0]["message"].get("tool_calls") or ():
        name = str(call["function"]["name"])
        kind = "shell" if name == OWN_TOOL else "other"
        ended = "model_argument" if name == OWN_TOOL else "missing_tool"
        yield {"type": "tool_call", "call_id": call["id"], "name": name, "kind": kind}
        yield {"type": "tool_result", "call_id": call["id"], "name": name, "class": ended}


def ending(asked: Message, extra: Mapping[str, Any]) -> Iterator[Event]:
    """Yield how the agent came to its end; the command by which it hands in has no message of its own."""
    status = str(extra.get("exit_status") or "")
    handed_in = status == "Submitted"
    for action in (asked.get("extra") or {}).get("actions", ())[-1:] if handed_in else ():
        yield {"type": "tool_result", "call_id": action["tool_call_id"], "name": OWN_TOOL, "class": "ok"}
    if extra.get("exception_str"):
        yield {"type": "error", "code": status, "message": str(extra["exception_str"])}
    yield {"type": "finished", "failed": not handed_in, "reason": status}
