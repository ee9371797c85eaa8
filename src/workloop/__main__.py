"""The `workloop` command: opens the doors between the surfaces and runs one command line."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workloop.interfaces.cli.entry import run
from workloop.interfaces.cli.surfaces import Surfaces

if TYPE_CHECKING:
    from workloop.client import Client
    from workloop.config import Settings
    from workloop.driver.endpoint import SessionEndpoint
    from workloop.driver.project import Tell
    from workloop.driver.report import LoopOptions, LoopReport
    from workloop.service.call import Queue


def main() -> int:
    """Run the command line of this process; returns its exit code."""
    if not __debug__:
        sys.stderr.write("error: workloop does not run under python -O: its assertions guard the store\n")
        return 2
    doors = Surfaces(
        serve_stdio=serve_stdio, make_endpoint=make_endpoint, run_loop=run_loop, verify_by_host=verify_by_host
    )
    return run(sys.argv[1:], doors)


def serve_stdio(make_client: "Callable[[], Client]", profile: str) -> None:
    """Serve the actions to an agent on stdin and stdout until it goes."""
    from workloop.interfaces.mcp import stdio

    stdio.serve_stdio(make_client, profile)


def make_endpoint(queue: "Queue") -> "SessionEndpoint":
    """Return what lets a loop's sessions reach the queue."""
    from workloop.interfaces import serving

    return serving.make_endpoint(queue)


def run_loop(
    settings: "Settings", options: "LoopOptions", door: "Callable[[Queue], SessionEndpoint]", tell: "Tell"
) -> "LoopReport":
    """Run the loop until it ends."""
    from workloop import wiring

    return wiring.run_loop(settings, options, door, tell)


def verify_by_host(settings: "Settings", key: str) -> Mapping[str, Any]:
    """Judge a candidate by running its checks on this host."""
    from workloop import wiring

    return wiring.verify_by_host(settings, key)


if __name__ == "__main__":
    sys.exit(main())
