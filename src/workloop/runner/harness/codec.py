"""How our own events are written as lines of JSON and read back; what the scripted agent and any program may print."""

from collections.abc import Callable

from workloop.domain.clock import Instant, from_text
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    MCP_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
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
    Usage,
    head,
)
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.stamper import Stamper

NAME_CHARACTERS_MAX = 200


def decode_line(line: bytes, arrival_us: int, stamper: Stamper) -> list[SessionEvent]:
    """Read one line; an empty one is nothing, an unknown or malformed one is unrecognised."""
    if not line.strip():
        return []
    fields, at = parse(line), stamper.at(arrival_us)
    decode = DECODERS.get(fields.text("type")) if fields else None
    if fields is None or decode is None:
        return [stamper.unrecognised(line, at)]
    try:
        return [decode(at, fields)]
    except ValueError:
        return [stamper.unrecognised(line, at)]


def name_in(fields: Fields, name: str) -> str:
    """Read a short text."""
    return head(fields.text(name), NAME_CHARACTERS_MAX)


def detail_in(fields: Fields, name: str) -> str:
    """Read a text of some length."""
    return head(fields.text(name), DETAIL_CHARACTERS_MAX)


def instant_in(fields: Fields, name: str) -> Instant | None:
    """Read an RFC 3339 instant; raises ValueError when it is malformed."""
    text = fields.text(name)
    return from_text(text) if text else None


def usage_in(at: Stamp, fields: Fields) -> Usage:
    """Read the deltas of a usage event."""
    tokens = Tokens(
        input=fields.count("input"),
        output=fields.count("output"),
        cache_read=fields.count("cache_read"),
        cache_write=fields.count("cache_write"),
    )
    cost = fields.integer("cost_micros")
    if cost is not None and cost < 0:
        raise ValueError("a cost is never negative")
    return Usage(at=at, tokens=tokens, cost_micros=cost)


def call_in(at: Stamp, fields: Fields) -> ToolCall:
    """Read a tool call; what an MCP tool was asked is kept, as JSON text."""
    kind = ToolKind(fields.text("kind") or "other")
    return ToolCall(
        at=at,
        call_id=name_in(fields, "call_id"),
        name=name_in(fields, "name"),
        kind=kind,
        arguments=head(fields.text("arguments"), MCP_CHARACTERS_MAX) if kind is ToolKind.MCP else "",
    )


def result_in(at: Stamp, fields: Fields) -> ToolResult:
    """Read the end of a tool call; the answer is there for MCP tools only."""
    return ToolResult(
        at=at,
        call_id=name_in(fields, "call_id"),
        name=name_in(fields, "name"),
        result=ToolResultClass(fields.text("class") or "unknown"),
        exit_code=fields.integer("exit_code"),
        answer=head(fields.text("answer"), MCP_CHARACTERS_MAX),
        took_us=fields.integer("took_us"),
    )


DECODERS: dict[str, Callable[[Stamp, Fields], SessionEvent]] = {
    "started": lambda at, fields: Started(
        at=at,
        resume_id=name_in(fields, "resume_id") or None,
        model=name_in(fields, "model"),
        version=name_in(fields, "version"),
    ),
    "text": lambda at, fields: Text(at=at, text=head(fields.text("text"), TEXT_CHARACTERS_MAX)),
    "tool_call": call_in,
    "tool_result": result_in,
    "usage": usage_in,
    "limit": lambda at, fields: Limit(
        at=at,
        kind=LimitKind(fields.text("kind") or "unknown"),
        reset_at=instant_in(fields, "reset_at"),
        detail=detail_in(fields, "detail"),
    ),
    "retrying": lambda at, fields: Retrying(
        at=at,
        attempt=fields.count("attempt"),
        reason=detail_in(fields, "reason"),
        delay_us=fields.integer("delay_us"),
    ),
    "denied": lambda at, fields: Denied(at=at, call_id=name_in(fields, "call_id"), name=name_in(fields, "name")),
    "mcp_status": lambda at, fields: McpStatus(
        at=at,
        server=name_in(fields, "server"),
        state=McpState(fields.text("state")),
        required=fields.flag("required"),
    ),
    "error": lambda at, fields: SessionError(at=at, code=name_in(fields, "code"), message=detail_in(fields, "message")),
    "finished": lambda at, fields: Finished(at=at, failed=fields.flag("failed"), reason=name_in(fields, "reason")),
}
