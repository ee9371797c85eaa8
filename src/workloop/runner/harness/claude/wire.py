"""The shape of Claude Code's lines: only what is read is decoded, and what cannot refer to itself is not traced."""

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct, field

from workloop.runner.harness.shapes import NOTHING, Count, Whole


class Part(Struct, gc=False):
    """One part of what a tool answered."""

    text: str = ""


Content = str | list[Part]


class Block(Struct, gc=False):
    """One block of a message: a text, a call of a tool, or how a call ended."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Raw = NOTHING
    tool_use_id: str = ""
    content: Content = ""
    is_error: bool | None = None


class Counts(Struct, gc=False):
    """The provider's usage of one call."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0


class ModelCounts(Struct, rename="camel", gc=False):
    """What one model has cost so far."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    cost: float | None = field(default=None, name="costUSD")


class Message(Struct, gc=False):
    """A message of the agent, or the results that are handed back to it."""

    id: str = ""
    model: str | None = None
    content: list[Block] = []
    usage: Counts | None = None


class Window(Struct, rename="camel", gc=False):
    """One window of a limit."""

    status: str | None = None
    resets_at: Whole | None = None


class Limits(Window, rename="camel", gc=False):
    """A report of a limit."""

    is_using_overage: bool | None = None
    rate_limit_type: str | None = None
    unified_windows: dict[str, Window] = {}


class ErrorParams(Struct, gc=False):
    """What a failed call of the model told besides its words."""

    rate_limit_info: Limits | None = None


class Server(Struct, gc=False):
    """One MCP server of the session."""

    name: str = ""
    status: str = ""


class Assistant(Struct, tag="assistant", gc=False):
    """A message of the agent, or one of the CLI itself that is dressed as one."""

    message: Message | None = None
    timestamp: str = ""
    error: str | None = None
    is_api_error_message: bool | None = None
    api_error_params: ErrorParams | None = None


class User(Struct, tag="user", gc=False):
    """What is handed back to the agent."""

    message: Message | None = None
    timestamp: str = ""


class System(Struct, tag="system", gc=False):
    """What the CLI says of itself: its start, a retry, a refusal, and much that nobody needs."""

    subtype: str = ""
    timestamp: str = ""
    session_id: str = ""
    mcp_servers: list[Server] | None = None
    model: str = ""
    claude_code_version: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    attempt: Count = 0
    retry_delay_ms: Whole | None = None
    error: str | None = None


class LimitReport(Struct, tag="rate_limit_event", gc=False):
    """A report of a limit."""

    rate_limit_info: Limits | None = None
    timestamp: str = ""


class Result(Struct, tag="result", gc=False):
    """The end of a turn."""

    stop_reason: str | None = None
    session_id: str = ""
    total_cost_usd: float | None = None
    usage: Counts | None = None
    model_usage: dict[str, ModelCounts] | None = field(default=None, name="modelUsage")
    terminal_reason: str | None = None
    is_error: bool | None = None
    num_turns: Count = 0
    subtype: str = ""
    api_error: str | None = None
    api_error_status: Whole | None = None
    api_error_type: str | None = None
    errors: list[str] | None = None
    result: str | None = None
    timestamp: str = ""
    model_usage_since_last_result: dict[str, ModelCounts] | None = None


Line = Assistant | User | System | LimitReport | Result

SHAPES: Mapping[str, type[Line]] = {
    "assistant": Assistant,
    "user": User,
    "system": System,
    "rate_limit_event": LimitReport,
    "result": Result,
}
DECODER: "msgspec.json.Decoder[Line]" = msgspec.json.Decoder(Line)
NO_MESSAGE, NO_COUNTS, NO_RESULT = Message(), Counts(), Result()


def text_of(content: Content) -> str:
    """Return the text of an answer: a bare one, or the texts of its parts."""
    return content if isinstance(content, str) else "\n".join([part.text for part in content])
