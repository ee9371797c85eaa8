"""What Codex's thread items say, in either of its two spellings: texts, commands, patches and tool calls."""

import re

from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    SessionEvent,
    Text,
    ToolKind,
    ToolResultClass,
    head,
)
from workloop.runner.harness.calls import Calls, Tool, bounded_json, mcp_name
from workloop.runner.harness.fields import Fields
from workloop.runner.harness.stamper import Stamper
from workloop.runner.signatures import Signatures

SNAKE = re.compile(r"_([a-z])")
BUILT_IN = {
    "commandExecution": Tool(name="shell", kind=ToolKind.SHELL),
    "fileChange": Tool(name="apply_patch", kind=ToolKind.EDIT),
    "webSearch": Tool(name="web_search", kind=ToolKind.WEB),
    "imageView": Tool(name="view_image", kind=ToolKind.READ),
    "imageGeneration": Tool(name="image_generation", kind=ToolKind.OTHER),
}
NAMED = frozenset({"dynamicToolCall", "collabAgentToolCall", "collabToolCall"})
FINISHED_BY_LOOK = frozenset({"webSearch", "imageView"})


class CodexItems:
    """The items of one thread, and what they add up to."""

    def __init__(self, stamper: Stamper, signatures: Signatures, server: str) -> None:
        self.stamper = stamper
        self.signatures = signatures
        self.server = server
        self.calls = Calls(stamper)
        self.spoke = False
        self.final_text = ""

    def started(self, item: Fields) -> list[SessionEvent]:
        """Read an item that has begun; only tools have a beginning worth telling."""
        tool = self.tool_of(item)
        if tool is None:
            return []
        self.spoke = True
        self.final_text = ""
        return [self.calls.opened(item.text("id"), tool, item.values.get("arguments"))]

    def completed(self, item: Fields) -> list[SessionEvent]:
        """Read an item that has ended."""
        if kind_of_item(item) == "agentMessage":
            return self.said(item.text("text"))
        tool = self.tool_of(item)
        if tool is None:
            return []
        unseen = not self.calls.tool_of(item.text("id")).name
        events: list[SessionEvent] = [*(self.started(item) if unseen else [])]
        exit_code = item.integer("exitCode") if "exitCode" in item.values else item.integer("exit_code")
        result = self.classify(item, tool, exit_code)
        return events + self.calls.closed(item.text("id"), result, exit_code=exit_code, answer=answer_of(item))

    def said(self, text: str) -> list[SessionEvent]:
        """Keep what the agent said; the last text after its last tool is its final one."""
        self.final_text = text
        if not text:
            return []
        self.spoke = True
        return [Text(at=self.stamper.again(), text=head(text, TEXT_CHARACTERS_MAX))]

    def tool_of(self, item: Fields) -> Tool | None:
        """Name the tool that an item stands for, if it stands for one."""
        kind = kind_of_item(item)
        if kind == "mcpToolCall":
            server, tool = item.text("server"), item.text("tool")
            return Tool(name=mcp_name(server, tool), kind=ToolKind.MCP, own=bool(self.server) and server == self.server)
        if kind in NAMED:
            return Tool(name=item.text("tool") or kind, kind=ToolKind.OTHER)
        return BUILT_IN.get(kind)

    def classify(self, item: Fields, tool: Tool, exit_code: int | None) -> ToolResultClass:
        """Name the class of an ended call; what no rule knows stays unknown."""
        status = item.text("status")
        if status == "completed" or (not status and kind_of_item(item) in FINISHED_BY_LOOK):
            return ToolResultClass.OK
        if status == "declined":
            return ToolResultClass.REFUSED
        if tool.kind is ToolKind.SHELL and exit_code:
            return ToolResultClass.COMMAND_NONZERO
        text = item.inner("error").text("message")
        if not text and tool.kind is ToolKind.MCP and item.inner("result"):
            return ToolResultClass.TOOL_FAULT
        return (
            self.signatures.tool_class({"name": tool.name, "text": text[:DETAIL_CHARACTERS_MAX]})
            or ToolResultClass.UNKNOWN
        )


def kind_of_item(item: Fields) -> str:
    """Return the item's type in the spelling of the app-server."""
    return SNAKE.sub(lambda found: found[1].upper(), item.text("type"))


def answer_of(item: Fields) -> str:
    """Return what an MCP tool answered: its texts, else its structure, else the error."""
    result = item.inner("result")
    texts = "\n".join(part.text("text") for part in result.each("content") if part.text("text"))
    structure = result.values.get("structuredContent", result.values.get("structured_content"))
    return texts or ("" if structure is None else bounded_json(structure)) or item.inner("error").text("message")
