"""Which MCP servers a Codex session sees: the loop's own, those the operator named for it, and no others."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from workloop.domain.errors import Fault
from workloop.runner.harness.codex.settings import configured_servers
from workloop.runner.harness.mcpjson import SERVER_NAME
from workloop.runner.harness.port import LaunchRequest, McpEndpoint

APPROVE = "default_tools_approval_mode"
START_SECONDS = 60
TOOL_SECONDS = 600


def servers_of(request: LaunchRequest, home: Path, own: Mapping[str, object] | None) -> dict[str, object]:
    """Return every server by name; what stands in the operator's everyday settings is switched off.

    Raises Fault for an operator's file that cannot be joined.
    """
    named = operator_servers(request.mcp_config)
    hidden: dict[str, object] = {name: {"enabled": False} for name in configured_servers(home) if name not in named}
    return {**hidden, **named, **({} if own is None else {SERVER_NAME: own})}


def own_server(endpoint: McpEndpoint, credential: Mapping[str, object]) -> dict[str, object]:
    """Return the loop's server: the session waits for it, fails without it, and needs no approval for its tools."""
    return {
        "url": endpoint.url_mcp,
        "required": True,
        APPROVE: "approve",
        "startup_timeout_sec": START_SECONDS,
        "tool_timeout_sec": TOOL_SECONDS,
        **credential,
    }


def operator_servers(path: Path | None) -> dict[str, object]:
    """Read the operator's file, in the form of Codex's own settings; its tools need no approval unless it says so."""
    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise refusal(path, str(error)) from error
    servers = content.get("mcp_servers")
    if not isinstance(servers, dict) or not servers:
        raise refusal(path, "it has no table mcp_servers")
    named = cast("Mapping[str, object]", servers)
    if SERVER_NAME in named:
        raise refusal(path, f"the name {SERVER_NAME} is the loop's own")
    return {name: {APPROVE: "approve", **server_table(path, name, server)} for name, server in named.items()}


def server_table(path: Path, name: str, server: object) -> dict[str, object]:
    """Return one server's table; raises Fault when it is none."""
    if not isinstance(server, dict):
        raise refusal(path, f"mcp_servers.{name} is not a table")
    return dict(cast("Mapping[str, object]", server))


def refusal(path: Path, why: str) -> Fault:
    """Return the refusal of an operator's file, naming it."""
    hint = "correct the file of MCP servers, or name another"
    return Fault("HARNESS_CONFIG", f"codex: {path}: {why}", hint=hint)
