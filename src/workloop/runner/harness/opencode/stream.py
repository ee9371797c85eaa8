"""How opencode's JSON events are read, and what its silences and exit codes really mean."""

from collections.abc import Callable, Mapping

from workloop.domain.clock import Instant
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Conclusion,
    Finished,
    Limit,
    LimitKind,
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
from workloop.runner.harness.calls import Calls, Tool, built_in, mcp_name, table
from workloop.runner.harness.exits import describe_exit
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.lines import RuleReader
from workloop.runner.harness.port import Ending
from workloop.runner.harness.resets import reset_of
from workloop.runner.signatures import Signatures

TOOL_KINDS: Mapping[str, ToolKind] = table(
    {
        ToolKind.SHELL: "bash",
        ToolKind.EDIT: "write edit patch apply_patch multiedit",
        ToolKind.READ: "read glob grep list lsp",
        ToolKind.WEB: "webfetch websearch",
    }
)
INVALID = "invalid"  # the tool that stands in for one the model got wrong
UNAVAILABLE = "unavailable tool"
OVERFLOW = "ContextOverflowError"
OVERFLOWS_MAX = 3  # it compacts and tries again for ever
GONE = "session not found"
MILLISECOND_US = 1_000


class OpencodeReader(RuleReader):
    """One session's stream: what was said so far, and what it adds up to.

    There is no end event: the last step's reason, an error that no later step made good, and the exit status say
    together how it ended.
    """

    def __init__(
        self, session_id: str, signatures: Signatures, *, servers: tuple[str, ...], own: str, resume_id: str | None
    ) -> None:
        super().__init__(session_id, signatures)
        self.servers = servers
        self.own = own
        self.resume_id = resume_id
        self.started = False
        self.calls = Calls(self.stamper)
        self.in_step = False
        self.steps = 0
        self.spoke = False
        self.said: list[str] = []
        self.reason = ""
        self.last_tokens = 0
        self.facts: dict[str, str] = {}
        self.reset_at: Instant | None = None
        self.recovered = False
        self.overflows = 0
        self.unreported = Tokens()
        self.unreported_micros: int | None = None

    def read(self, kind: str, fields: Fields) -> list[SessionEvent] | None:
        """Read a line by its rule."""
        rule = RULES.get(kind)
        return None if rule is None else [*self.begin(fields), *rule(self, fields)]

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge the session by its last step and error first, by how the process ended after that."""
        session_class = self.judge(exit_code, signal, stderr_tail)
        clean = session_class is SessionClass.CLEAN
        detail = self.facts.get("text") or self.detail(exit_code, signal, stderr_tail)
        gone = GONE in stderr_tail.casefold()
        conclusion = Conclusion(
            session_class=session_class,
            final_text=tail("\n".join(self.said), TEXT_CHARACTERS_MAX) if clean else "",
            reset_at=self.reset_at if session_class is SessionClass.LIMITED else None,
            resume_id=None if gone else self.resume_id,
            detail="" if clean else head(detail, DETAIL_CHARACTERS_MAX),
        )
        events = (self.usage(self.unreported, self.unreported_micros),) if self.unreported.total else ()
        return Ending(conclusion=conclusion, events=events)

    def judge(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> SessionClass:
        """Name the class of the session."""
        if self.doomed:
            return SessionClass.CONTEXT
        failed = signal is not None or exit_code not in {0, None}
        if self.facts:
            return self.signatures.session_class(self.facts) or SessionClass.CRASHED
        if failed and not (self.recovered and signal is None):
            fallback = SessionClass.CRASHED if self.steps or signal else SessionClass.DEAD
            return self.by_stderr(stderr_tail) or fallback
        if self.calls.refused:
            return SessionClass.DENIED
        if not self.steps:
            return self.by_stderr(stderr_tail) or SessionClass.DEAD
        return self.by_last_step()

    def by_stderr(self, stderr_tail: str) -> SessionClass | None:
        """Name the class by what the CLI wrote where no event came: its own words, never the agent's."""
        return self.signatures.session_class({"stderr": stderr_tail})

    def by_last_step(self) -> SessionClass:
        """Name the class of a session that ended in silence, by why its last step ended."""
        match self.reason:
            case "stop":
                return SessionClass.CLEAN if self.spoke else SessionClass.DEAD
            case "length":
                return SessionClass.CONTEXT
            case "content-filter":
                return SessionClass.REFUSAL
            case "tool-calls" | "":
                return SessionClass.CRASHED
            case _:
                return SessionClass.CRASHED if self.last_tokens else SessionClass.DEAD

    @property
    def doomed(self) -> bool:
        """Say whether the session compacts in vain, again and again."""
        return self.overflows >= OVERFLOWS_MAX

    def detail(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> str:
        """Say in one line why the session ended as it did."""
        how = describe_exit(exit_code, signal, stderr_tail) or "it ended by itself"
        return f"the last step ended with {self.reason or 'nothing'}; {how}" if self.steps else how

    def begin(self, fields: Fields) -> list[SessionEvent]:
        """Report the session's identity, which the first event carries."""
        if self.started or not fields.text("sessionID"):
            return []
        self.started = True
        self.resume_id = head(fields.text("sessionID"), 200)
        return [Started(at=self.stamper.again(), resume_id=self.resume_id)]

    def on_step_start(self, fields: Fields) -> list[SessionEvent]:
        """Begin a step: what was said before is not the final text."""
        del fields
        self.in_step = True
        self.said = []
        return []

    def on_text(self, fields: Fields) -> list[SessionEvent]:
        """Read what the agent said; between steps it is the CLI that speaks."""
        text = head(fields.inner("part").text("text"), TEXT_CHARACTERS_MAX)
        if not self.in_step or self.doomed or not text.strip():
            return []
        self.spoke = True
        self.said.append(text)
        return [Text(at=self.stamper.again(), text=text)]

    def on_tool_use(self, fields: Fields) -> list[SessionEvent]:
        """Read a tool call, of which only the end is printed."""
        part = fields.inner("part")
        state, call_id = part.inner("state"), part.text("callID")
        asked = state.inner("input")
        missing = part.text("tool") == INVALID and UNAVAILABLE in asked.text("error")
        tool = self.tool_named(asked.text("tool") if missing else part.text("tool"))
        self.spoke = True
        self.overflows = 0
        exit_code = state.inner("metadata").integer("exit")
        answer = state.text("output") or state.text("error")
        result = ToolResultClass.MISSING_TOOL if missing else self.result_of(tool, state, exit_code)
        return [
            self.calls.opened(call_id, tool, asked.values),
            *self.calls.closed(call_id, result, exit_code=exit_code, answer=answer, took_us=took_us(state)),
        ]

    def tool_named(self, name: str) -> Tool:
        """Tell a server's tool from the CLI's own by the server's name in front."""
        for server in self.servers:
            if name.startswith(f"{server}_"):
                spelled = mcp_name(server, name.removeprefix(f"{server}_"))
                return Tool(name=spelled, kind=ToolKind.MCP, own=server == self.own)
        return built_in(TOOL_KINDS, name)

    def result_of(self, tool: Tool, state: Fields, exit_code: int | None) -> ToolResultClass:
        """Name the class of a result; what no rule knows stays unknown."""
        if tool.name == INVALID:
            return ToolResultClass.MODEL_ARGUMENT
        if state.text("status") == "completed":
            return ToolResultClass.COMMAND_NONZERO if exit_code else ToolResultClass.OK
        facts = {"name": tool.name, "text": state.text("error")[:DETAIL_CHARACTERS_MAX]}
        return self.signatures.tool_class(facts) or ToolResultClass.UNKNOWN

    def on_step_finish(self, fields: Fields) -> list[SessionEvent]:
        """Count a step, and take an error before it as made good."""
        part = fields.inner("part")
        counts, cache = part.inner("tokens"), part.inner("tokens").inner("cache")
        tokens = Tokens(
            input=counts.count("input"),
            output=counts.count("output") + counts.count("reasoning"),
            cache_read=cache.count("read"),
            cache_write=cache.count("write"),
        )
        self.in_step = False
        self.steps += 1
        self.reason = head(part.text("reason"), 200)
        self.last_tokens = tokens.total
        self.recovered = self.recovered or bool(self.facts)
        self.facts = {}
        return self.count(tokens, part.micros("cost"))

    def count(self, tokens: Tokens, cost_micros: int | None) -> list[SessionEvent]:
        """Report what a step cost; once the session is doomed, spending is no sign of life any more."""
        if not self.doomed:
            return [self.usage(tokens, cost_micros)]
        self.unreported += tokens
        if cost_micros is not None:
            self.unreported_micros = (self.unreported_micros or 0) + cost_micros
        return []

    def usage(self, tokens: Tokens, cost_micros: int | None) -> Usage:
        """Report tokens and what they cost."""
        return Usage(at=self.stamper.again(), tokens=tokens, cost_micros=cost_micros)

    def on_error(self, fields: Fields) -> list[SessionEvent]:
        """Read an error of the CLI, which a later step may make good."""
        error = fields.inner("error")
        name, data = error.text("name"), error.inner("data")
        body = (parse(data.text("responseBody").encode(errors="replace")) or Fields(None)).inner("error")
        status = data.integer("statusCode")
        self.facts = {
            "name": name,
            "status": "" if status is None else str(status),
            "kind": body.text("type"),
            "code": body.text("code"),
            "retryable": "yes" if data.flag("isRetryable") else "no",
            "text": head(data.text("message"), DETAIL_CHARACTERS_MAX),
        }
        events: list[SessionEvent] = [
            SessionError(at=self.stamper.again(), code=head(name, 200), message=self.facts["text"])
        ]
        return [*events, *self.limit(fields, data, body), *self.overflow(name)]

    def limit(self, fields: Fields, data: Fields, body: Fields) -> list[SessionEvent]:
        """Report a limit with what is known about its end."""
        if self.signatures.session_class(self.facts) is not SessionClass.LIMITED:
            return []
        stamp = fields.integer("timestamp")
        at = None if stamp is None else Instant(stamp * MILLISECOND_US)
        self.reset_at = reset_of(body, data.inner("responseHeaders"), at)
        detail = self.facts["text"]
        return [Limit(at=self.stamper.again(), kind=LimitKind.UNKNOWN, reset_at=self.reset_at, detail=detail)]

    def overflow(self, name: str) -> list[SessionEvent]:
        """Say that the session is over when the context stays too long however often it is compacted."""
        self.overflows += name == OVERFLOW
        if name != OVERFLOW or not self.doomed:
            return []
        return [Finished(at=self.stamper.again(), failed=True, reason=f"the context overflowed {self.overflows} times")]


def took_us(state: Fields) -> int | None:
    """Return what a call took by the CLI's own clock; its beginning is not printed."""
    start, end = state.inner("time").integer("start"), state.inner("time").integer("end")
    return None if start is None or end is None or end < start else (end - start) * MILLISECOND_US


RULES: dict[str, Callable[[OpencodeReader, Fields], list[SessionEvent]]] = {
    "step_start": OpencodeReader.on_step_start,
    "text": OpencodeReader.on_text,
    "tool_use": OpencodeReader.on_tool_use,
    "step_finish": OpencodeReader.on_step_finish,
    "error": OpencodeReader.on_error,
}
