"""What starting most agent CLIs takes: the program, a home of its own, and a prompt that fits on a command line."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from workloop.domain.errors import Fault
from workloop.runner.harness.files import write_private
from workloop.runner.harness.port import LaunchRequest

ARGUMENT_BYTES_MAX = 100_000  # the kernel refuses a single argument of 128 KiB
XDG_FOLDERS: Mapping[str, str] = MappingProxyType(
    {
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
    }
)


def find_program(names: tuple[str, ...], configured: str | None, path: str | None, *, harness: str, hint: str) -> str:
    """Find the CLI: the configured one, else the first of its names on PATH; raises Fault when there is none."""
    found = next((found for name in (configured,) if name and (found := shutil.which(name, path=path))), None)
    if configured is not None and found is None:
        raise Fault("HARNESS_MISSING", f"{harness}: no executable at {configured}", hint="correct the binary's path")
    found = found or next((found for name in names if (found := shutil.which(name, path=path))), None)
    if found is None:
        raise Fault("HARNESS_MISSING", f"{harness}: no executable found", hint=hint)
    return found


def reading(path: Path, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that runs a program, in the same process, with a file as its standard input."""
    return ("/bin/sh", "-c", 'exec "$@" < "$0"', str(path), *argv)


def own_home(home_dir: Path | None) -> dict[str, str]:
    """Return the variables that give sessions a home of their own, made if needed; none means the operator's."""
    if home_dir is None:
        return {}
    home_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {"HOME": str(home_dir), **{name: str(home_dir / folder) for name, folder in XDG_FOLDERS.items()}}


def fitting_prompt(request: LaunchRequest) -> str:
    """Return the prompt; one that no argument can hold goes through a file that the agent is told to read."""
    if len(request.prompt.encode()) <= ARGUMENT_BYTES_MAX:
        return request.prompt
    path = write_private(brief_folder(request) / "brief.md", request.prompt)
    return f"Read the file {path} and do exactly what it says."


def brief_folder(request: LaunchRequest) -> Path:
    """Return the one folder of the session that the agent may read."""
    folder = request.session_dir / "brief"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
