"""What one model request says: the prompts, the tool calls made so far, and what came back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

TOOL_SEARCH = "ToolSearch"
REMINDER = "<system-reminder>"
REMINDERS = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
WORKDIR = re.compile(r"[Ww]orking directory: (\S+)")

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
    """One request as a scenario sees it; nothing else decides the next move."""

    session: str
    model: str
    streaming: bool
    wants_json: bool
    tools: tuple[str, ...]
    workdir: str
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    calls: tuple[ToolUse, ...]

    @property
    def prompt(self) -> str:
        """Return the first user text, which is the brief."""
        return self.prompts[0] if self.prompts else ""

    @property
    def step(self) -> int:
        """Count the tool calls made so far; looking tools up does not count."""
        return sum(call.name != TOOL_SEARCH for call in self.calls)

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


def read_request(body: JsonObject, *, session: str = "") -> Conversation:
    """Read the body of a Messages request."""
    prompts: list[str] = []
    answers: list[str] = []
    calls: dict[str, ToolUse] = {}
    seen = [text_of(body.get("system"))]
    for message in objects(body.get("messages")):
        blocks = blocks_of(message.get("content"))
        text = "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
        seen.append(text)
        note_calls(blocks, calls)
        if message.get("role") == "assistant":
            answers.append(text)
        elif not any(block.get("type") == "tool_result" for block in blocks):
            prompts.append(without_reminders(blocks))
    workdir = WORKDIR.search("\n".join(seen))
    return Conversation(
        session=session,
        model=str(body.get("model", "")),
        streaming=body.get("stream") is True,
        wants_json="output_config" in body,
        tools=tuple(str(tool.get("name")) for tool in objects(body.get("tools"))),
        workdir=workdir[1] if workdir else "",
        prompts=tuple(prompt for prompt in prompts if prompt),
        answers=tuple(answer for answer in answers if answer),
        calls=tuple(calls.values()),
    )


def note_calls(blocks: Sequence[JsonObject], calls: dict[str, ToolUse]) -> None:
    """Enter the tool calls of one message, or the results that answer earlier ones."""
    for block in blocks:
        match block.get("type"):
            case "tool_use":
                call_id = str(block.get("id"))
                arguments = object_of(block.get("input"))
                calls[call_id] = ToolUse(call_id=call_id, name=str(block.get("name")), arguments=arguments)
            case "tool_result":
                call_id = str(block.get("tool_use_id"))
                asked = calls.get(call_id)
                calls[call_id] = ToolUse(
                    call_id=call_id,
                    name=asked.name if asked else "",
                    arguments=asked.arguments if asked else {},
                    result=REMINDERS.sub("", text_of(block.get("content"))),
                    failed=block.get("is_error") is True,
                )
            case _:
                continue


def without_reminders(blocks: Sequence[JsonObject]) -> str:
    """Join the texts of a user message, without those that the CLI puts in itself."""
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return "\n".join(text for text in texts if not text.startswith(REMINDER)).strip()


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
