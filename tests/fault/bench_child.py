"""The child that runs a whole bench story in forks, each of which is killed at its Nth named point."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from killing import Steps, serve

from repair_stage import Stage
from workloop.testing.scripted_driver import finding, worked


def play(step: int, folder: str) -> None:
    """Run the story in a folder of its own until the point at which it dies, each point written down before."""
    steps = Steps(step)
    Path(folder).mkdir(mode=0o700)
    heard = os.open(Path(folder, "points"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def at(point: str) -> None:
        """Write the point down, then die if it is the one."""
        os.write(heard, f"{point}\n".encode())
        steps.step()

    refused = worked(candidate=None, observations=(finding("other"),))
    found = replace(worked(candidate=None, observations=(finding(),), transient="network"), wait_ms=1)
    Stage(folder=Path(folder), at=at).play({"run_task": [found], "run_repair": [refused]})


if __name__ == "__main__":
    sys.exit(serve(play))
