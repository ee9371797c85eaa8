"""How one session over `codex app-server` is led and read: JSON-RPC in lines, both ways."""

import msgspec

from workloop.domain.session import McpState, McpStatus, SessionEvent, Started, head
from workloop.runner.harness.codex.dialogue import INITIALIZE, THREAD, TURN, Dialogue, Opening
from workloop.runner.harness.codex.items import CodexItems
from workloop.runner.harness.codex.reader import NAME_CHARACTERS_MAX, CodexReader
from workloop.runner.harness.codex.usage import CodexUsage
from workloop.runner.harness.codex.verdict import Failure, failure_of
from workloop.runner.harness.codex.wire import (
    NO_ITEM,
    Message,
    Opened,
    Params,
    TokenUsage,
    Turn,
    fields_of,
    shape_of,
    value_of,
)
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.signatures import Signatures

MCP_STATES = {"ready": McpState.CONNECTED, "starting": McpState.PENDING}
THREADS_MAX = 1_000
DECODER = msgspec.json.Decoder(Message)
METHOD = b'{"method":"'
SILENT = tuple(
    b'{"method":"item/%s","params":{"item":{"type":"%s"' % (when, what)
    for when, what in (
        (b"started", b"agentMessage"),
        (b"started", b"userMessage"),
        (b"completed", b"userMessage"),
        (b"started", b"reasoning"),
        (b"completed", b"reasoning"),
    )
)


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
        self.table = {
            "error": self.on_error,
            "turn/started": self.on_turn,
            "turn/completed": self.on_turn_completed,
            "item/started": self.on_item_started,
            "item/completed": self.on_item_completed,
            "thread/tokenUsage/updated": self.on_usage,
            "account/rateLimits/updated": self.on_limits,
            "mcpServer/startupStatus/updated": self.on_server,
        }

    def replies(self) -> bytes:
        """Return what is to be said now."""
        return self.dialogue.take()

    def read(self, line: bytes) -> list[SessionEvent] | None:
        """Read a line by its method; most say nothing that is needed, and are not decoded."""
        if line.startswith(METHOD):
            method = line[len(METHOD) : line.find(b'"', len(METHOD))].decode()
            if method in self.signatures.ignored or line.startswith(SILENT):
                return []
        message = DECODER.decode(line)
        if not message.method:
            return self.on_response(message)
        if not isinstance(message.id, msgspec.UnsetType):
            self.dialogue.asked(parse(line) or Fields(None))
            return []
        rule = self.table.get(message.method)
        if rule is not None:
            return rule(message.params or Params())
        return [] if message.method in self.signatures.ignored else None

    def own(self, params: Params) -> bool:
        """Say whether a notification is about the thread that is ours."""
        thread_id = params.thread_id
        if self.resume_id is None and not self.started:
            self.resume_id = head(thread_id or "", NAME_CHARACTERS_MAX) or None
        return not thread_id or thread_id == self.resume_id

    def on_response(self, message: Message) -> list[SessionEvent] | None:
        """Read an answer to what we asked, and say what comes next."""
        if isinstance(message.id, msgspec.UnsetType):
            return None
        result, failed = message.result, not isinstance(message.error, msgspec.UnsetType)
        if not failed and isinstance(result, msgspec.UnsetType):
            return None
        number = value_of(message.id)
        if number not in (INITIALIZE, THREAD, TURN) or self.ended:
            return []
        if failed:
            error = fields_of(message.error)
            failure = Failure(message=error.text("message"), info=f"rpc {error.integer('code')}")
            return [self.error(failure), *self.failed(failure)]
        if number == INITIALIZE:
            self.dialogue.initialized()
        elif number == THREAD:
            return self.on_thread(shape_of(Opened, result))
        else:
            self.turn_id = shape_of(Opened, result).turn.id
        return []

    def on_thread(self, opened: Opened) -> list[SessionEvent]:
        """Read which thread it is, and begin the turn."""
        thread_id = opened.thread.id
        if self.started or not thread_id:
            return []
        self.started = True
        self.resume_id = head(thread_id, NAME_CHARACTERS_MAX)
        self.dialogue.thread_opened(thread_id)
        model, version = head(opened.model, NAME_CHARACTERS_MAX), head(opened.thread.cli_version, NAME_CHARACTERS_MAX)
        return [Started(self.stamper.again(), self.resume_id, model, version)]

    def on_turn(self, params: Params) -> list[SessionEvent]:
        """Note which turn is ours."""
        if self.own(params):
            self.turn_id = shape_of(Turn, params.turn).id
        return []

    def on_item_started(self, params: Params) -> list[SessionEvent]:
        """Read the beginning of an item."""
        return (self.items if self.own(params) else self.others).started(params.item or NO_ITEM)

    def on_item_completed(self, params: Params) -> list[SessionEvent]:
        """Read the end of an item."""
        return (self.items if self.own(params) else self.others).completed(params.item or NO_ITEM)

    def on_usage(self, params: Params) -> list[SessionEvent]:
        """Read a running total of a thread."""
        usage, thread_id = self.usage, params.thread_id or ""
        if not self.own(params):
            if thread_id not in self.usage_of_others and len(self.usage_of_others) >= THREADS_MAX:
                return []
            usage = self.usage_of_others.setdefault(thread_id, CodexUsage(resumed=False))
        own_turn = bool(self.turn_id) and params.turn_id == self.turn_id
        return self.counted(usage.of_report(params.token_usage or TokenUsage(), own_turn=own_turn))

    def on_limits(self, params: Params) -> list[SessionEvent]:
        """Note the account's windows."""
        self.windows.note(params.rate_limits)
        return []

    def on_server(self, params: Params) -> list[SessionEvent]:
        """Report an MCP server; only the loop's own is required."""
        name, status = params.name or "", value_of(params.status)
        state = MCP_STATES.get(status, McpState.FAILED) if isinstance(status, str) else McpState.FAILED
        shown, required = head(name, NAME_CHARACTERS_MAX), bool(name) and name == self.server
        return [McpStatus(self.stamper.again(), shown, state, required)]

    def on_error(self, params: Params) -> list[SessionEvent]:
        """Read an error of the turn; only the turn's own end says that it was the last one."""
        failure = failure_of(fields_of(params.error))
        if not self.own(params):
            return [self.error(failure)]
        return self.troubled(failure, retries=params.will_retry)

    def on_turn_completed(self, params: Params) -> list[SessionEvent]:
        """Read the end of the turn."""
        if not self.own(params) or self.ended:
            return []
        turn = shape_of(Turn, params.turn)
        match turn.status:
            case "completed":
                said = [item.text for item in turn.items if item.type == "agentMessage"]
                self.items.final_text = said[-1] if said else self.items.final_text
                return self.completed()
            case "failed":
                told = fields_of(turn.error)
                return self.failed(failure_of(told) if told else self.last_error or Failure(info="failed"))
            case status:
                return self.failed(Failure(message=f"the turn was {status or 'ended'}", info=status))
