"""How the Claude Code CLI's stream-json output is read, and what its result really means."""

from collections.abc import Callable

from workloop.domain.clock import Instant
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Conclusion,
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
    tail,
)
from workloop.runner.harness.claude.tools import ClaudeTools
from workloop.runner.harness.claude.usage import ClaudeUsage
from workloop.runner.harness.fields import Fields, instant_of_seconds, parse
from workloop.runner.harness.port import Ending
from workloop.runner.harness.stamper import Stamper
from workloop.runner.signatures import Signatures

MCP_STATES = {"connected": McpState.CONNECTED, "pending": McpState.PENDING}
GONE = "no conversation found"


class ClaudeReader:
    """One session's stream: what was said so far, and what it adds up to."""

    def __init__(self, session_id: str, signatures: Signatures, *, server: str, resume_id: str | None) -> None:
        self.stamper = Stamper(session_id)
        self.signatures = signatures
        self.server = server
        self.usage = ClaudeUsage(resumed=resume_id is not None)
        self.resume_id = resume_id
        self.started = False
        self.spoke = False
        self.tools = ClaudeTools(signatures, server)
        self.rejected = False
        self.limit_told = False
        self.reset_at: Instant | None = None
        self.error = ""
        self.result = Fields(None)

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one line; an empty one is nothing, an unknown one is kept as unrecognised."""
        if not line.strip():
            return []
        fields = parse(line)
        kind = fields.text("type") if fields else ""
        if kind == "system" and fields:
            kind = f"system/{fields.text('subtype')}"
        if kind in self.signatures.ignored:
            return []
        rule = RULES.get(kind)
        if fields is None or rule is None:
            return [self.stamper.unrecognised(line, self.stamper.at(arrival_us))]
        self.stamper.last_arrival_us = arrival_us
        return rule(self, fields)

    def overlong(self, size: int, arrival_us: int) -> list[SessionEvent]:
        """Take note of a line that was too long to keep."""
        return [self.stamper.overlong(size, arrival_us)]

    def replies(self) -> bytes:
        """Return nothing: the session does not listen."""
        return b""

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge the session by its result first, by how the process ended only without one."""
        session_class = self.judge(exit_code, signal, stderr_tail)
        events: list[SessionEvent] = []
        if session_class is SessionClass.LIMITED and not self.limit_told:
            events.append(self.limit(LimitKind.UNKNOWN, detail=self.error_text()))
        conclusion = Conclusion(
            session_class=session_class,
            final_text=tail("" if self.failed else self.result.text("result"), TEXT_CHARACTERS_MAX),
            reset_at=self.reset_at if session_class is SessionClass.LIMITED else None,
            resume_id=self.resume_id if GONE not in (self.error_text() + stderr_tail).casefold() else None,
            detail=head(self.detail(exit_code, signal, stderr_tail), DETAIL_CHARACTERS_MAX),
        )
        return Ending(conclusion=conclusion, events=tuple(events))

    @property
    def failed(self) -> bool:
        """Say whether the result, whatever it calls itself, reports a failure."""
        return self.result.flag("is_error")

    def judge(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> SessionClass:
        """Name the class of the session."""
        if not self.result:
            fallback = SessionClass.CRASHED if self.spoke or signal else SessionClass.DEAD
            return self.signatures.session_class(self.facts(stderr_tail)) or fallback
        if self.failed or exit_code not in {0, None}:
            return self.signatures.session_class(self.facts("")) or SessionClass.CRASHED
        if self.tools.refused:
            return SessionClass.DENIED
        return SessionClass.CLEAN if self.spoke else SessionClass.DEAD

    def facts(self, stderr_tail: str) -> dict[str, str]:
        """Gather what the signature rules look at; the agent's own words are not among it."""
        named = ("subtype", "api_error", "api_error_type", "terminal_reason", "stop_reason")
        facts = {name: self.result.text(name) for name in named}
        status = self.result.integer("api_error_status")
        return facts | {
            "status": "" if status is None else str(status),
            "error": self.error,
            "rate_limit": "rejected" if self.rejected else "",
            "text": self.error_text(),
            "stderr": stderr_tail,
        }

    def error_text(self) -> str:
        """Return the words of a failed result."""
        if not self.failed:
            return ""
        return "\n".join([self.result.text("result"), *self.result.texts("errors")]).strip()

    def detail(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> str:
        """Say in one line why the session ended as it did."""
        if self.error_text():
            return self.error_text()
        if self.result:
            return self.result.text("terminal_reason")
        how = f"signal {signal}" if signal else f"exit code {exit_code}"
        return f"ended without a result ({how}) {stderr_tail.strip()[-400:]}".strip()

    def on_init(self, fields: Fields) -> list[SessionEvent]:
        """Read the opening line: identity, and whether our server is there."""
        if self.started:
            return []
        self.started = True
        self.resume_id = fields.text("session_id") or self.resume_id
        start = Started(
            at=self.stamper.again(),
            resume_id=self.resume_id,
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
        """Read one message of the agent, or the CLI's own error dressed as one."""
        if fields.flag("is_api_error_message") or fields.text("error"):
            return self.on_api_error(fields)
        message = fields.inner("message")
        events = self.count_message(message)
        for block in message.each("content"):
            events += self.on_block(block)
        return events

    def on_api_error(self, fields: Fields) -> list[SessionEvent]:
        """Keep the error's class and the reset time it may carry."""
        self.error = fields.text("error")
        info = fields.inner("api_error_params").inner("rate_limit_info")
        if info.text("status") == "rejected":
            self.reset_at = info.epoch_seconds("resetsAt") or self.reset_at
        texts = [block.text("text") for block in fields.inner("message").each("content")]
        message = head("\n".join(texts), DETAIL_CHARACTERS_MAX)
        return [SessionError(at=self.stamper.again(), code=head(self.error, 200), message=message)]

    def on_block(self, block: Fields) -> list[SessionEvent]:
        """Read one content block of the agent's message."""
        match block.text("type"):
            case "text" if block.text("text"):
                self.spoke = True
                return [Text(at=self.stamper.again(), text=head(block.text("text"), TEXT_CHARACTERS_MAX))]
            case "tool_use":
                self.spoke = True
                call_id, name, kind = self.tools.opened(block)
                return [ToolCall(at=self.stamper.again(), call_id=call_id, name=name, kind=kind)]
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
        return ToolResult(at=self.stamper.again(), call_id=call_id, name=name, result=result, exit_code=exit_code)

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
        self.rejected = info.text("status") == "rejected" and not info.flag("isUsingOverage")
        if not self.rejected:
            return []
        self.reset_at = info.epoch_seconds("resetsAt")
        return [self.limit(LimitKind.WINDOW, detail=info.text("rateLimitType"))]

    def limit(self, kind: LimitKind, *, detail: str) -> Limit:
        """Report a limit with what is known about its end."""
        self.limit_told = True
        return Limit(
            at=self.stamper.again(), kind=kind, reset_at=self.reset_at, detail=head(detail, DETAIL_CHARACTERS_MAX)
        )

    def on_result(self, fields: Fields) -> list[SessionEvent]:
        """Read the end of a turn: totals, and the failure that may hide in a success."""
        self.result = fields
        self.resume_id = fields.text("session_id") or self.resume_id
        pattern = self.signatures.reset_pattern
        written = pattern.search(self.error_text()) if pattern else None
        if written:
            self.reset_at = self.reset_at or instant_of_seconds(int(written[1]))
        reason = fields.text("terminal_reason") or fields.text("subtype")
        tokens, cost_micros = self.usage.of_result(fields)
        return [
            Usage(at=self.stamper.again(), tokens=tokens, cost_micros=cost_micros),
            Finished(at=self.stamper.again(), failed=self.failed, reason=head(reason, 200)),
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
