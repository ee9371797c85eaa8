"""What any agent session reports: one event model for every harness, and the report at its end."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from workloop.domain.clock import Instant
from workloop.domain.frozen import frozen

TEXT_CHARACTERS_MAX = 262_144
DETAIL_CHARACTERS_MAX = 2_000
MCP_CHARACTERS_MAX = 262_144
CUT_MARK = "[cut]"

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # operating system commands: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # device control and other strings
    r"|[\x1b\x9b]\[?[0-?]*[ -/]*[@-~]"  # control sequences and short escapes
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """Drop everything that could steer a terminal or hide text; keep newlines and tabs."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():  # the common cases, much faster
        return text
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def head(text: str, characters_max: int) -> str:
    """Keep the beginning of printable text, with a mark where it was cut."""
    clean = text if text.isprintable() else printable(text)
    return clean if len(clean) <= characters_max else clean[:characters_max] + CUT_MARK


def tail(text: str, characters_max: int) -> str:
    """Keep the end of printable text, with a mark where it was cut."""
    clean = printable(text)
    return clean if len(clean) <= characters_max else CUT_MARK + clean[-characters_max:]


class ToolKind(StrEnum):
    """What a tool does, as far as its name tells."""

    SHELL = "shell"
    EDIT = "edit"
    READ = "read"
    WEB = "web"
    MCP = "mcp"
    OTHER = "other"


class ToolResultClass(StrEnum):
    """How a tool call ended; only some of these say anything about the tool."""

    OK = "ok"
    TOOL_FAULT = "tool_fault"
    COMMAND_NONZERO = "command_nonzero"
    REFUSED = "refused"
    MODEL_ARGUMENT = "model_argument"
    MISSING_TOOL = "missing_tool"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INFRASTRUCTURE = "infrastructure"
    UNKNOWN = "unknown"


class McpState(StrEnum):
    """Where an MCP server of the session stands."""

    CONNECTED = "connected"
    PENDING = "pending"
    FAILED = "failed"


class LimitKind(StrEnum):
    """Which usage limit refused the call."""

    WINDOW = "window"
    RATE = "rate"
    UNKNOWN = "unknown"


@frozen
class Tokens:
    """Token counts in the four buckets that every provider's report is folded into."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    def beyond(self, earlier: "Tokens") -> "Tokens":
        """Return what this total has over an earlier one, never below zero."""
        return Tokens(
            max(0, self.input - earlier.input),
            max(0, self.output - earlier.output),
            max(0, self.cache_read - earlier.cache_read),
            max(0, self.cache_write - earlier.cache_write),
        )

    @property
    def total(self) -> int:
        """Return the sum of the four buckets."""
        return self.input + self.output + self.cache_read + self.cache_write


@frozen
class Stamp:
    """Which event of which session, and when it reached the host (monotonic microseconds)."""

    seq: int
    arrival_us: int
    session_id: str


@frozen
class Stamped:
    """What every event carries."""

    at: Stamp

    @property
    def seq(self) -> int:
        """Return the event's place in its session, from 1."""
        return self.at.seq

    @property
    def arrival_us(self) -> int:
        """Return the host's monotonic arrival in microseconds."""
        return self.at.arrival_us

    @property
    def session_id(self) -> str:
        """Return our id of the session."""
        return self.at.session_id


@frozen
class Started(Stamped):
    """The harness is up; resume_id is what it wants to hear to go on later."""

    resume_id: str | None = None
    model: str = ""
    version: str = ""


@frozen
class Text(Stamped):
    """The agent said something; printable and bounded."""

    text: str


@frozen
class ToolCall(Stamped):
    """The agent asked for a tool; arguments are kept of MCP tools only, as bounded JSON, else empty."""

    call_id: str
    name: str
    kind: ToolKind
    arguments: str = ""


@frozen
class ToolResult(Stamped):
    """A tool call ended; name is empty when the call was never seen, the answer is kept of MCP tools only, bounded.

    took_us is what the tool itself took where the harness says so, without what it waited for models and people.
    """

    call_id: str
    name: str
    result: ToolResultClass
    exit_code: int | None = None
    answer: str = ""
    took_us: int | None = None


@frozen
class Usage(Stamped):
    """Tokens spent since the previous usage event; cost only where the harness reports it."""

    tokens: Tokens
    cost_micros: int | None = None


@frozen
class Limit(Stamped):
    """A usage limit refused the session."""

    kind: LimitKind
    reset_at: Instant | None = None
    detail: str = ""


@frozen
class Retrying(Stamped):
    """The harness itself tries a model call again."""

    attempt: int
    reason: str
    delay_us: int | None = None


@frozen
class Denied(Stamped):
    """The harness's permission policy refused a tool."""

    call_id: str
    name: str


@frozen
class McpStatus(Stamped):
    """An MCP server's state; a required one that failed makes the session useless."""

    server: str
    state: McpState
    required: bool


@frozen
class SessionError(Stamped):
    """The harness reported an error; often only one of several tries."""

    code: str
    message: str


@frozen
class Finished(Stamped):
    """The harness said that the session is over; the process may still live."""

    failed: bool
    reason: str


@frozen
class Unrecognised(Stamped):
    """A line that no rule knows: kept in short, counted, never fatal."""

    raw: str


SessionEvent = (
    Started
    | Text
    | ToolCall
    | ToolResult
    | Usage
    | Limit
    | Retrying
    | Denied
    | McpStatus
    | SessionError
    | Finished
    | Unrecognised
)

EVENT_KINDS: Mapping[type[Stamped], str] = {
    Started: "started",
    Text: "text",
    ToolCall: "tool_call",
    ToolResult: "tool_result",
    Usage: "usage",
    Limit: "limit",
    Retrying: "retrying",
    Denied: "denied",
    McpStatus: "mcp_status",
    SessionError: "error",
    Finished: "finished",
    Unrecognised: "unrecognised",
}


def kind_of(event: SessionEvent) -> str:
    """Return the event's published kind."""
    return EVENT_KINDS[type(event)]


def is_progress(event: SessionEvent) -> bool:
    """Say whether the event shows the agent at work: text, a tool call or its end, tokens spent."""
    return isinstance(event, Text | ToolCall | ToolResult | Usage)


class SessionClass(StrEnum):
    """How a session ended; whether it settled its claim is the queue's record, not this."""

    CLEAN = "clean"
    LIMITED = "limited"
    TRANSIENT = "transient"
    AUTH = "auth"
    BILLING = "billing"
    CONFIG = "config"
    MODEL_MISSING = "model_missing"
    CONTEXT = "context"
    TURN_CAP = "turn_cap"
    COST_CAP = "cost_cap"
    REFUSAL = "refusal"
    DENIED = "denied"
    DEAD = "dead"
    HUNG = "hung"
    CRASHED = "crashed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What a harness adapter makes of its own stream and the exit status."""

    session_class: SessionClass
    final_text: str = ""
    reset_at: Instant | None = None
    resume_id: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReport:
    """One session from spawn to proven death; output is lost with a line that was too long to keep."""

    session_id: str
    session_class: SessionClass
    started_at: Instant
    ended_at: Instant
    exit_code: int | None = None
    signal: int | None = None
    final_text: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    usage_reported: bool = False
    cost_micros: int | None = None
    reset_at: Instant | None = None
    resume_id: str | None = None
    stderr_tail: str = ""
    detail: str = ""
    event_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    survivors_killed: int = 0
    death_proven: bool = True
    output_lost: bool = False

    @property
    def unrecognised(self) -> int:
        """Return how many lines no rule knew."""
        return self.event_counts.get("unrecognised", 0)
