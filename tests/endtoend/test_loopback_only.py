"""The end-to-end tests run where nothing but loopback exists, or say why they do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "loopback-only"
CANNOT = 77
PROBE = """
import errno, socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    socket.create_connection(listener.getsockname()).close()
try:
    socket.create_connection(("192.0.2.1", 443), timeout=5)
except OSError as error:
    print(errno.errorcode.get(error.errno, error))
"""


def interfaces_up() -> list[str]:
    """List the interfaces of this process's own network namespace that are up."""
    listed = subprocess.run(["ip", "-oneline", "link", "show", "up"], capture_output=True, text=True, check=True)
    return [line.split(": ")[1].partition("@")[0] for line in listed.stdout.splitlines()]


@pytest.mark.real_agent
def test_run_that_claims_to_be_cut_off_has_no_interface_up_but_loopback() -> None:
    if os.environ.get("WORKLOOP_LOOPBACK_ONLY") != "1":
        pytest.skip("not started through .ci/loopback-only")
    assert interfaces_up() == ["lo"]


def test_script_leaves_loopback_and_nothing_else() -> None:
    environment = {**os.environ, "WORKLOOP_LOOPBACK_REQUIRED": "1"}
    ran = subprocess.run(
        [SCRIPT, sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode == CANNOT:
        pytest.skip(ran.stderr.strip())
    assert (ran.returncode, ran.stdout) == (0, "ENETUNREACH\n"), ran.stderr
