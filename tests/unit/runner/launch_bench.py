"""What a command line is built from in tests of the agent CLIs: a program that is there, a folder, an endpoint."""

from pathlib import Path

from workloop.runner.harness.port import LaunchRequest, McpEndpoint

ENDPOINT = McpEndpoint(url_mcp="http://127.0.0.1:1/mcp", url_api="http://127.0.0.1:1", token="abc")


def request_for(program: str, folder: Path) -> LaunchRequest:
    """Put a program on a PATH of its own and ask for a session with a prompt that looks like an option."""
    binary = folder / "bin" / program
    binary.parent.mkdir()
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    (folder / "session").mkdir(mode=0o700)
    return LaunchRequest(
        prompt="- do it",
        cwd=folder,
        session_dir=folder / "session",
        session_id="s-1",
        environment={"PATH": str(binary.parent), "HOME": "/home/operator"},
        endpoint=ENDPOINT,
    )
