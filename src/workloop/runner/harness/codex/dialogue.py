"""What is said to `codex app-server`: the opening, and the answers to what it asks; nothing here does I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from workloop.runner.harness.fields import Fields

INITIALIZE, THREAD, TURN = 1, 2, 3
NO_SUCH_METHOD = -32601

Answer = Mapping[str, object]
DECLINED: Mapping[str, Answer] = {
    "item/commandExecution/requestApproval": {"decision": "decline"},
    "item/fileChange/requestApproval": {"decision": "decline"},
    "item/permissions/requestApproval": {"permissions": {}},
    "item/tool/requestUserInput": {"answers": {}},
    "item/tool/call": {"contentItems": [], "success": False},
    "applyPatchApproval": {"decision": "denied"},
    "execCommandApproval": {"decision": "denied"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What the session is about: the prompt, how the thread is made, and whose tools are allowed."""

    prompt: str
    thread: Mapping[str, object] = field(default_factory=dict[str, object])
    resume_id: str | None = None
    version: str = "0"
    servers: frozenset[str] = frozenset()


class Dialogue:
    """Our side of one conversation over standard input and output."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.outbox: list[bytes] = []
        client = {"name": "workloop", "title": "Workloop", "version": opening.version}
        self.ask(INITIALIZE, "initialize", {"clientInfo": client})

    def take(self) -> bytes:
        """Return what is to be sent, once."""
        sent, self.outbox = b"".join(self.outbox), []
        return sent

    def send(self, message: Mapping[str, object]) -> None:
        """Put one message into the outbox."""
        self.outbox.append(msgspec.json.encode(message) + b"\n")

    def ask(self, number: int, method: str, params: Mapping[str, object]) -> None:
        """Put a request into the outbox."""
        self.send({"id": number, "method": method, "params": params})

    def initialized(self) -> None:
        """Open the thread, or the one that is to go on."""
        self.send({"method": "initialized"})
        if self.opening.resume_id is None:
            self.ask(THREAD, "thread/start", self.opening.thread)
        else:
            known = {"threadId": self.opening.resume_id, "excludeTurns": True}
            self.ask(THREAD, "thread/resume", {**self.opening.thread, **known})

    def thread_opened(self, thread_id: str) -> None:
        """Begin the one turn."""
        text = {"type": "text", "text": self.opening.prompt}
        self.ask(TURN, "turn/start", {"threadId": thread_id, "input": [text]})

    def asked(self, request: Fields) -> None:
        """Answer a request: the tools of the session's own servers are allowed, everything else is not."""
        number, method = request.values.get("id"), request.text("method")
        if method == "mcpServer/elicitation/request":
            self.send({"id": number, "result": {"action": self.elicited(request.inner("params"))}})
        elif method in DECLINED:
            self.send({"id": number, "result": DECLINED[method]})
        else:
            self.send({"id": number, "error": {"code": NO_SUCH_METHOD, "message": "nobody is here to answer"}})

    def elicited(self, params: Fields) -> str:
        """Accept the call of a tool that the session was given; decline a server's question to a person."""
        approval = params.inner("_meta").text("codex_approval_kind") == "mcp_tool_call"
        return "accept" if approval and params.text("serverName") in self.opening.servers else "decline"
