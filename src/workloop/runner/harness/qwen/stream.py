"""How Qwen Code's stream-json output is read, and what it means when no result comes."""

import re
from collections.abc import Callable, Mapping

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
    Tokens,
    ToolKind,
    ToolResultClass,
    Usage,
    head,
    tail,
)
from workloop.runner.harness.calls import Calls, Tool, built_in, table
from workloop.runner.harness.exits import describe_exit
from workloop.runner.harness.fields import Fields
from workloop.runner.harness.lines import RuleReader
from workloop.runner.harness.port import Ending
from workloop.runner.harness.qwen.answer import plain_answer
from workloop.runner.signatures import Signatures

TOOL_KINDS: Mapping[str, ToolKind] = table(
    {
        ToolKind.SHELL: "run_shell_command monitor Bash",
        ToolKind.EDIT: "write_file edit notebook_edit",
        ToolKind.READ: "read_file grep_search glob zoom_image",
        ToolKind.WEB: "web_fetch web_search",
    }
)
THROUGH = "tool_call"  # the tool through which tools behind the search are called
MCP_PREFIX = "mcp__"
MCP_STATES: Mapping[str, McpState] = {"connected": McpState.CONNECTED, "connecting": McpState.PENDING}
OWN_ERROR = "[API Error: "
EXIT_CODE = re.compile(r"^Exit Code: (\d{1,3})$", re.MULTILINE)
WAITING = re.compile(r"^Retrying in \d+s \(attempt \d+/\d+\): (.*)$", re.MULTILINE)
GONE = ("no saved session", "no session found", "session not found")


class QwenReader(RuleReader):
    """One session's stream: what was said so far, and what it adds up to."""

    def __init__(self, session_id: str, signatures: Signatures, *, server: str, resume_id: str | None) -> None:
        super().__init__(session_id, signatures)
        self.server = server
        self.resumed = resume_id is not None
        self.resume_id = resume_id
        self.started = False
        self.calls = Calls(self.stamper)
        self.counted = Tokens()
        self.spoke = False
        self.waiting = False
        self.result = Fields(None)

    def kind_of(self, fields: Fields) -> str:
        """Return what kind of line it is; of the system's there are several."""
        kind = fields.text("type")
        return f"system/{fields.text('subtype')}" if kind == "system" else kind

    def read(self, kind: str, fields: Fields) -> list[SessionEvent] | None:
        """Read a line by its rule."""
        rule = RULES.get(kind)
        return None if rule is None else rule(self, fields)

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge the session by its result first, by its exit code and the CLI's last words only without one."""
        session_class = self.judge(exit_code, signal, stderr_tail)
        ended_well = session_class in {SessionClass.CLEAN, SessionClass.DENIED}
        detail = self.error or self.waited_for(stderr_tail) or describe_exit(exit_code, signal, stderr_tail)
        detail = head(detail, DETAIL_CHARACTERS_MAX)
        events: tuple[SessionEvent, ...] = ()
        if session_class is SessionClass.LIMITED:
            events = (Limit(at=self.stamper.again(), kind=LimitKind.UNKNOWN, detail=detail),)
        gone = not self.started and any(word in stderr_tail.casefold() for word in GONE)
        conclusion = Conclusion(
            session_class=session_class,
            final_text=tail(self.result.text("result"), TEXT_CHARACTERS_MAX) if ended_well else "",
            resume_id=None if gone else self.resume_id,
            detail=detail,
        )
        return Ending(conclusion=conclusion, events=events)

    @property
    def error(self) -> str:
        """Return what the result calls its error."""
        return self.result.inner("error").text("message")

    def judge(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> SessionClass:
        """Name the class of the session."""
        if self.result.flag("is_error") or (self.result and exit_code not in {0, None}):
            return self.signatures.session_class({"text": self.error}) or SessionClass.CRASHED
        if not self.result:
            return self.without_result(exit_code, signal, stderr_tail)
        if self.calls.refused and self.result.each("permission_denials"):
            return SessionClass.DENIED
        return SessionClass.CLEAN if self.spoke else SessionClass.DEAD

    def without_result(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> SessionClass:
        """Name the class of a session that ended without a result: by the code, or by what it was waiting for."""
        waited_for = self.waited_for(stderr_tail)
        facts = {"exit": "" if exit_code is None else str(exit_code), "text": waited_for}
        if signal is None and exit_code is not None:
            facts["stderr"] = stderr_tail
        fallback = SessionClass.CRASHED if self.started or self.spoke or signal else SessionClass.DEAD
        return self.signatures.session_class(facts) or fallback

    def waited_for(self, stderr_tail: str) -> str:
        """Return why the CLI was waiting when it ended: its own words, and only if nothing came after the wait."""
        reasons = WAITING.findall(stderr_tail)
        return str(reasons[-1]) if self.waiting and reasons else ""

    def on_init(self, fields: Fields) -> list[SessionEvent]:
        """Read the opening line: identity, and whether our server is there."""
        if self.started:
            return []
        self.started = True
        self.resume_id = head(fields.text("session_id"), 200) or self.resume_id
        start = Started(
            at=self.stamper.again(),
            resume_id=self.resume_id,
            model=head(fields.text("model"), 200),
            version=head(fields.text("qwen_code_version"), 200),
        )
        servers = {
            server.text("name"): MCP_STATES.get(server.text("status"), McpState.FAILED)
            for server in fields.each("mcp_servers")
        }
        if self.server:
            servers.setdefault(self.server, McpState.FAILED)
        return [start, *(self.mcp_status(name, state) for name, state in servers.items())]

    def mcp_status(self, name: str, state: McpState) -> McpStatus:
        """Report one MCP server; only the loop's own is required."""
        required = bool(name) and name == self.server
        return McpStatus(at=self.stamper.again(), server=head(name, 200), state=state, required=required)

    def on_assistant(self, fields: Fields) -> list[SessionEvent]:
        """Read one message of the agent."""
        self.waiting = False
        message = fields.inner("message")
        events = self.count(usage_tokens(message.inner("usage")))
        for block in message.each("content"):
            events += self.on_block(block)
        return events

    def on_block(self, block: Fields) -> list[SessionEvent]:
        """Read one content block of the agent's message, which may be the CLI's own error."""
        said = block.text("text")
        match block.text("type"):
            case "text" if said.startswith(OWN_ERROR):
                return [SessionError(at=self.stamper.again(), code="", message=head(said, DETAIL_CHARACTERS_MAX))]
            case "text" if said.strip():
                self.spoke = True
                return [Text(at=self.stamper.again(), text=head(said, TEXT_CHARACTERS_MAX))]
            case "tool_use":
                self.spoke = True
                name, arguments = block.text("name"), block.inner("input")
                if name == THROUGH:
                    name, arguments = arguments.text("name"), arguments.inner("arguments")
                return [self.calls.opened(block.text("id"), self.tool_named(name), arguments.values)]
            case _:
                return []

    def tool_named(self, name: str) -> Tool:
        """Tell a server's tool from the CLI's own."""
        if not name.startswith(MCP_PREFIX):
            return built_in(TOOL_KINDS, name)
        own = bool(self.server) and name.startswith(f"{MCP_PREFIX}{self.server}__")
        return Tool(name=name, kind=ToolKind.MCP, own=own)

    def count(self, tokens: Tokens) -> list[SessionEvent]:
        """Report the tokens of a message."""
        if not tokens.total:
            return []
        self.counted += tokens
        return [Usage(at=self.stamper.again(), tokens=tokens)]

    def on_user(self, fields: Fields) -> list[SessionEvent]:
        """Read the tool results that the CLI hands back to the model."""
        self.waiting = False
        blocks = [block for block in fields.inner("message").each("content") if block.text("type") == "tool_result"]
        return [event for block in blocks for event in self.tool_result(block)]

    def tool_result(self, block: Fields) -> list[SessionEvent]:
        """Read how one tool call ended."""
        call_id = block.text("tool_use_id")
        content = block.text("content") or "\n".join(part.text("text") for part in block.each("content"))
        tool = self.calls.tool_of(call_id)
        codes = EXIT_CODE.findall(content) if tool.kind is ToolKind.SHELL else []
        exit_code = int(codes[-1]) if codes else None
        result = self.result_of(block, tool, content, exit_code)
        return self.calls.closed(call_id, result, exit_code=exit_code, answer=plain_answer(content))

    def result_of(self, block: Fields, tool: Tool, content: str, exit_code: int | None) -> ToolResultClass:
        """Name the class of a result; what no rule knows stays unknown."""
        if not block.flag("is_error"):
            return ToolResultClass.OK
        facts = {"name": tool.name, "text": content[:DETAIL_CHARACTERS_MAX]}
        known = self.signatures.tool_class(facts)
        if known is None and exit_code:
            return ToolResultClass.COMMAND_NONZERO
        return known or ToolResultClass.UNKNOWN

    def on_retry(self, fields: Fields) -> list[SessionEvent]:
        """Read that the CLI tries a model call again, perhaps after a long wait."""
        data = fields.inner("data")
        delay = data.integer("delayMs")
        self.waiting = delay is not None
        return [
            Retrying(
                at=self.stamper.again(),
                attempt=data.count("attempt"),
                reason=head(data.text("reason"), 200),
                delay_us=None if delay is None else delay * 1_000,
            )
        ]

    def on_result(self, fields: Fields) -> list[SessionEvent]:
        """Read the end; its totals include what a resumed session spent before, and are not used then."""
        self.result = fields
        self.resume_id = head(fields.text("session_id"), 200) or self.resume_id
        more = Tokens() if self.resumed else usage_tokens(fields.inner("usage")).beyond(self.counted)
        spent = self.count(more)
        reason = head(fields.text("subtype"), 200)
        finished = Finished(at=self.stamper.again(), failed=fields.flag("is_error"), reason=reason)
        return [*spent, finished]


def usage_tokens(usage: Fields) -> Tokens:
    """Fold the CLI's usage into the four buckets; its input includes what was read from the cache."""
    cached = usage.count("cache_read_input_tokens")
    return Tokens(
        input=max(0, usage.count("input_tokens") - cached),
        output=usage.count("output_tokens"),
        cache_read=cached,
        cache_write=usage.count("cache_creation_input_tokens"),
    )


RULES: dict[str, Callable[[QwenReader, Fields], list[SessionEvent]]] = {
    "system/init": QwenReader.on_init,
    "system/retry": QwenReader.on_retry,
    "assistant": QwenReader.on_assistant,
    "user": QwenReader.on_user,
    "result": QwenReader.on_result,
}
