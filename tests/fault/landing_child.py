"""A loop's landing as a process that is killed just before its Nth step: a call of a program, or a word to the store.

Step 0 is none.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from killing import Steps, serve

from workloop.config.landing import LandingConfig, PullRequestConfig
from workloop.driver.gitshop import GitShop
from workloop.driver.project import Project
from workloop.driver.turn import landing
from workloop.runner.landing import PullRequests, Ways
from workloop.runner.remote import find_remote
from workloop.runner.repository import open_repository
from workloop.service.call import Queue
from workloop.store.sqlite.store import SqliteSettings, SqliteStore
from workloop.store.system import SystemClock, SystemIds

FORGE = Path(__file__).parents[1] / "process" / "fake_forge.py"
HERE = Path(sys.argv[1])


def armed(last: int) -> None:
    """Count every program that is started, and what is written to the store before and after."""
    steps, start, write = Steps(last), subprocess.Popen, landing.run_as_host

    def counted(*args: Any, **kwargs: Any) -> Any:
        steps.step()
        return start(*args, **kwargs)

    def written(*args: Any) -> Any:
        steps.step()
        answer = write(*args)
        steps.step()
        return answer

    for module, name, stand_in in ((subprocess, "Popen", counted), (landing, "run_as_host", written)):
        setattr(module, name, stand_in)


def run(step: int) -> None:
    """Land what waits."""
    (HERE / "loop.pid").write_text(str(os.getpid()))
    armed(step)
    usual, forge = PullRequestConfig(), (sys.executable, str(FORGE))
    words = [(*forge, *given[1:]) for given in (usual.find, usual.open, usual.merge)]
    environment = {
        "PATH": os.environ["PATH"],
        "FORGE": str(HERE / "forge.json"),
        "FORGE_BARE": str(HERE / "origin.git"),
    }
    repository = open_repository(HERE / "my repo", HERE / "state")
    ways = Ways(
        remote=find_remote(repository, "origin"),
        pulls=PullRequests(find=words[0], open=words[1], merge=words[2], auto_merge=True, environment=environment),
    )
    store = SqliteStore(SqliteSettings(path=HERE / "queue.db"), SystemClock(), SystemIds())
    project = Project(
        queue=Queue(store=store, ids=SystemIds(), slug="night"),
        workshop=GitShop(repository, ways=ways),
        folder=HERE / "folder",
        clock=SystemClock(),
        ids=SystemIds(),
        tell=lambda kind, facts: None,
        landing=LandingConfig(pull_requests=PullRequestConfig(poll_seconds=0.05)),
    )
    mine = landing.Landings(project=project)
    mine.collect()
    for _ in range(3):
        mine.rests.clear()
        mine.land_all()
    store.close()


if __name__ == "__main__":
    serve(lambda step, _: run(step))
