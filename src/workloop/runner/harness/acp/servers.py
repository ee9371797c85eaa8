"""Which MCP servers an agent is told of: the loop's own, in whatever way the agent can reach it, and the operator's."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from workloop.runner.harness.fields import Fields
from workloop.runner.harness.files import BEARER_FILE
from workloop.runner.harness.mcpjson import SERVER_NAME, joined_servers
from workloop.runner.harness.port import LaunchRequest, McpEndpoint

PROGRAM = ("-m", "workloop", "mcp", "--profile", "worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One MCP server: reached over HTTP or server-sent events by its URL, else a program."""

    name: str
    transport: str = "stdio"
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def own_over_http(endpoint: McpEndpoint) -> Server:
    """Return the loop's server for an agent that speaks HTTP."""
    headers = {"Authorization": f"Bearer {endpoint.token}"}
    return Server(name=SERVER_NAME, transport="http", url=endpoint.url_mcp, headers=headers)


def own_over_pipes(request: LaunchRequest, endpoint: McpEndpoint) -> Server:
    """Return the loop's server as a program that the agent starts; the token stays in its private file."""
    env = {
        **{name: request.environment[name] for name in ("PATH", "HOME", "LANG") if name in request.environment},
        "WORKLOOP_URL": endpoint.url_api,
        "WORKLOOP_TOKEN_FILE": str(request.session_dir / BEARER_FILE),
    }
    return Server(name=SERVER_NAME, command=sys.executable, args=PROGRAM, env=env)


def operator_servers(request: LaunchRequest, name: str) -> tuple[Server, ...]:
    """Read the operator's own servers; raises Fault for a file that cannot be joined with ours."""
    found = joined_servers(request.mcp_config, "mcpServers", None, harness=name)
    return tuple(read_server(key, Fields(value)) for key, value in found.items())


def read_server(name: str, fields: Fields) -> Server:
    """Read one entry of an operator's file."""
    url = fields.text("url") or fields.text("httpUrl")
    sse = fields.text("type") == "sse"
    return Server(
        name=name,
        transport=("sse" if sse else "http") if url else "stdio",
        url=url,
        headers=fields.inner("headers").strings(),
        command=fields.text("command"),
        args=tuple(fields.texts("args")),
        env=fields.inner("env").strings(),
    )


def reachable(
    own: tuple[Server, ...], others: tuple[Server, ...], transports: frozenset[str]
) -> tuple[tuple[Server, ...], tuple[str, ...]]:
    """Choose the servers that an agent can reach, our own by the first way it can; returns also who is left out."""
    ours = next((server for server in own if server.transport in transports), None)
    given = tuple(server for server in others if server.transport in transports)
    left_out = tuple(server.name for server in others if server.transport not in transports)
    return ((ours, *given) if ours else given), left_out
