"""How the Claude Code CLI's stream-json output becomes events."""

from collections.abc import Callable
from dataclasses import dataclass

from workloop.domain.clock import Instant
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Denied,
    Finished,
    Limit,
    LimitKind,
    McpState,
    McpStatus,
    Retrying,
    SessionClass,
    SessionError,
    SessionEvent,
    Started,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    head,
)
from workloop.runner.harness.claude.mending import Mender
from workloop.runner.harness.claude.outcome import ClaudeOutcome, End
from workloop.runner.harness.claude.tools import ClaudeTools, answer_of, arguments_of
from workloop.runner.harness.claude.usage import ClaudeUsage
from workloop.runner.harness.claude.wire import (
    DECODER,
    NO_MESSAGE,
    SHAPES,
    Assistant,
    Block,
    LimitReport,
    Line,
    Message,
    Result,
    System,
    User,
    text_of,
)
from workloop.runner.harness.fields import parse
from workloop.runner.harness.lines import LineReader
from workloop.runner.harness.port import Ending
from workloop.runner.harness.shapes import built, decoded
from workloop.runner.signatures import Signatures

MCP_STATES = {"connected": McpState.CONNECTED, "pending": McpState.PENDING}
GONE = "no conversation found"
SYNTHETIC = "<synthetic>"  # the model's name on messages that the CLI wrote itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which session is read: our id, the name of the loop's MCP server if there is one, and what is resumed."""

    session_id: str
    server: str = ""
    resume_id: str | None = None
    started_at: Instant | None = None


class ClaudeReader(LineReader):
    """One session's stream: what was said so far, and what it adds up to."""

    def __init__(self, identity: Identity, signatures: Signatures) -> None:
        super().__init__(identity.session_id)
        self.signatures = signatures
        self.server = identity.server
        self.usage = ClaudeUsage(resumed=identity.resume_id is not None)
        self.tools = ClaudeTools(signatures, identity.server)
        self.outcome = ClaudeOutcome(signatures, identity.resume_id, identity.started_at)
        self.mender = Mender()
        self.started = False
        self.limit_told = False

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one line; an empty one is nothing, an unknown one is kept as unrecognised."""
        told = None if self.mender.held else decoded(DECODER, line)
        if told is not None:
            return self.act(told, line, arrival_us)
        if not line.strip():
            return []
        return [event for whole in self.mender.feed(line) for event in self.read(whole, arrival_us)]

    def read(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one event that is of no kind that is read, or of which not all is as it should be."""
        fields = parse(line)
        if fields is None:
            self.outcome.line(line)
            return [self.stamper.unrecognised(line, self.stamper.at(arrival_us))]
        shape = SHAPES.get(fields.text("type"))
        if shape is None:
            return self.unread(fields.text("type"), line, arrival_us)
        return self.act(built(shape, fields.values), line, arrival_us)

    def unread(self, kind: str, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Pass over a kind that says nothing that is needed, and keep the others in short."""
        if kind in self.signatures.ignored:
            return []
        return [self.stamper.unrecognised(line, self.stamper.at(arrival_us))]

    def act(self, told: Line, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Read one event by its kind."""
        if isinstance(told, System) and told.subtype not in SYSTEM_RULES:
            return self.unread(f"system/{told.subtype}", line, arrival_us)
        self.stamper.last_arrival_us = arrival_us
        self.outcome.timestamp = told.timestamp or self.outcome.timestamp
        if isinstance(told, Assistant):
            return self.on_assistant(told)
        if isinstance(told, User):
            return self.on_user(told)
        if isinstance(told, Result):
            return self.on_result(told)
        return self.on_rate_limit(told) if isinstance(told, LimitReport) else SYSTEM_RULES[told.subtype](self, told)

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge the session by all it said and by how it ended."""
        events: list[SessionEvent] = []
        if rest := self.mender.finish():
            events.append(self.stamper.unrecognised(rest, self.stamper.again()))
        end = End(exit_code=exit_code, signal=signal, stderr_tail=stderr_tail)
        conclusion = self.outcome.conclude(end, refused=self.tools.refused)
        if conclusion.session_class is SessionClass.LIMITED and not self.limit_told:
            events.append(self.limit(LimitKind.UNKNOWN, detail=self.outcome.error_text()))
        return Ending(conclusion=conclusion, events=tuple(events))

    def on_init(self, told: System) -> list[SessionEvent]:
        """Read the opening line: identity, and whether our server is there."""
        if self.started:
            return []
        self.started = True
        self.outcome.resume_id = told.session_id or self.outcome.resume_id
        start = Started(
            at=self.stamper.again(),
            resume_id=self.outcome.resume_id,
            model=head(told.model, 200),
            version=head(told.claude_code_version, 200),
        )
        servers = told.mcp_servers or ()
        states = {server.name: MCP_STATES.get(server.status, McpState.FAILED) for server in servers}
        if self.server:
            states.setdefault(self.server, McpState.FAILED)
        return [start, *(self.mcp_status(name, state) for name, state in states.items())]

    def mcp_status(self, name: str, state: McpState) -> McpStatus:
        """Report one MCP server; only the loop's own is required."""
        return McpStatus(
            at=self.stamper.again(), server=head(name, 200), state=state, required=bool(name) and name == self.server
        )

    def on_assistant(self, told: Assistant) -> list[SessionEvent]:
        """Read one message of the agent, or one of the CLI itself that is dressed as one."""
        message = told.message or NO_MESSAGE
        if told.is_api_error_message or told.error or message.model == SYNTHETIC:
            return self.on_api_error(told)
        self.outcome.went_on()
        events = self.count_message(message)
        for block in message.content:
            if block.type == "text" and block.text:
                self.outcome.spoke = True
                events.append(Text(self.stamper.again(), head(block.text, TEXT_CHARACTERS_MAX)))
            elif block.type == "tool_use":
                self.outcome.spoke = True
                events.append(self.tool_call(block))
        return events

    def on_api_error(self, told: Assistant) -> list[SessionEvent]:
        """Keep the error's class and the reset time it may carry."""
        message = head(self.outcome.erred(told), DETAIL_CHARACTERS_MAX)
        code = head(self.outcome.error or "synthetic", 200)
        return [SessionError(at=self.stamper.again(), code=code, message=message)]

    def tool_call(self, block: Block) -> ToolCall:
        """Report that a tool was called."""
        call_id, name, kind = self.tools.opened(block)
        return ToolCall(self.stamper.again(), call_id, name, kind, arguments_of(block, name))

    def count_message(self, message: Message) -> list[SessionEvent]:
        """Count a message's tokens once."""
        more = self.usage.of_message(message)
        return [Usage(self.stamper.again(), more)] if more.total else []

    def on_user(self, told: User) -> list[SessionEvent]:
        """Read the tool results that the CLI hands back to the model."""
        return [
            self.tool_result(block) for block in (told.message or NO_MESSAGE).content if block.type == "tool_result"
        ]

    def tool_result(self, block: Block) -> ToolResult:
        """Report how one tool call ended."""
        content = text_of(block.content)
        call_id, name, result, exit_code = self.tools.closed(block, content)
        answer = answer_of(block, name, content)
        return ToolResult(self.stamper.again(), call_id, name, result, exit_code, answer)

    def on_denied(self, told: System) -> list[SessionEvent]:
        """Read a refusal by the permission policy."""
        call_id, name = self.tools.denied(told)
        return [Denied(at=self.stamper.again(), call_id=call_id, name=name)]

    def on_retry(self, told: System) -> list[SessionEvent]:
        """Read a retry of the CLI itself."""
        delay = told.retry_delay_ms
        return [
            Retrying(
                at=self.stamper.again(),
                attempt=told.attempt,
                reason=head(told.error or "unknown", 200),
                delay_us=None if delay is None else delay * 1_000,
            )
        ]

    def on_rate_limit(self, told: LimitReport) -> list[SessionEvent]:
        """Read a limit report; one that still allows the call says nothing."""
        limits = told.rate_limit_info
        if limits is None or not self.outcome.limited(limits):
            return []
        return [self.limit(LimitKind.WINDOW, detail=limits.rate_limit_type or "")]

    def limit(self, kind: LimitKind, *, detail: str) -> Limit:
        """Report a limit with what is known about its end."""
        self.limit_told = True
        return Limit(
            at=self.stamper.again(),
            kind=kind,
            reset_at=self.outcome.reset_at,
            detail=head(detail, DETAIL_CHARACTERS_MAX),
        )

    def on_result(self, told: Result) -> list[SessionEvent]:
        """Read the end of a turn: totals, and the failure that may hide in a success."""
        self.outcome.ended(told)
        reason = told.terminal_reason or told.subtype
        tokens, cost_micros = self.usage.of_result(told)
        return [
            Usage(at=self.stamper.again(), tokens=tokens, cost_micros=cost_micros),
            Finished(at=self.stamper.again(), failed=self.outcome.failed, reason=head(reason, 200)),
        ]


SYSTEM_RULES: dict[str, Callable[[ClaudeReader, System], list[SessionEvent]]] = {
    "init": ClaudeReader.on_init,
    "api_retry": ClaudeReader.on_retry,
    "permission_denied": ClaudeReader.on_denied,
}
