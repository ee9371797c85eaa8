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
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.port import Ending
from workloop.runner.harness.stamper import Stamper
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


class ClaudeReader:
    """One session's stream: what was said so far, and what it adds up to."""

    def __init__(self, identity: Identity, signatures: Signatures) -> None:
        self.stamper = Stamper(identity.session_id)
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
        if not line.strip():
            return []
        return [event for whole in self.mender.feed(line) for event in self.read(whole, arrival_us)]

    def read(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one event."""
        fields = parse(line)
        if fields is None:
            self.outcome.line(line)
            return [self.stamper.unrecognised(line, self.stamper.at(arrival_us))]
        kind = fields.text("type")
        if kind == "system":
            kind = f"system/{fields.text('subtype')}"
        if kind in self.signatures.ignored:
            return []
        rule = RULES.get(kind)
        if rule is None:
            return [self.stamper.unrecognised(line, self.stamper.at(arrival_us))]
        self.stamper.last_arrival_us = arrival_us
        self.outcome.timestamp = fields.text("timestamp") or self.outcome.timestamp
        return rule(self, fields)

    def overlong(self, size: int, arrival_us: int) -> list[SessionEvent]:
        """Take note of a line that was too long to keep."""
        return [self.stamper.overlong(size, arrival_us)]

    def replies(self) -> bytes:
        """Return nothing: the session does not listen."""
        return b""

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

    def on_init(self, fields: Fields) -> list[SessionEvent]:
        """Read the opening line: identity, and whether our server is there."""
        if self.started:
            return []
        self.started = True
        self.outcome.resume_id = fields.text("session_id") or self.outcome.resume_id
        start = Started(
            at=self.stamper.again(),
            resume_id=self.outcome.resume_id,
            model=head(fields.text("model"), 200),
            version=head(fields.text("claude_code_version"), 200),
        )
        states = {
            server.text("name"): MCP_STATES.get(server.text("status"), McpState.FAILED)
            for server in fields.each("mcp_servers")
        }
        if self.server:
            states.setdefault(self.server, McpState.FAILED)
        return [start, *(self.mcp_status(name, state) for name, state in states.items())]

    def mcp_status(self, name: str, state: McpState) -> McpStatus:
        """Report one MCP server; only the loop's own is required."""
        return McpStatus(
            at=self.stamper.again(), server=head(name, 200), state=state, required=bool(name) and name == self.server
        )

    def on_assistant(self, fields: Fields) -> list[SessionEvent]:
        """Read one message of the agent, or one of the CLI itself that is dressed as one."""
        message = fields.inner("message")
        if fields.flag("is_api_error_message") or fields.text("error") or message.text("model") == SYNTHETIC:
            return self.on_api_error(fields)
        self.outcome.went_on()
        events = self.count_message(message)
        for block in message.each("content"):
            events += self.on_block(block)
        return events

    def on_api_error(self, fields: Fields) -> list[SessionEvent]:
        """Keep the error's class and the reset time it may carry."""
        message = head(self.outcome.erred(fields), DETAIL_CHARACTERS_MAX)
        code = head(self.outcome.error or "synthetic", 200)
        return [SessionError(at=self.stamper.again(), code=code, message=message)]

    def on_block(self, block: Fields) -> list[SessionEvent]:
        """Read one content block of the agent's message."""
        match block.text("type"):
            case "text" if block.text("text"):
                self.outcome.spoke = True
                return [Text(at=self.stamper.again(), text=head(block.text("text"), TEXT_CHARACTERS_MAX))]
            case "tool_use":
                self.outcome.spoke = True
                call_id, name, kind = self.tools.opened(block)
                asked = arguments_of(block, name)
                return [ToolCall(at=self.stamper.again(), call_id=call_id, name=name, kind=kind, arguments=asked)]
            case _:
                return []

    def count_message(self, message: Fields) -> list[SessionEvent]:
        """Count a message's tokens once."""
        more = self.usage.of_message(message)
        return [Usage(at=self.stamper.again(), tokens=more)] if more.total else []

    def on_user(self, fields: Fields) -> list[SessionEvent]:
        """Read the tool results that the CLI hands back to the model."""
        blocks = [block for block in fields.inner("message").each("content") if block.text("type") == "tool_result"]
        return [self.tool_result(block) for block in blocks]

    def tool_result(self, block: Fields) -> ToolResult:
        """Report how one tool call ended."""
        call_id, name, result, exit_code = self.tools.closed(block)
        return ToolResult(
            at=self.stamper.again(),
            call_id=call_id,
            name=name,
            result=result,
            exit_code=exit_code,
            answer=answer_of(block, name),
        )

    def on_denied(self, fields: Fields) -> list[SessionEvent]:
        """Read a refusal by the permission policy."""
        call_id, name = self.tools.denied(fields)
        return [Denied(at=self.stamper.again(), call_id=call_id, name=name)]

    def on_retry(self, fields: Fields) -> list[SessionEvent]:
        """Read a retry of the CLI itself."""
        delay = fields.integer("retry_delay_ms")
        reason = fields.text("error") or "unknown"
        return [
            Retrying(
                at=self.stamper.again(),
                attempt=fields.count("attempt"),
                reason=head(reason, 200),
                delay_us=None if delay is None else delay * 1_000,
            )
        ]

    def on_rate_limit(self, fields: Fields) -> list[SessionEvent]:
        """Read a limit report; one that still allows the call says nothing."""
        info = fields.inner("rate_limit_info")
        if not self.outcome.limited(info):
            return []
        return [self.limit(LimitKind.WINDOW, detail=info.text("rateLimitType"))]

    def limit(self, kind: LimitKind, *, detail: str) -> Limit:
        """Report a limit with what is known about its end."""
        self.limit_told = True
        return Limit(
            at=self.stamper.again(),
            kind=kind,
            reset_at=self.outcome.reset_at,
            detail=head(detail, DETAIL_CHARACTERS_MAX),
        )

    def on_result(self, fields: Fields) -> list[SessionEvent]:
        """Read the end of a turn: totals, and the failure that may hide in a success."""
        self.outcome.ended(fields)
        reason = fields.text("terminal_reason") or fields.text("subtype")
        tokens, cost_micros = self.usage.of_result(fields)
        return [
            Usage(at=self.stamper.again(), tokens=tokens, cost_micros=cost_micros),
            Finished(at=self.stamper.again(), failed=self.outcome.failed, reason=head(reason, 200)),
        ]


RULES: dict[str, Callable[[ClaudeReader, Fields], list[SessionEvent]]] = {
    "system/init": ClaudeReader.on_init,
    "system/api_retry": ClaudeReader.on_retry,
    "system/permission_denied": ClaudeReader.on_denied,
    "assistant": ClaudeReader.on_assistant,
    "user": ClaudeReader.on_user,
    "rate_limit_event": ClaudeReader.on_rate_limit,
    "result": ClaudeReader.on_result,
}
