"""Which end belongs to which call, and the least that the tool itself can have taken, whatever else went on."""

from collections.abc import Iterable
from dataclasses import dataclass

from workloop.domain.session import (
    McpState,
    McpStatus,
    SessionEvent,
    ToolCall,
    ToolKind,
    ToolResult,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A call and its end; took_us is a lower bound, own says that the harness measured it itself.

    server_up is False where the MCP server that the tool belongs to was not there.
    """

    call: ToolCall
    end: ToolResult
    took_us: int
    server_up: bool

    @property
    def places(self) -> tuple[int, int]:
        """Return the numbers of both events."""
        return self.call.seq, self.end.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """What one session's calls came to; ends without a call and calls without an end tell nothing about a tool."""

    pairs: tuple[Pair, ...]
    unpaired: tuple[int, ...]


def paired(events: Iterable[SessionEvent]) -> Pairing:
    """Pair the calls of one session with their ends, in the order of the ends.

    A call is charged only with the time since the event before its end: what came between shows that the model, its
    provider, a person or another tool was at work, and nobody can say for how much of the time.
    """
    pairs: list[Pair] = []
    unpaired: list[int] = []
    open_calls: dict[str, ToolCall] = {}
    servers: dict[str, McpState] = {}
    before_us = 0
    for event in events:
        match event:
            case ToolCall():
                if (forgotten := open_calls.pop(event.call_id, None)) is not None:
                    unpaired.append(forgotten.seq)
                open_calls[event.call_id] = event
            case ToolResult():
                call = open_calls.pop(event.call_id, None)
                if call is None:
                    unpaired.append(event.seq)
                else:
                    took = since(before_us, call, event)
                    pairs.append(Pair(call=call, end=event, took_us=took, server_up=is_up(call, servers)))
            case McpStatus():
                servers[event.server] = event.state
            case _:
                pass
        before_us = max(before_us, event.arrival_us)
    unpaired += [call.seq for call in open_calls.values()]
    return Pairing(pairs=tuple(pairs), unpaired=tuple(sorted(unpaired)))


def since(before_us: int, call: ToolCall, end: ToolResult) -> int:
    """Return the least that a call took: by the harness's own clock, or since the last other thing that happened."""
    if end.took_us is not None:
        return max(0, end.took_us)
    return max(0, end.arrival_us - max(before_us, call.arrival_us))


def is_up(call: ToolCall, servers: dict[str, McpState]) -> bool:
    """Say whether the server of an MCP tool was there, as far as the session told."""
    if call.kind is not ToolKind.MCP:
        return True
    return all(
        state is McpState.CONNECTED for server, state in servers.items() if call.name.startswith(f"mcp__{server}__")
    )
