"""The Python programs on the pages run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import workloop
from workloop.driver.switches import order_stop
from workloop.testing.gitrepo import scratch_repository

ROOT = Path(__file__).parents[2]
PAGE, TRACKERS, FRONT = ROOT / "docs" / "python.md", ROOT / "docs" / "trackers.md", ROOT / "README.md"
PROGRAMS = re.compile(r"```python\n(.*?)```", re.DOTALL)
BOUND_SECONDS = 120
AGENT = """#!/bin/sh
set -e
echo mended > mended.txt
git add mended.txt
git commit -q -m "mend it"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the variables of a user with a state folder of its own and an agent that is never asked anything."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "claude").write_text("#!/bin/sh\necho 2.1.332\n")
    (folder / "claude").chmod(0o755)
    identity = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **identity, "PATH": path, "WORKLOOP_STATE": str(tmp_path / "state")}


def run(words: list[str], cwd: Path, environment: dict[str, str]) -> str:
    """Run a program to its end and return what it printed."""
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def project(tmp_path: Path, name: str, environment: dict[str, str]) -> Path:
    """Make a project with a queue."""
    repository = scratch_repository(tmp_path / name)
    run([sys.executable, "-m", "workloop", "init"], repository.path, environment)
    return repository.path


def program(number: int, page: Path = PAGE) -> list[str]:
    """Return how a program of a page is run."""
    return [sys.executable, "-c", PROGRAMS.findall(page.read_text("utf-8"))[number]]


def test_program_for_one_project_does_what_the_page_says(tmp_path: Path, environment: dict[str, str]) -> None:
    shop = project(tmp_path, "shop", environment)
    agent = shop / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    run([sys.executable, "-m", "workloop", "add", "mend", "--verification", "none"], shop, environment)
    said = run(program(0), tmp_path, environment)
    assert said.splitlines()[-1] == "sessions_spent 1"
    assert '"succeeded"' in run([sys.executable, "-m", "workloop", "show", "mend"], shop, environment)


def test_program_for_several_projects_does_what_the_page_says(tmp_path: Path, environment: dict[str, str]) -> None:
    for name in ("shop", "site"):
        project(tmp_path, name, environment)
    servers = tmp_path / "tickets.json"
    servers.write_text('{"mcpServers": {}}')
    servers.chmod(0o600)
    assert run(program(1), tmp_path, environment).strip() == "budget_spent"


def test_program_for_another_tracker_is_accepted(tmp_path: Path, environment: dict[str, str]) -> None:
    project(tmp_path, "shop", environment)
    (tmp_path / "shop" / "backlog" / "tasks").mkdir(parents=True)
    assert run(program(0, TRACKERS), tmp_path, environment) == ""


def test_program_on_the_front_page_obeys_orders_like_any_loop(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = project(tmp_path, "shop", environment)
    monkeypatch.setenv("WORKLOOP_STATE", environment["WORKLOOP_STATE"])
    driver = workloop.Driver(workloop.DriverConfig(work_dir=shop), "claude", workloop.open_queue(shop))
    order_stop(driver.folder(), halt="the page is only read")
    assert run(program(0, FRONT), tmp_path, environment).strip() == "halted"
