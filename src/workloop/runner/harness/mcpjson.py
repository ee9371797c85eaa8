"""How the operator's own file of MCP servers and the loop's server become one private file of a session."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from workloop.domain.errors import Fault

SERVER_NAME = "workloop"
FILE_BYTES_MAX = 1024 * 1024


def joined_servers(path: Path | None, key: str, own: Mapping[str, object] | None, *, harness: str) -> dict[str, object]:
    """Return the operator's servers and our own; raises Fault for a file that cannot be joined."""
    servers = operator_servers(path, key, harness=harness)
    if SERVER_NAME in servers:
        raise refusal(harness, path, f"the name {SERVER_NAME} is the loop's own")
    return servers if own is None else {**servers, SERVER_NAME: own}


def operator_servers(path: Path | None, key: str, *, harness: str) -> dict[str, object]:
    """Read the servers below a key of the operator's file; raises Fault when it is not such a file."""
    if path is None:
        return {}
    try:
        content: object = msgspec.json.decode(path.read_bytes()[: FILE_BYTES_MAX + 1])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refusal(harness, path, str(error)) from error
    servers = cast("Mapping[str, object]", content).get(key) if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise refusal(harness, path, f"it has no object {key}")
    return dict(cast("Mapping[str, object]", servers))


def refusal(harness: str, path: Path | None, why: str) -> Fault:
    """Return the refusal of an operator's file, naming it."""
    hint = "correct the file of MCP servers, or name another"
    return Fault("HARNESS_CONFIG", f"{harness}: {path}: {why}", hint=hint)
