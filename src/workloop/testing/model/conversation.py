"""What one model request says: the prompts, the tool calls made so far, and what came back."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

LOOKUPS = frozenset({"ToolSearch", "tool_search"})

JsonObject = Mapping[str, object]
NOTHING: JsonObject = {}


class ScenarioError(Exception):
    """The scenario asked for something that the conversation does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call of the model, with its result once it is there."""

    call_id: str
    name: str
    arguments: JsonObject
    result: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One request as a scenario sees it; nothing else decides the next move. `body` is all of it, as it came."""

    session: str
    model: str
    streaming: bool
    wants_json: bool
    tools: tuple[str, ...]
    workdir: str
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    calls: tuple[ToolUse, ...]
    declared: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    body: JsonObject = field(default_factory=dict[str, object], repr=False, compare=False)

    @property
    def prompt(self) -> str:
        """Return the first user text, which is the brief."""
        return self.prompts[0] if self.prompts else ""

    @property
    def step(self) -> int:
        """Count the tool calls made so far; looking tools up does not count."""
        return sum(call.name not in LOOKUPS for call in self.calls)

    @property
    def last_result(self) -> str:
        """Return what the newest tool call gave back, or an empty text."""
        return (self.calls[-1].result or "") if self.calls else ""

    def brief(self, name: str) -> str:
        """Return the value of the line `name: value`; a later prompt outranks an earlier one."""
        line = re.compile(rf"^[^\w\n]*{re.escape(name)}[^\w\n]*: *`?([^`\n]+?)`? *$", re.MULTILINE)
        for prompt in reversed(self.prompts):
            if found := line.search(prompt):
                return found[1]
        raise ScenarioError(f"no prompt has a line {name!r}")

    def briefs(self, name: str, value: str) -> bool:
        """Say whether a prompt has the line `name: value`, and no later one another value."""
        try:
            return self.brief(name) == value
        except ScenarioError:
            return False

    def found(self, pattern: str) -> str:
        """Return the newest match of a pattern in the tool results: its first group, or all of it."""
        for call in reversed(self.calls):
            if match := re.search(pattern, call.result or ""):
                return match[1] if match.re.groups else match[0]
        raise ScenarioError(f"no tool result matches {pattern!r}")


def text_of(content: object) -> str:
    """Join the texts of a content field."""
    return "\n".join(str(block.get("text", "")) for block in blocks_of(content) if block.get("type") == "text")


def blocks_of(content: object) -> list[JsonObject]:
    """Return a content field as blocks; a plain string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def object_of(value: object) -> JsonObject:
    """Return a JSON object; anything else counts as an empty one."""
    return cast("JsonObject", value) if isinstance(value, Mapping) else NOTHING


def objects(value: object) -> list[JsonObject]:
    """Return the JSON objects of a JSON list; anything else has none."""
    if not isinstance(value, list):
        return []
    return [cast("JsonObject", entry) for entry in cast("list[object]", value) if isinstance(entry, Mapping)]


def full_name(tool: str | tuple[str, str]) -> str:
    """Spell a tool as most CLIs declare it."""
    return tool if isinstance(tool, str) else f"mcp__{tool[0]}__{tool[1]}"


def declared_name(tool: str | tuple[str, str], tools: tuple[str, ...]) -> str | None:
    """Find the declared name of a tool, or None when the request does not offer it."""
    wanted = full_name(tool)
    return next((name for name in tools if name.lower() == wanted.lower()), None)


def event(name: str, **fields: object) -> bytes:
    """Return one server-sent event whose data repeats its name."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()
