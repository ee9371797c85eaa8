"""How a script's tools and arguments are called by the CLIs of the OpenAI family: it looks at what each declares."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType

from workloop.testing.model.conversation import Conversation, JsonObject, full_name, object_of
from workloop.testing.model.moves import Call, Say

SEARCH, THROUGH = "tool_search", "tool_call"
SYNONYMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Bash": ("bash", "run_shell_command", "shell"),
        "Read": ("read", "view", "read_file"),
        "Write": ("write", "create", "write_file"),
        "Edit": ("edit", "str_replace"),
    }
)
ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "file_path": ("filePath", "path", "absolute_path"),
        "content": ("file_text",),
        "old_string": ("oldString", "old_str"),
        "new_string": ("newString", "new_str"),
    }
)
REQUIRED_EXTRAS: JsonObject = MappingProxyType({"is_background": False, "description": "run"})


def chat_call(call: Call, conversation: Conversation) -> Call | Say:
    """Give a call the name and the arguments that the CLI declares, or admit that there is no such tool."""
    name = next((name for name in names_of(call.tool) if name in conversation.tools), None)
    if name is not None:
        schema = object_of(conversation.declared.get(name))
        return replace(call, tool=name, arguments=fitted(call.arguments, schema, conversation.workdir))
    if SEARCH in conversation.tools and not isinstance(call.tool, str):
        return looked_up(call, conversation)
    return Say(f"I cannot go on: the tool {full_name(call.tool)} is not offered to me.")


def names_of(tool: str | tuple[str, str]) -> tuple[str, ...]:
    """Return every name under which a tool may be declared."""
    if isinstance(tool, str):
        return (tool, *SYNONYMS.get(tool, ()))
    return (full_name(tool), "_".join(tool), "-".join(tool))


def looked_up(call: Call, conversation: Conversation) -> Call:
    """Fetch a tool that is held back behind the CLI's search, then call it through the CLI's own tool."""
    name = full_name(call.tool)
    searches = [str(use.arguments.get("query")) for use in conversation.calls if use.name == SEARCH]
    if not any(name in query for query in searches):
        return replace(call, tool=SEARCH, arguments={"query": f"select:{name}"})
    return replace(call, tool=THROUGH, arguments={"name": name, "arguments": dict(call.arguments)})


def fitted(arguments: JsonObject, schema: JsonObject, workdir: str) -> JsonObject:
    """Rename arguments as declared, make paths absolute, and add what the CLI cannot do without."""
    declared = object_of(schema.get("properties"))
    required = str(schema.get("required", ""))
    fitting = {name: value for name, value in REQUIRED_EXTRAS.items() if f"'{name}'" in required}
    for name, value in arguments.items():
        path = name == "file_path" and isinstance(value, str)
        spelled = next((other for other in ARGUMENTS.get(name, ()) if name not in declared and other in declared), name)
        fitting[spelled] = str(PurePosixPath(workdir or ".") / str(value)) if path else value
    return fitting
