"""Which tool a call is of: the protocol has no names, and every agent hides them somewhere else."""

import re

from workloop.domain.session import ToolKind
from workloop.runner.harness.calls import Tool, mcp_name
from workloop.runner.harness.fields import Fields
from workloop.runner.harness.mcpjson import SERVER_NAME

KINDS = {
    "execute": ToolKind.SHELL,
    "edit": ToolKind.EDIT,
    "delete": ToolKind.EDIT,
    "move": ToolKind.EDIT,
    "read": ToolKind.READ,
    "search": ToolKind.READ,
    "fetch": ToolKind.WEB,
}
WORD = re.compile(r"[\w.-]{1,100}")
TOOL = r"(?P<tool>[A-Za-z0-9_-]{1,100})"


class Naming:
    """The spellings by which the tools of this session's MCP servers are told from an agent's own."""

    def __init__(self, servers: tuple[str, ...]) -> None:
        self.spellings = [
            (server, re.compile(rf"(?:mcp_{{1,2}})?{known}(?:_{{1,2}}|[-/.]|: ?){TOOL}|{other} \({known} MCP Server\)"))
            for server in servers
            for known, other in ((re.escape(server), TOOL.replace("<tool>", "<other>")),)
        ]

    def tool_of(self, call: Fields) -> Tool:
        """Return the tool of a call, by all that is known of it so far."""
        meta = call.inner("_meta")
        told = meta.text("toolName") or meta.text("tool_name")
        title, call_id = call.text("title"), call.text("toolCallId")
        for name in (told, title, call_id.rpartition("__")[0]):
            if found := self.mcp_tool(name):
                return found
        kind = call.text("kind")
        name = told or (title if WORD.fullmatch(title) else "") or kind or "tool"
        return Tool(name=name, kind=KINDS.get(kind, ToolKind.OTHER))

    def mcp_tool(self, name: str) -> Tool | None:
        """Return the tool of an MCP server that a name spells."""
        for server, spelling in self.spellings:
            if found := spelling.fullmatch(name):
                tool = found["tool"] or found["other"]
                return Tool(name=mcp_name(server, tool), kind=ToolKind.MCP, own=server == SERVER_NAME)
        return None
