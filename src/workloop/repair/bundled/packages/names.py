"""Which names a package may bear: plain ones, and none that an agent's own tool or the loop's server has."""

import re
from collections.abc import Iterable
from typing import Final

from workloop.repair.bundled.files import refused

SLUG: Final = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
TOOL: Final = re.compile(r"[a-z][a-z0-9_]{0,47}")
OWN_SERVERS: Final = frozenset({"workloop", "harness"})
BUILT_IN: Final = frozenset(
    {
        *("agent", "apply_patch", "ask_user", "bash", "bash_output", "batch", "codesearch", "create", "doom_loop"),
        *("edit", "exec_command", "exit_plan_mode", "external_directory", "fetch", "glob", "grep", "grep_search"),
        *("invalid", "kill_shell", "list", "list_directory", "list_tools", "local_shell", "ls", "lsp", "memory"),
        *("multi_edit", "notebook_edit", "patch", "powershell", "question", "read", "read_bash", "read_file"),
        *("read_many_files", "replace", "report_intent", "request_tool", "run_shell_command", "save_memory", "search"),
        *("search_file_content", "search_replace", "shell", "skill", "slash_command", "str_replace_editor"),
        *("stop_bash", "store_memory", "task", "todo_read", "todo_write", "todoread", "todowrite", "tool_call"),
        *("tool_search", "unified_exec", "update_plan", "view", "view_image", "web_fetch", "web_search", "webfetch"),
        *("websearch", "work_loop", "write", "write_bash", "write_file", "write_stdin"),
    }
)
"""Tools that the agents bring themselves, and that of the queue; in lower case, with one underline between words."""


def require_slug(name: str, at: str) -> str:
    """Return a name of lower-case letters, digits and single hyphens; raises BadRequest for any other."""
    if SLUG.fullmatch(name) is None:
        hint = "1 to 64 lower-case letters, digits and hyphens, none at an end and never two together"
        raise refused("package-name", at, f"{name[:80]!r} is no name for a package", hint)
    return name


def require_tool_name(name: str, at: str, *, forbidden: Iterable[str] = ()) -> str:
    """Return a tool's name; raises BadRequest for one that is not plain, shadows another, or was refused before."""
    if TOOL.fullmatch(name) is None:
        hint = "a lower-case letter, then up to 47 lower-case letters, digits and underlines"
        raise refused("tool-name", at, f"{name[:80]!r} is no name for a tool", hint)
    if folded(name) in {folded(known) for known in BUILT_IN} or name.startswith("mcp_"):
        raise refused("no-shadowing", at, f"{name!r} is what a tool of an agent's own is called", "choose another name")
    if folded(name) in {folded(refusal) for refusal in forbidden}:
        raise refused("refused-name", at, f"a call of {name!r} was refused by a security control", "leave it out")
    return name


def require_server_name(name: str, at: str) -> str:
    """Return a server's name; raises BadRequest for one of the loop's own."""
    require_slug(name, at)
    if name in OWN_SERVERS:
        raise refused("no-shadowing", at, f"{name!r} is a server of the loop's own", "choose another name")
    return name


def folded(name: str) -> str:
    """Return a name as one that a model may take it for: without case and joints."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())
