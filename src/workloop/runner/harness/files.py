"""How a session's private files are written and what every agent finds in its environment."""

import os
from pathlib import Path

from workloop.runner.harness.port import LaunchRequest

BEARER_FILE = "token"  # below the session's folder
SAID = "said"


def write_private(path: Path, text: str) -> Path:
    """Write a file that only this user can read; an older one, or a link in its place, is replaced."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    return path


def said_folder(request: LaunchRequest) -> Path:
    """Return the one folder of the session's own that it may write into."""
    folder = request.session_dir / SAID
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def loop_environment(request: LaunchRequest) -> dict[str, str]:
    """Return the variables by which any agent reaches the loop and finds its item."""
    env: dict[str, str] = {}
    if request.endpoint is not None:
        env["WORKLOOP_URL"] = request.endpoint.url_api
        env["WORKLOOP_TOKEN_FILE"] = str(write_private(request.session_dir / BEARER_FILE, request.endpoint.token))
    if request.item_file is not None:
        env["WORKLOOP_ITEM"] = str(request.item_file)
    return env
