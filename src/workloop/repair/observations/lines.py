"""The one documented way in which a session's events stand in a file: what each line may hold, and its exact bytes."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn, cast

from workloop.domain.clock import Instant
from workloop.domain.session import (
    Denied,
    Finished,
    Limit,
    LimitKind,
    McpState,
    McpStatus,
    Retrying,
    SessionError,
    SessionEvent,
    Stamp,
    Started,
    Text,
    Tokens,
    ToolCall,
    ToolKind,
    ToolResult,
    ToolResultClass,
    Unrecognised,
    Usage,
    kind_of,
)
from workloop.repair.observations.taking import Malformed, Taking

VERSION = 1


def line_of(event: SessionEvent) -> bytes:
    """Return an event as its line, without a newline: fields in a fixed order, those without a value left out."""
    facts = {name: value for name, value in facts_of(event).items() if value not in (None, "")}
    envelope = {"v": VERSION, "seq": event.seq, "session": event.session_id, "at_us": event.arrival_us}
    return json.dumps(
        {**envelope, "type": kind_of(event), **facts}, ensure_ascii=True, allow_nan=False, separators=(",", ":")
    ).encode("ascii")


def lines_of(events: Iterable[SessionEvent]) -> bytes:
    """Return events as the bytes of a file."""
    return b"".join(line_of(event) + b"\n" for event in events)


def digest_of(events: Iterable[SessionEvent]) -> str:
    """Return the SHA-256 of events as they stand in a file."""
    return hashlib.sha256(lines_of(events)).hexdigest()


def digest_at(events: Sequence[SessionEvent], places: Iterable[int]) -> str:
    """Return the SHA-256 of the lines at some places of one session."""
    wanted = set(places)
    return digest_of(event for event in events if event.seq in wanted)


def facts_of(event: SessionEvent) -> Mapping[str, object]:
    """Return what one kind of event says beyond its envelope."""
    match event:
        case ToolCall():
            return {"call": event.call_id, "tool": event.name, "kind": event.kind, "arguments": event.arguments}
        case ToolResult():
            ended = {"call": event.call_id, "tool": event.name, "class": event.result, "exit_code": event.exit_code}
            return {**ended, "answer": event.answer, "took_us": event.took_us}
        case Usage(tokens=spent):
            read = {"input": spent.input, "output": spent.output, "cache_read": spent.cache_read}
            return {**read, "cache_write": spent.cache_write, "cost_micros": event.cost_micros}
        case Started():
            return {"resume_id": event.resume_id, "model": event.model, "version": event.version}
        case Limit():
            return {"kind": event.kind, "reset_at_us": event.reset_at, "detail": event.detail}
        case Retrying():
            return {"attempt": event.attempt, "reason": event.reason, "delay_us": event.delay_us}
        case McpStatus():
            return {"server": event.server, "state": event.state, "required": event.required}
        case SessionError():
            return {"code": event.code, "message": event.message}
        case _:
            return short_facts_of(event)


def short_facts_of(event: Text | Denied | Finished | Unrecognised) -> Mapping[str, object]:
    """Return what the kinds with one or two facts say."""
    match event:
        case Text():
            return {"text": event.text}
        case Denied():
            return {"call": event.call_id, "tool": event.name}
        case Finished():
            return {"failed": event.failed, "reason": event.reason}
        case Unrecognised():
            return {"raw": event.raw}


def event_of(line: bytes, session_id: str) -> SessionEvent:
    """Read one line of a session strictly; raises Malformed saying what is wrong with it."""
    taking = Taking(decoded(line))
    if taking.whole("v") != VERSION:
        raise Malformed(f"is not of version {VERSION}")
    seq, session = taking.whole("seq", lowest=1), taking.text("session", required=True)
    at = Stamp(seq, taking.whole("at_us"), session)
    if session != session_id:
        raise Malformed(f"belongs to the session {session[:80]!r}")
    kind = taking.text("type", required=True)
    read = READERS.get(kind)
    if read is None:
        raise Malformed(f"has the unknown type {kind[:80]!r}")
    event = read(at, taking)
    taking.done()
    return event


def decoded(line: bytes) -> Mapping[str, object]:
    """Return a line as a JSON object without repeated names and without numbers that are none."""
    try:
        value: object = json.loads(line.decode("utf-8"), object_pairs_hook=members, parse_constant=refuse_constant)
    except UnicodeDecodeError:
        raise Malformed("is not UTF-8") from None
    except RecursionError:
        raise Malformed("is nested too deeply") from None
    except json.JSONDecodeError:
        raise Malformed("is not JSON") from None
    if not isinstance(value, dict):
        raise Malformed("is not an object")
    return cast("Mapping[str, object]", value)


def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the members of an object; a name may stand there once."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("repeats a name")
    return found


def refuse_constant(word: str) -> NoReturn:
    """Refuse NaN and the infinities."""
    raise Malformed(f"holds {word}")


def call_in(at: Stamp, taking: Taking) -> ToolCall:
    """Read a tool call."""
    call, tool = taking.text("call", required=True), taking.text("tool", required=True)
    return ToolCall(at, call, tool, taking.choice("kind", ToolKind, ToolKind.OTHER), taking.text("arguments"))


def end_in(at: Stamp, taking: Taking) -> ToolResult:
    """Read the end of a tool call; what it waited for models and people is taken off what it took."""
    took, waited = taking.optional_whole("took_us"), taking.whole("waited_us", default=0)
    if waited and (took is None or waited > took):
        raise Malformed("waited longer than it took")
    return ToolResult(
        at,
        taking.text("call", required=True),
        taking.text("tool"),
        taking.choice("class", ToolResultClass),
        taking.optional_whole("exit_code"),
        taking.text("answer"),
        None if took is None else took - waited,
    )


def usage_in(at: Stamp, taking: Taking) -> Usage:
    """Read what a model call used."""
    counts = [taking.whole(name, default=0) for name in ("input", "output", "cache_read", "cache_write")]
    return Usage(at, Tokens(*counts), taking.optional_whole("cost_micros"))


def limit_in(at: Stamp, taking: Taking) -> Limit:
    """Read a usage limit."""
    reset = taking.optional_whole("reset_at_us")
    kind = taking.choice("kind", LimitKind, LimitKind.UNKNOWN)
    return Limit(at, kind, None if reset is None else Instant(reset), taking.text("detail"))


READERS: Mapping[str, Callable[[Stamp, Taking], SessionEvent]] = {
    "started": lambda at, taking: Started(
        at, taking.text("resume_id") or None, taking.text("model"), taking.text("version")
    ),
    "text": lambda at, taking: Text(at, taking.text("text")),
    "tool_call": call_in,
    "tool_result": end_in,
    "usage": usage_in,
    "limit": limit_in,
    "retrying": lambda at, taking: Retrying(
        at, taking.whole("attempt", default=0), taking.text("reason"), taking.optional_whole("delay_us")
    ),
    "denied": lambda at, taking: Denied(at, taking.text("call"), taking.text("tool")),
    "mcp_status": lambda at, taking: McpStatus(
        at, taking.text("server", required=True), taking.choice("state", McpState), taking.flag("required")
    ),
    "error": lambda at, taking: SessionError(at, taking.text("code"), taking.text("message")),
    "finished": lambda at, taking: Finished(at, taking.flag("failed"), taking.text("reason")),
    "unrecognised": lambda at, taking: Unrecognised(at, taking.text("raw")),
}
