"""A session that is told event by event, with the time in milliseconds."""

from dataclasses import dataclass, field
from typing import Any

from workloop.domain.session import (
    Denied,
    McpState,
    McpStatus,
    Retrying,
    SessionEvent,
    Stamp,
    Text,
    Tokens,
    ToolCall,
    ToolKind,
    ToolResult,
    ToolResultClass,
    Usage,
)

TOOL = "mcp__work__build"


@dataclass
class Told:
    """The events so far."""

    session_id: str = "s-1"
    events: list[SessionEvent] = field(default_factory=list[SessionEvent])

    def at(self, ms: int) -> Stamp:
        return Stamp(len(self.events) + 1, ms * 1_000, self.session_id)

    def call(self, ms: int, call_id: str = "c-1", name: str = TOOL, kind: ToolKind = ToolKind.MCP) -> "Told":
        self.events.append(ToolCall(self.at(ms), call_id, name, kind))
        return self

    def end(
        self,
        ms: int,
        result: ToolResultClass = ToolResultClass.OK,
        call_id: str = "c-1",
        name: str = TOOL,
        answer: str = "",
        took_us: int | None = None,
    ) -> "Told":
        self.events.append(ToolResult(self.at(ms), call_id, name, result, None, answer, took_us))
        return self

    def other(self, kind: Any, ms: int, *facts: Any) -> "Told":
        self.events.append(kind(self.at(ms), *facts))
        return self

    def text(self, ms: int) -> "Told":
        return self.other(Text, ms, "thinking")

    def usage(self, ms: int) -> "Told":
        return self.other(Usage, ms, Tokens())

    def retry(self, ms: int) -> "Told":
        return self.other(Retrying, ms, 1, "overloaded")

    def denied(self, ms: int, call_id: str = "c-1", name: str = TOOL) -> "Told":
        return self.other(Denied, ms, call_id, name)

    def server(self, ms: int, state: McpState) -> "Told":
        return self.other(McpStatus, ms, "work", state, False)
