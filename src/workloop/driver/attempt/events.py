"""How an agent's event is told to a person in a few plain words."""

from workloop.domain.session import (
    Denied,
    Limit,
    McpStatus,
    Retrying,
    SessionError,
    SessionEvent,
    Text,
    ToolCall,
    ToolResult,
    head,
    kind_of,
)

WORDS_MAX = 200


def told(event: SessionEvent) -> dict[str, str]:
    """Return an event's kind and its one telling fact."""
    return {"kind": kind_of(event), "what": head(gist(event), WORDS_MAX)}


def gist(event: SessionEvent) -> str:
    """Return what a person would want to know of an event; often nothing beyond its kind."""
    match event:
        case Text():
            return event.text
        case ToolCall() | Denied():
            return event.name
        case ToolResult():
            return f"{event.name} {event.result}"
        case Limit():
            return event.detail
        case Retrying():
            return event.reason
        case McpStatus():
            return f"{event.server} {event.state}"
        case SessionError():
            return event.message
        case _:
            return ""
