"""Which MCP servers one session sees: the loop's own and those of the operator's file, and nothing else."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from workloop.domain.errors import Fault
from workloop.runner.harness.files import write_private
from workloop.runner.harness.port import LaunchRequest

FILE_BYTES_MAX = 1024 * 1024


def write_mcp_file(request: LaunchRequest, own_name: str) -> Path:
    """Write the private MCP configuration of a session; raises Fault for an operator's file that cannot be joined."""
    servers = operator_servers(request.mcp_config)
    if own_name in servers:
        raise refusal(request.mcp_config, f"the name {own_name} is the loop's own")
    if request.endpoint is not None:
        servers[own_name] = {
            "type": "http",
            "url": request.endpoint.url_mcp,
            "headers": {"Authorization": f"Bearer {request.endpoint.token}"},
        }
    return write_private(request.session_dir / "mcp.json", msgspec.json.encode({"mcpServers": servers}).decode())


def operator_servers(path: Path | None) -> dict[str, object]:
    """Read the servers of the operator's file; raises Fault when it is not such a file."""
    if path is None:
        return {}
    try:
        data = path.read_bytes()
        content: object = msgspec.json.decode(data[: FILE_BYTES_MAX + 1])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refusal(path, str(error)) from error
    servers = cast("Mapping[str, object]", content).get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise refusal(path, "it has no object mcpServers")
    return dict(cast("Mapping[str, object]", servers))


def refusal(path: Path | None, why: str) -> Fault:
    """Return the refusal of an operator's file, naming it."""
    return Fault("HARNESS_CONFIG", f"claude: {path}: {why}", hint="correct the file of MCP servers, or name another")
