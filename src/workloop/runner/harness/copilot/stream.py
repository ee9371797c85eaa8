"""How the Copilot CLI's JSON events are read, and when its exit code 0 is no success."""

from collections.abc import Callable, Mapping

from workloop.domain.clock import Instant, from_text
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Conclusion,
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
    ToolKind,
    ToolResultClass,
    head,
    tail,
)
from workloop.runner.harness.calls import Calls, Tool, built_in, mcp_name, table
from workloop.runner.harness.exits import describe_exit
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.lines import RuleReader
from workloop.runner.harness.port import Ending
from workloop.runner.harness.resets import reset_of
from workloop.runner.signatures import Signatures

TOOL_KINDS: Mapping[str, ToolKind] = table(
    {
        ToolKind.SHELL: "bash read_bash stop_bash list_bash",
        ToolKind.EDIT: "create edit str_replace apply_patch",
        ToolKind.READ: "view grep glob",
        ToolKind.WEB: "web_fetch web_search",
    }
)
MCP_STATES: Mapping[str, McpState] = {"connected": McpState.CONNECTED, "pending": McpState.PENDING}
DISABLED = "disabled"
GONE = ("no session", "session not found", "no task or session")


class CopilotReader(RuleReader):
    """One session's stream: what was said so far, and what it adds up to; the session's id is one that we chose."""

    def __init__(self, session_id: str, signatures: Signatures, *, server: str, resume_id: str) -> None:
        super().__init__(session_id, signatures)
        self.server = server
        self.resume_id = resume_id
        self.started = False
        self.calls = Calls(self.stamper)
        self.spoke = False
        self.said = ""
        self.aborted = False
        self.failure = Fields(None)
        self.failed_at = ""
        self.facts: dict[str, str] = {}
        self.reset_at: Instant | None = None
        self.result = Fields(None)

    def read(self, kind: str, fields: Fields) -> list[SessionEvent] | None:
        """Read a line by its rule."""
        rule = RULES.get(kind)
        return None if rule is None else rule(self, fields)

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge the session by the CLI's own error and result first, by how the process ended only without them."""
        session_class = self.judge(exit_code, signal, stderr_tail)
        ended_well = session_class in {SessionClass.CLEAN, SessionClass.DENIED}
        detail = self.facts.get("text") or describe_exit(exit_code, signal, stderr_tail)
        gone = not self.started and any(word in stderr_tail.casefold() for word in GONE)
        conclusion = Conclusion(
            session_class=session_class,
            final_text=tail(self.said, TEXT_CHARACTERS_MAX) if ended_well else "",
            reset_at=self.reset_at if session_class is SessionClass.LIMITED else None,
            resume_id=None if gone else self.resume_id,
            detail=head("aborted" if self.aborted and not detail else detail, DETAIL_CHARACTERS_MAX),
        )
        return Ending(conclusion=conclusion)

    def judge(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> SessionClass:
        """Name the class of the session."""
        if self.facts:
            return self.signatures.session_class(self.facts) or SessionClass.CRASHED
        if self.aborted:
            return SessionClass.CRASHED
        if not self.result:
            fallback = SessionClass.CRASHED if self.spoke or signal else SessionClass.DEAD
            return self.signatures.session_class({"stderr": stderr_tail}) or fallback
        if self.result.integer("exitCode") or exit_code not in {0, None}:
            return self.signatures.session_class({"stderr": stderr_tail}) or SessionClass.CRASHED
        if self.calls.refused:
            return SessionClass.DENIED
        return SessionClass.CLEAN if self.spoke else SessionClass.DEAD

    def on_tools_updated(self, fields: Fields) -> list[SessionEvent]:
        """Report the session's start, once the model is known."""
        if self.started:
            return []
        self.started = True
        model = head(fields.inner("data").text("model"), 200)
        return [Started(at=self.stamper.again(), resume_id=self.resume_id, model=model)]

    def on_servers_loaded(self, fields: Fields) -> list[SessionEvent]:
        """Report every MCP server that is in use; ours counts as failed when it is not even listed."""
        servers = {server.text("name"): server.text("status") for server in fields.inner("data").each("servers")}
        if self.server:
            servers.setdefault(self.server, "missing")
        return [self.mcp_status(name, status) for name, status in servers.items() if status != DISABLED]

    def on_server_changed(self, fields: Fields) -> list[SessionEvent]:
        """Report that one MCP server is there, or is not."""
        data = fields.inner("data")
        status = data.text("status")
        return [] if status == DISABLED else [self.mcp_status(data.text("serverName"), status)]

    def mcp_status(self, name: str, status: str) -> McpStatus:
        """Report one MCP server; only the loop's own is required."""
        state = MCP_STATES.get(status, McpState.FAILED)
        required = bool(name) and name == self.server
        return McpStatus(at=self.stamper.again(), server=head(name, 200), state=state, required=required)

    def on_message(self, fields: Fields) -> list[SessionEvent]:
        """Read what the agent said; the newest message is the final text."""
        data = fields.inner("data")
        text = head(data.text("content"), TEXT_CHARACTERS_MAX)
        self.said = text
        self.spoke = self.spoke or bool(text.strip()) or bool(data.each("toolRequests"))
        return [Text(at=self.stamper.again(), text=text)] if text.strip() else []

    def on_tool_start(self, fields: Fields) -> list[SessionEvent]:
        """Read a tool call."""
        data = fields.inner("data")
        server, name = data.text("mcpServerName"), data.text("toolName")
        tool = built_in(TOOL_KINDS, name)
        if server:
            spelled = mcp_name(server, data.text("mcpToolName"))
            tool = Tool(name=spelled, kind=ToolKind.MCP, own=server == self.server)
        self.spoke = True
        return [self.calls.opened(data.text("toolCallId"), tool, data.inner("arguments").values)]

    def on_tool_end(self, fields: Fields) -> list[SessionEvent]:
        """Read the end of a tool call."""
        data = fields.inner("data")
        call_id, result = data.text("toolCallId"), data.inner("result")
        exit_code = data.inner("shellExecution").integer("exitCode")
        told = "\n".join(part.text("text") for part in result.each("contents"))
        answer = told or result.text("content") or data.inner("error").text("message")
        return self.calls.closed(call_id, self.result_of(data, exit_code), exit_code=exit_code, answer=answer)

    def result_of(self, data: Fields, exit_code: int | None) -> ToolResultClass:
        """Name the class of a result; what no rule knows stays unknown."""
        if data.flag("success"):
            return ToolResultClass.COMMAND_NONZERO if exit_code else ToolResultClass.OK
        error = data.inner("error")
        facts = {
            "name": self.calls.tool_of(data.text("toolCallId")).name,
            "code": error.text("code"),
            "text": error.text("message")[:DETAIL_CHARACTERS_MAX],
        }
        return self.signatures.tool_class(facts) or ToolResultClass.UNKNOWN

    def on_call_failure(self, fields: Fields) -> list[SessionEvent]:
        """Keep what the provider said to the last try, in case it decides the session."""
        self.failure, self.failed_at = fields.inner("data"), fields.text("timestamp")
        return []

    def on_retry(self, fields: Fields) -> list[SessionEvent]:
        """Read that the CLI tries a model call again."""
        reason = head(fields.inner("data").text("reason"), 200)
        return [Retrying(at=self.stamper.again(), attempt=self.failure.count("retryAttempt") + 1, reason=reason)]

    def on_error(self, fields: Fields) -> list[SessionEvent]:
        """Read the error that ends the session, with what the provider said before it."""
        data, last = fields.inner("data"), self.failure
        status = data.integer("statusCode") or last.integer("statusCode")
        self.facts = {
            "kind": data.text("errorType"),
            "status": "" if status is None else str(status),
            "provider_kind": last.text("errorType"),
            "code": last.text("errorCode"),
            "failure": last.text("failureKind"),
            "text": head(data.text("message"), DETAIL_CHARACTERS_MAX),
        }
        code, message = head(data.text("errorType"), 200), self.facts["text"]
        return [SessionError(at=self.stamper.again(), code=code, message=message), *self.limit(last)]

    def limit(self, last: Fields) -> list[SessionEvent]:
        """Report a limit with what is known about its end."""
        if self.signatures.session_class(self.facts) is not SessionClass.LIMITED:
            return []
        body = parse(last.text("errorMessage").encode(errors="replace")) or Fields(None)
        self.reset_at = reset_of(body, Fields(None), instant_in(self.failed_at))
        detail = self.facts["text"]
        return [Limit(at=self.stamper.again(), kind=LimitKind.UNKNOWN, reset_at=self.reset_at, detail=detail)]

    def on_abort(self, fields: Fields) -> list[SessionEvent]:
        """Remember that the session was cut short, which its exit code hides; after its result it was not."""
        del fields
        self.aborted = not self.result
        return []

    def on_result(self, fields: Fields) -> list[SessionEvent]:
        """Read the end of the session."""
        self.result = fields
        self.resume_id = head(fields.text("sessionId"), 200) or self.resume_id
        failed = bool(fields.integer("exitCode")) or self.aborted
        reason = self.facts.get("kind") or ("aborted" if self.aborted else "")
        return [Finished(at=self.stamper.again(), failed=failed, reason=head(reason, 200))]


def instant_in(text: str) -> Instant | None:
    """Read the instant of an event; a malformed one is none."""
    try:
        return from_text(text)
    except ValueError:
        return None


RULES: dict[str, Callable[[CopilotReader, Fields], list[SessionEvent]]] = {
    "session.tools_updated": CopilotReader.on_tools_updated,
    "session.mcp_servers_loaded": CopilotReader.on_servers_loaded,
    "session.mcp_server_status_changed": CopilotReader.on_server_changed,
    "assistant.message": CopilotReader.on_message,
    "tool.execution_start": CopilotReader.on_tool_start,
    "tool.execution_complete": CopilotReader.on_tool_end,
    "model.call_failure": CopilotReader.on_call_failure,
    "assistant.turn_retry": CopilotReader.on_retry,
    "session.error": CopilotReader.on_error,
    "abort": CopilotReader.on_abort,
    "result": CopilotReader.on_result,
}
