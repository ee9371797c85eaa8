"""Which tools Codex declares, and how a call of a scenario becomes one of them."""

import shlex
from collections.abc import Mapping
from dataclasses import replace

from workloop.testing.model.conversation import Conversation, JsonObject, declared_name, full_name, objects
from workloop.testing.model.moves import Call, Say

SEARCH = "tool_search"
SHELLS = ("exec_command", "shell_command")
WAIT_MS = 30_000
REPLACE = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.write_text(p.read_text().replace(*sys.argv[2:], 1))"


def declarations(body: JsonObject, items: list[JsonObject]) -> dict[str, JsonObject]:
    """Return every declared tool by the name we show: an MCP tool with its server, as `mcp__server__tool`."""
    later = [
        tool
        for item in items
        if item.get("type") in {"additional_tools", "tool_search_output"}
        for tool in objects(item.get("tools"))
    ]
    found: dict[str, JsonObject] = {}
    for tool in [*objects(body.get("tools")), *later]:
        name = str(tool.get("name") or tool.get("type"))
        if tool.get("type") != "namespace":
            found[name] = tool
            continue
        for inner in objects(tool.get("tools")):
            found[f"{name.rstrip('_')}__{inner.get('name')}"] = {**inner, "namespace": name}
    return found


def address(call: Call, conversation: Conversation) -> Call | Say:
    """Turn a call into one that Codex knows; files are read, written and changed by its own ways."""
    ready = translated(call, conversation.declared)
    name = declared_name(ready.tool, conversation.tools)
    if name is not None:
        return replace(ready, tool=name)
    wanted = full_name(ready.tool)
    searched = [str(use.arguments.get("query")) for use in conversation.calls if use.name == SEARCH]
    if SEARCH not in conversation.tools or any(wanted in query for query in searched):
        return Say(f"I cannot go on: the tool {wanted} is not offered to me.")
    return replace(call, tool=SEARCH, arguments={"query": wanted.replace("__", " ") + " " + wanted, "limit": 8})


def translated(call: Call, declared: Mapping[str, JsonObject]) -> Call:
    """Rewrite the calls that other CLIs have tools of their own for."""
    path, text = str(call.arguments.get("file_path", "")), str(call.arguments.get("content", ""))
    match call.tool:
        case "Bash":
            return shell(call, str(call.arguments.get("command", "")), declared)
        case "Read":
            return shell(call, shlex.join(["cat", path]), declared)
        case "Write" if "apply_patch" in declared:
            lines = "".join(f"+{line}\n" for line in text.splitlines())
            patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
            return replace(call, tool="apply_patch", arguments={"input": patch})
        case "Write":
            return shell(call, f"printf %s {shlex.quote(text)} > {shlex.quote(path)}", declared)
        case "Edit":
            old, new = str(call.arguments.get("old_string", "")), str(call.arguments.get("new_string", ""))
            return shell(call, shlex.join(["python3", "-c", REPLACE, path, old, new]), declared)
        case _:
            return call


def shell(call: Call, command: str, declared: Mapping[str, JsonObject]) -> Call:
    """Return a call of whichever shell is declared."""
    name = next((name for name in SHELLS if name in declared), SHELLS[0])
    arguments = {"cmd": command, "yield_time_ms": WAIT_MS} if name == SHELLS[0] else {"command": command}
    return replace(call, tool=name, arguments=arguments)
