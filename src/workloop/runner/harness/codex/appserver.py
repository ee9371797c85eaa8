"""How one session over `codex app-server` is led and read: JSON-RPC in lines, both ways."""

from collections.abc import Mapping

from workloop.domain.session import McpState, McpStatus, SessionEvent, Started, head
from workloop.runner.harness.codex.dialogue import INITIALIZE, THREAD, TURN, Dialogue, Opening
from workloop.runner.harness.codex.items import CodexItems
from workloop.runner.harness.codex.reader import NAME_CHARACTERS_MAX, CodexReader, Rule
from workloop.runner.harness.codex.usage import CodexUsage
from workloop.runner.harness.codex.verdict import Failure, failure_of
from workloop.runner.harness.fields import Fields
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.signatures import Signatures

MCP_STATES = {"ready": McpState.CONNECTED, "starting": McpState.PENDING}
THREADS_MAX = 1_000


class AppServerReader(CodexReader):
    """One thread with one turn, and whatever threads it starts itself."""

    def __init__(self, request: LaunchRequest, signatures: Signatures, opening: Opening, *, server: str) -> None:
        super().__init__(request, signatures, server=server)
        self.server = server
        self.dialogue = Dialogue(opening)
        self.others = CodexItems(self.stamper, signatures, "")
        self.usage_of_others: dict[str, CodexUsage] = {}
        self.turn_id = ""
        self.started = False
        self.table: Mapping[str, Rule] = {
            "response": self.on_response,
            "request": self.on_request,
            "error": self.on_error,
            "turn/started": self.on_turn,
            "turn/completed": self.on_turn_completed,
            "item/started": self.on_item_started,
            "item/completed": self.on_item_completed,
            "thread/tokenUsage/updated": self.on_usage,
            "account/rateLimits/updated": self.on_limits,
            "mcpServer/startupStatus/updated": self.on_server,
        }

    def rules(self) -> Mapping[str, Rule]:
        """Return the rules by method."""
        return self.table

    def kind(self, fields: Fields) -> str:
        """Tell answers, questions and notifications apart."""
        method = fields.text("method")
        if not method:
            return (
                "response" if "id" in fields.values and ("result" in fields.values or "error" in fields.values) else ""
            )
        return "request" if "id" in fields.values else method

    def replies(self) -> bytes:
        """Return what is to be said now."""
        return self.dialogue.take()

    def own(self, params: Fields) -> bool:
        """Say whether a notification is about the thread that is ours."""
        thread_id = params.text("threadId")
        if self.resume_id is None and not self.started:
            self.resume_id = head(thread_id, NAME_CHARACTERS_MAX) or None
        return not thread_id or thread_id == self.resume_id

    def on_response(self, fields: Fields) -> list[SessionEvent]:
        """Read an answer to what we asked, and say what comes next."""
        number, result = fields.integer("id"), fields.inner("result")
        if number not in {INITIALIZE, THREAD, TURN} or self.ended:
            return []
        if "error" in fields.values:
            error = fields.inner("error")
            failure = Failure(message=error.text("message"), info=f"rpc {error.integer('code')}")
            return [self.error(failure), *self.failed(failure)]
        if number == INITIALIZE:
            self.dialogue.initialized()
        elif number == THREAD:
            return self.on_thread(result)
        else:
            self.turn_id = result.inner("turn").text("id")
        return []

    def on_thread(self, result: Fields) -> list[SessionEvent]:
        """Read which thread it is, and begin the turn."""
        thread = result.inner("thread")
        thread_id = thread.text("id")
        if self.started or not thread_id:
            return []
        self.started = True
        self.resume_id = head(thread_id, NAME_CHARACTERS_MAX)
        self.dialogue.thread_opened(thread_id)
        model, version = (head(text, NAME_CHARACTERS_MAX) for text in (result.text("model"), thread.text("cliVersion")))
        return [Started(at=self.stamper.again(), resume_id=self.resume_id, model=model, version=version)]

    def on_request(self, fields: Fields) -> list[SessionEvent]:
        """Answer a question; what a refusal means shows in the item that it was about."""
        self.dialogue.asked(fields)
        return []

    def on_turn(self, fields: Fields) -> list[SessionEvent]:
        """Note which turn is ours."""
        params = fields.inner("params")
        if self.own(params):
            self.turn_id = params.inner("turn").text("id")
        return []

    def on_item_started(self, fields: Fields) -> list[SessionEvent]:
        """Read the beginning of an item."""
        params = fields.inner("params")
        return (self.items if self.own(params) else self.others).started(params.inner("item"))

    def on_item_completed(self, fields: Fields) -> list[SessionEvent]:
        """Read the end of an item."""
        params = fields.inner("params")
        return (self.items if self.own(params) else self.others).completed(params.inner("item"))

    def on_usage(self, fields: Fields) -> list[SessionEvent]:
        """Read a running total of a thread."""
        params = fields.inner("params")
        usage, thread_id = self.usage, params.text("threadId")
        if not self.own(params):
            if thread_id not in self.usage_of_others and len(self.usage_of_others) >= THREADS_MAX:
                return []
            usage = self.usage_of_others.setdefault(thread_id, CodexUsage(resumed=False))
        own_turn = bool(self.turn_id) and params.text("turnId") == self.turn_id
        return self.counted(usage.of_report(params.inner("tokenUsage"), own_turn=own_turn))

    def on_limits(self, fields: Fields) -> list[SessionEvent]:
        """Note the account's windows."""
        self.windows.note(fields.inner("params").inner("rateLimits"))
        return []

    def on_server(self, fields: Fields) -> list[SessionEvent]:
        """Report an MCP server; only the loop's own is required."""
        params = fields.inner("params")
        name = params.text("name")
        state = MCP_STATES.get(params.text("status"), McpState.FAILED)
        required = bool(name) and name == self.server
        return [
            McpStatus(at=self.stamper.again(), server=head(name, NAME_CHARACTERS_MAX), state=state, required=required)
        ]

    def on_error(self, fields: Fields) -> list[SessionEvent]:
        """Read an error of the turn; only the turn's own end says that it was the last one."""
        params = fields.inner("params")
        failure = failure_of(params.inner("error"))
        if not self.own(params):
            return [self.error(failure)]
        return self.troubled(failure, retries=params.flag("willRetry"))

    def on_turn_completed(self, fields: Fields) -> list[SessionEvent]:
        """Read the end of the turn."""
        params = fields.inner("params")
        if not self.own(params) or self.ended:
            return []
        turn = params.inner("turn")
        match turn.text("status"):
            case "completed":
                said = [item.text("text") for item in turn.each("items") if item.text("type") == "agentMessage"]
                self.items.final_text = said[-1] if said else self.items.final_text
                return self.completed()
            case "failed":
                told = turn.inner("error")
                return self.failed(failure_of(told) if told else self.last_error or Failure(info="failed"))
            case status:
                return self.failed(Failure(message=f"the turn was {status or 'ended'}", info=status))
