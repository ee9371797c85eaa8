"""What became of the tools that Claude Code called."""

import re

import msgspec

from workloop.domain.session import DETAIL_CHARACTERS_MAX, MCP_CHARACTERS_MAX, ToolKind, ToolResultClass, head
from workloop.runner.harness.claude.spill import is_spilled, read_spilled
from workloop.runner.harness.claude.wire import Block, System
from workloop.runner.signatures import Signatures

NAME_CHARACTERS_MAX = 200
MCP_PREFIX = "mcp__"
TOOL_KINDS = {
    "Bash": ToolKind.SHELL,
    "Write": ToolKind.EDIT,
    "Edit": ToolKind.EDIT,
    "NotebookEdit": ToolKind.EDIT,
    "Read": ToolKind.READ,
    "Glob": ToolKind.READ,
    "Grep": ToolKind.READ,
    "WebFetch": ToolKind.WEB,
    "WebSearch": ToolKind.WEB,
}
EXIT_CODE = re.compile(r"Exit code (\d{1,3})\b")


class ClaudeTools:
    """The open calls of one session, and the refusals that matter at its end."""

    def __init__(self, signatures: Signatures, server: str) -> None:
        self.signatures = signatures
        self.own_prefix = f"mcp__{server}__" if server else ""
        self.calls: dict[str, str] = {}
        self.denied_calls: set[str] = set()
        self.own_denied = False
        self.last = ToolResultClass.OK

    @property
    def refused(self) -> bool:
        """Say whether the session lacked a tool that it needed: one of ours, or the last it asked for."""
        return self.own_denied or self.last is ToolResultClass.REFUSED

    def opened(self, block: Block) -> tuple[str, str, ToolKind]:
        """Note a call; returns its id, its tool's name and what the tool does."""
        call_id, name = short(block.id), short(block.name)
        self.calls[call_id] = name
        return call_id, name, ToolKind.MCP if name.startswith(MCP_PREFIX) else TOOL_KINDS.get(name, ToolKind.OTHER)

    def denied(self, told: System) -> tuple[str, str]:
        """Note a refusal by the permission policy; returns the call's id and its tool's name."""
        call_id, name = short(told.tool_use_id), short(told.tool_name)
        self.denied_calls.add(call_id)
        self.own_denied = self.own_denied or bool(self.own_prefix and name.startswith(self.own_prefix))
        return call_id, name

    def closed(self, block: Block, content: str) -> tuple[str, str, ToolResultClass, int | None]:
        """Note a result; returns the call's id, its tool's name, the class, and a command's exit code."""
        call_id = short(block.tool_use_id)
        name = self.calls.pop(call_id, "")
        exit_code = EXIT_CODE.match(content) if TOOL_KINDS.get(name) is ToolKind.SHELL else None
        self.last = self.classify(block, call_id, name, content, exit_code)
        known = exit_code is not None and self.last is ToolResultClass.COMMAND_NONZERO
        return call_id, name, self.last, int(exit_code[1]) if exit_code and known else None

    def classify(
        self, block: Block, call_id: str, name: str, content: str, exit_code: re.Match[str] | None
    ) -> ToolResultClass:
        """Name the class of a result; what no rule knows stays unknown."""
        if not block.is_error:
            return ToolResultClass.OK
        if call_id in self.denied_calls:
            return ToolResultClass.REFUSED
        if exit_code:
            return ToolResultClass.COMMAND_NONZERO
        facts = {"name": name, "text": content[:DETAIL_CHARACTERS_MAX]}
        return self.signatures.tool_class(facts) or ToolResultClass.UNKNOWN


def arguments_of(block: Block, name: str) -> str:
    """Return what an MCP tool was asked, as bounded JSON; nothing of other tools is kept."""
    if not name.startswith(MCP_PREFIX):
        return ""
    asked: object = msgspec.json.decode(block.input)
    return head(msgspec.json.encode(asked if isinstance(asked, dict) else {}).decode(), MCP_CHARACTERS_MAX)


def answer_of(block: Block, name: str, content: str) -> str:
    """Return what an MCP tool answered, bounded, also where the CLI put it into a file."""
    if not name.startswith(MCP_PREFIX):
        return ""
    answer = read_spilled(content, block.tool_use_id) if is_spilled(content) else content
    return head(answer, MCP_CHARACTERS_MAX)


def short(text: str) -> str:
    """Cut a name or an id to what one could be."""
    return head(text, NAME_CHARACTERS_MAX)
