"""Which settings every Codex session gets, and how settings are written on its command line."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from workloop.runner.harness.codex.gitfolders import written_by_git
from workloop.runner.harness.metering import KEY_VARIABLE
from workloop.runner.harness.port import LaunchRequest

TOLD_FILES = ("AGENTS.override.md", "AGENTS.md")
TOLD_BYTES_MAX = 32 * 1024
WORKSPACE = "workspace-write"
METERED_PROVIDER = "workloop"
METERED_RETRIES = 3
TOLD_HEADING = "# What this repository tells agents (AGENTS.md)"

# Nothing looks for updates, reports home, loads what the program would fetch, or waits for a network without end; and
# no copy of the environment, keys and all, is written to a file that stays when the program is killed.
FIXED: Mapping[str, object] = {
    "check_for_update_on_startup": False,
    "analytics.enabled": False,
    "features.apps": False,
    "features.plugins": False,
    "features.shell_snapshot": False,
    "features.unbounded_connection_retries": False,
    "approval_policy": "never",
    "shell_environment_policy.ignore_default_excludes": True,
}


def settings_of(request: LaunchRequest, sandbox: str) -> dict[str, object]:
    """Return a session's settings; the work dir's own are never loaded, nor, by a verifier, what it tells agents.

    Left alone, Codex enters a work dir that a session may write to as trusted into the operator's settings, and then
    starts the servers and hooks that the work dir names. Untrusted, it does not read what the work dir tells agents
    either, so a worker is told that here. A worker that is kept in its work tree may still commit there.
    """
    settings = dict(FIXED)
    settings["sandbox_mode"] = sandbox
    if settings["sandbox_mode"] == WORKSPACE and (outside := written_by_git(request.cwd)):
        settings["sandbox_workspace_write.writable_roots"] = [str(path) for path in outside]
    settings["projects"] = {str(request.cwd): {"trust_level": "untrusted"}}
    if request.read_only:
        settings["project_doc_max_bytes"] = 0
    elif told := told_to_agents(request.cwd):
        settings["developer_instructions"] = f"{TOLD_HEADING}\n\n{told}"
    return settings


def metered(request: LaunchRequest) -> dict[str, object]:
    """Return the settings that make the meter the provider; it speaks plain HTTP, so requests are not compressed."""
    meter = request.meter
    if meter is None:
        return {}
    provider: dict[str, object] = {
        "name": METERED_PROVIDER,
        "base_url": meter.openai_url,
        "wire_api": "responses",
        "request_max_retries": METERED_RETRIES,
        "stream_max_retries": METERED_RETRIES,
        **({"env_key": KEY_VARIABLE} if meter.key else {"requires_openai_auth": True}),
    }
    return {
        "model_provider": METERED_PROVIDER,
        f"model_providers.{METERED_PROVIDER}": provider,
        "features.enable_request_compression": False,
    }


def told_to_agents(folder: Path) -> str:
    """Return the beginning of what a work dir tells agents; a link or anything but a plain file tells nothing."""
    for path in (folder / name for name in TOLD_FILES):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as stream:
                return stream.read(TOLD_BYTES_MAX).decode("utf-8", errors="replace").replace("\0", "")
    return ""


def overrides(settings: Mapping[str, object]) -> Iterator[str]:
    """Yield settings as command-line arguments."""
    for name, value in settings.items():
        yield "-c"
        yield f"{name}={toml(value)}"


def toml(value: object) -> str:
    """Write a value in one line of TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case Mapping():
            table = cast("Mapping[str, object]", value)
            return "{" + ", ".join(f"{toml(name)} = {toml(entry)}" for name, entry in table.items()) + "}"
        case Sequence():
            return "[" + ", ".join(toml(entry) for entry in cast("Sequence[object]", value)) + "]"
        case _:
            raise AssertionError(f"no setting is a {type(value).__name__}")


def configured_servers(home: Path) -> tuple[str, ...]:
    """Return the names of the MCP servers in the operator's own settings; a file that cannot be read has none."""
    try:
        content = tomllib.loads((home / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    servers = content.get("mcp_servers")
    return tuple(cast("Mapping[str, object]", servers)) if isinstance(servers, dict) else ()
