"""What an agent tells of its tool calls in pieces, put together until each can be reported once, and ended once."""

from collections.abc import Mapping

from workloop.domain.session import DETAIL_CHARACTERS_MAX, SessionEvent, ToolKind, ToolResultClass
from workloop.runner.harness.acp.naming import Naming
from workloop.runner.harness.calls import Calls
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.stamper import Stamper
from workloop.runner.signatures import Signatures

RUNNING = frozenset({"in_progress", "completed", "failed"})
ENDED = frozenset({"completed", "failed"})


class AgentCalls:
    """The calls of one session by their ids."""

    def __init__(self, stamper: Stamper, signatures: Signatures, naming: Naming) -> None:
        self.calls = Calls(stamper)
        self.signatures = signatures
        self.naming = naming
        self.parts: dict[str, dict[str, object]] = {}
        self.told: set[str] = set()
        self.denied: set[str] = set()

    def learnt(self, piece: Fields, *, asked: bool = False) -> list[SessionEvent]:
        """Take a piece of a call; asked is one about which the agent wants leave."""
        call_id = piece.text("toolCallId")
        whole = self.parts.setdefault(call_id, {})
        whole.update({name: value for name, value in piece.values.items() if value not in (None, {}, [], "")})
        call, status = Fields(whole), piece.text("status")
        events: list[SessionEvent] = []
        if call_id not in self.told and (asked or status in RUNNING or call.inner("rawInput")):
            self.told.add(call_id)
            tool = self.naming.tool_of(call)
            events.append(self.calls.opened(call_id, tool, arguments_of(call)))
        if status in ENDED:
            events += self.ended(call_id, call)
        return events

    def is_mcp(self, call_id: str) -> bool:
        """Say whether an open call is of an MCP server."""
        return self.calls.tool_of(call_id).kind is ToolKind.MCP

    def kind_of(self, call_id: str) -> str:
        """Return the protocol's word for what a call does."""
        return Fields(self.parts.get(call_id, {})).text("kind") or "other"

    def deny(self, call_id: str) -> None:
        """Note that a call was refused leave."""
        self.denied.add(call_id)

    def ended(self, call_id: str, call: Fields) -> list[SessionEvent]:
        """Report the end of a call, once."""
        self.parts.pop(call_id, None)
        code, text = exit_code_of(call), text_of(call)
        return self.calls.closed(call_id, self.classify(call_id, call, code, text), exit_code=code, answer=text)

    def classify(self, call_id: str, call: Fields, code: int | None, text: str) -> ToolResultClass:
        """Name the class of an ended call."""
        if call_id in self.denied:
            return ToolResultClass.REFUSED
        if code:
            return ToolResultClass.COMMAND_NONZERO
        if call.text("status") == "completed":
            return ToolResultClass.OK
        facts = {"name": self.calls.tool_of(call_id).name, "text": text[:DETAIL_CHARACTERS_MAX]}
        return self.signatures.tool_class(facts) or ToolResultClass.UNKNOWN


def arguments_of(call: Fields) -> Mapping[str, object]:
    """Return what a call was asked: its input, or the JSON that an agent shows instead of it."""
    given = call.inner("rawInput").values
    shown = parse(encoded(text_of(call)))
    return given or (shown.values if shown else {})


def text_of(call: Fields) -> str:
    """Return the text of a call's content; of an answer given twice, the last that stands for itself."""
    parts = [part.inner("content").text("text") for part in call.each("content") if part.text("type") == "content"]
    text = "\n".join(part for part in parts if part)
    *before, last = text.split("\n")
    return last if before and parse(encoded(last)) and parse(encoded("\n".join(before))) else text


def exit_code_of(call: Fields) -> int | None:
    """Return a command's exit code, from where agents put it."""
    output = call.inner("rawOutput")
    places = [(output, "exitCode"), (output, "exit_code"), (output.inner("metadata"), "exit")]
    places += [(part, "exitCode") for part in output.each("contents")]
    return next((code for place, name in places if (code := place.integer(name)) is not None), None)


def encoded(text: str) -> bytes:
    """Return a text as bytes, whatever it holds."""
    return text.encode("utf-8", errors="replace")
