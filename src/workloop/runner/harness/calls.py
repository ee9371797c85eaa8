"""What became of the tools that an agent called, whatever its CLI calls them."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from workloop.domain.frozen import frozen
from workloop.domain.session import (
    MCP_CHARACTERS_MAX,
    Denied,
    SessionEvent,
    ToolCall,
    ToolKind,
    ToolResult,
    ToolResultClass,
    head,
)
from workloop.runner.harness.stamper import Stamper

NAME_CHARACTERS_MAX = 200


@frozen
class Tool:
    """One tool as an adapter understood its name; own is one of the loop's."""

    name: str
    kind: ToolKind
    own: bool = False


RAN = (ToolResultClass.OK, ToolResultClass.COMMAND_NONZERO)
UNSEEN = Tool(name="", kind=ToolKind.OTHER)


class Calls:
    """The open calls of one session, and the refusals that matter at its end."""

    def __init__(self, stamper: Stamper) -> None:
        self.stamper = stamper
        self.open: dict[str, Tool] = {}
        self.own_denied = False
        self.last = ToolResultClass.OK
        self.seen = 0

    @property
    def refused(self) -> bool:
        """Say whether the session lacked a tool that it needed: one of ours, or the last it asked for."""
        return self.own_denied or self.last is ToolResultClass.REFUSED

    def opened(self, call_id: str, tool: Tool, arguments: object) -> ToolCall:
        """Report a call; what it was asked is kept of MCP tools only."""
        call_id = head(call_id, NAME_CHARACTERS_MAX)
        self.open[call_id] = tool
        self.seen += 1
        kept = bounded_json(arguments) if tool.kind is ToolKind.MCP else ""
        return ToolCall(self.stamper.again(), call_id, head(tool.name, NAME_CHARACTERS_MAX), tool.kind, kept)

    def is_open(self, call_id: str) -> bool:
        """Say whether a call was seen that has not ended."""
        return call_id in self.open or head(call_id, NAME_CHARACTERS_MAX) in self.open

    def tool_of(self, call_id: str) -> Tool:
        """Return the tool of an open call."""
        return self.open.get(head(call_id, NAME_CHARACTERS_MAX), UNSEEN)

    def closed(
        self,
        call_id: str,
        result: ToolResultClass,
        *,
        exit_code: int | None = None,
        answer: str = "",
        took_us: int | None = None,
    ) -> list[SessionEvent]:
        """Report how a call ended; the answer is kept of MCP tools only."""
        call_id = head(call_id, NAME_CHARACTERS_MAX)
        tool = self.open.pop(call_id, UNSEEN)
        name = head(tool.name, NAME_CHARACTERS_MAX)
        self.last = result
        events: list[SessionEvent] = []
        if result is ToolResultClass.REFUSED:
            self.own_denied = self.own_denied or tool.own
            events.append(Denied(self.stamper.again(), call_id, name))
        kept = head(answer, MCP_CHARACTERS_MAX) if tool.kind is ToolKind.MCP else ""
        told = exit_code if result in RAN else None
        events.append(ToolResult(self.stamper.again(), call_id, name, result, told, kept, took_us))
        return events


def mcp_name(server: str, tool: str) -> str:
    """Spell the name of a server's tool in the one way that every adapter reports it."""
    return f"mcp__{server}__{tool}"


def bounded_json(value: object) -> str:
    """Return a value as JSON, cut where it is long."""
    return head(msgspec.json.encode(value).decode(), MCP_CHARACTERS_MAX)


def built_in(kinds: Mapping[str, ToolKind], name: str) -> Tool:
    """Return a tool of the CLI's own."""
    return Tool(name=name, kind=kinds.get(name, ToolKind.OTHER))


def table(names: Mapping[ToolKind, str]) -> Mapping[str, ToolKind]:
    """Turn lists of names by kind into kinds by name."""
    return MappingProxyType({name: kind for kind, listed in names.items() for name in listed.split()})
