"""What Codex's thread items say, in either of its two spellings: texts, commands, patches and tool calls."""

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
from workloop.runner.harness.codex.wire import NO_RESULT, Item, fields_of
from workloop.runner.harness.stamper import Stamper
from workloop.runner.signatures import Signatures

SHELL = Tool(name="shell", kind=ToolKind.SHELL)
PATCH = Tool(name="apply_patch", kind=ToolKind.EDIT)
WEB = Tool(name="web_search", kind=ToolKind.WEB)
BUILT_IN = {
    "commandExecution": SHELL,
    "command_execution": SHELL,
    "fileChange": PATCH,
    "file_change": PATCH,
    "webSearch": WEB,
    "web_search": WEB,
    "imageView": Tool(name="view_image", kind=ToolKind.READ),
    "imageGeneration": Tool(name="image_generation", kind=ToolKind.OTHER),
}
TOOLS_MAX = 1_000
MESSAGES = frozenset({"agentMessage", "agent_message"})
MCP_CALLS = frozenset({"mcpToolCall", "mcp_tool_call"})
NAMED = frozenset({"dynamicToolCall", "collabAgentToolCall", "collabToolCall", "collab_tool_call"})
FINISHED_BY_LOOK = frozenset({"webSearch", "web_search", "imageView"})


class CodexItems:
    """The items of one thread, and what they add up to."""

    def __init__(self, stamper: Stamper, signatures: Signatures, server: str) -> None:
        self.stamper = stamper
        self.signatures = signatures
        self.server = server
        self.calls = Calls(stamper)
        self.mcp_tools: dict[tuple[str, str], Tool] = {}
        self.spoke = False
        self.final_text = ""

    def started(self, item: Item) -> list[SessionEvent]:
        """Read an item that has begun; only tools have a beginning worth telling."""
        tool = self.tool_of(item)
        if tool is None:
            return []
        self.spoke = True
        self.final_text = ""
        return [self.calls.opened(item.id, tool, item.arguments)]

    def completed(self, item: Item) -> list[SessionEvent]:
        """Read an item that has ended."""
        if item.type in MESSAGES:
            return self.said(item.text or "")
        tool = self.tool_of(item)
        if tool is None:
            return []
        events = [] if self.calls.is_open(item.id) else self.started(item)
        exit_code = item.exit_code if item.exit_code_camel is None else item.exit_code_camel
        result = self.classify(item, tool, exit_code)
        answer = answer_of(item) if tool.kind is ToolKind.MCP else ""
        return events + self.calls.closed(item.id, result, exit_code=exit_code, answer=answer)

    def said(self, text: str) -> list[SessionEvent]:
        """Keep what the agent said; the last text after its last tool is its final one."""
        self.final_text = text
        if not text:
            return []
        self.spoke = True
        return [Text(self.stamper.again(), head(text, TEXT_CHARACTERS_MAX))]

    def tool_of(self, item: Item) -> Tool | None:
        """Name the tool that an item stands for, if it stands for one."""
        if item.type in MCP_CALLS:
            return self.mcp_tool(item.server or "", item.tool or "")
        if item.type in NAMED:
            return Tool(name=item.tool or item.type, kind=ToolKind.OTHER)
        return BUILT_IN.get(item.type)

    def mcp_tool(self, server: str, tool: str) -> Tool:
        """Name a server's tool."""
        known = self.mcp_tools.get((server, tool))
        if known is None:
            own = bool(self.server) and server == self.server
            known = Tool(name=mcp_name(server, tool), kind=ToolKind.MCP, own=own)
            if len(self.mcp_tools) < TOOLS_MAX:
                self.mcp_tools[server, tool] = known
        return known

    def classify(self, item: Item, tool: Tool, exit_code: int | None) -> ToolResultClass:
        """Name the class of an ended call; what no rule knows stays unknown."""
        if item.status == "completed" or (not item.status and item.type in FINISHED_BY_LOOK):
            return ToolResultClass.OK
        if item.status == "declined":
            return ToolResultClass.REFUSED
        if tool.kind is ToolKind.SHELL and exit_code:
            return ToolResultClass.COMMAND_NONZERO
        text = fields_of(item.error).text("message")
        if not text and tool.kind is ToolKind.MCP and item.result is not None:
            return ToolResultClass.TOOL_FAULT
        facts = {"name": tool.name, "text": text[:DETAIL_CHARACTERS_MAX]}
        return self.signatures.tool_class(facts) or ToolResultClass.UNKNOWN


def answer_of(item: Item) -> str:
    """Return what an MCP tool answered: its texts, else its structure, else the error."""
    result = item.result or NO_RESULT
    if texts := "\n".join([part.text for part in result.content or () if part.text]):
        return texts
    for structure in (result.structured_content_camel, result.structured_content):
        if bytes(structure) != b"null":
            return bounded_json(structure)
    return fields_of(item.error).text("message")
