"""A short command imports little: held in a fresh interpreter, because an agent calls it often."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workloop.testing.gitrepo import scratch_repository

HEAVY = (
    "anyio", "asyncio", "httpx", "jinja2", "mcp", "msgspec", "psutil", "pydantic", "pydantic_core", "starlette",
    "uvicorn", "yaml",
)  # fmt: skip
FOR_OTHERS = (
    "workloop.domain.evidence", "workloop.domain.lane", "workloop.domain.new_item", "workloop.domain.question",
    "workloop.domain.session", "workloop.domain.verdict", "workloop.runner", "workloop.service.adding",
    "workloop.service.completing", "workloop.service.insights", "workloop.store.memory",
)  # fmt: skip
SPY = """
import json, sys
from workloop.__main__ import main
code = main()
sys.stdout.flush()
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], str]:
    """Make a project with one claimed item and one free one; returns where, how to reach it, and the token."""
    folder = tmp_path_factory.mktemp("startup")
    scratch_repository(folder / "project")
    environment = {**os.environ, "WORKLOOP_STATE": str(folder / "state")}
    where = (folder / "project", environment, "")
    for words in (["init"], ["add", "first"], ["add", "second"]):
        assert loaded(where, *words)[0] == 0
    out = subprocess.run(
        [sys.executable, "-m", "workloop", "claim", "first"],
        cwd=where[0],
        env=environment,
        capture_output=True,
        check=True,
    ).stdout
    return (folder / "project", environment, json.loads(out)["token"])


def loaded(place: tuple[Path, dict[str, str], str], *words: str) -> tuple[int, set[str]]:
    """Run a command in a fresh interpreter; returns its exit code and every module it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SPY, *words], cwd=place[0], env=place[1], capture_output=True, text=True, check=False
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, set(modules)


def test_help_loads_nothing_heavy_and_no_store(place: tuple[Path, dict[str, str], str]) -> None:
    """Help is for somebody who has nothing yet."""
    code, modules = loaded(place, "--help")
    assert code == 0
    assert modules.isdisjoint({*HEAVY, "sqlite3", "workloop.wiring"})


def test_a_heartbeat_loads_neither_click_nor_what_other_actions_need(place: tuple[Path, dict[str, str], str]) -> None:
    """The most frequent command pays for itself alone."""
    code, modules = loaded(place, "heartbeat", "--token", place[2])
    assert code == 0
    assert modules.isdisjoint({*HEAVY, *FOR_OTHERS, "click", "subprocess", "random", "urllib.request"})


def test_a_claim_loads_neither_click_nor_what_other_actions_need(place: tuple[Path, dict[str, str], str]) -> None:
    """The second most frequent one too."""
    code, modules = loaded(place, "claim", "second", "--holder", "other")
    assert code == 0
    assert modules.isdisjoint({*HEAVY, *FOR_OTHERS, "click", "subprocess", "random", "urllib.request"})


def test_a_call_to_a_running_loop_loads_no_store(place: tuple[Path, dict[str, str], str], tmp_path: Path) -> None:
    """An agent's session speaks to its loop, which has the store open already."""
    token = tmp_path / "token"
    token.write_text("x")
    nobody = {"WORKLOOP_URL": "http://127.0.0.1:1", "WORKLOOP_TOKEN_FILE": str(token)}
    code, modules = loaded((place[0], {**place[1], **nobody}, ""), "heartbeat")
    assert code == 8
    heavy = {
        "click",
        "sqlite3",
        "tomllib",
        "urllib.request",
        "http.client",
        "ssl",
        "workloop.config",
        "workloop.wiring",
    }
    assert modules.isdisjoint({*HEAVY, *FOR_OTHERS, *heavy, "workloop.service.perform"})


@pytest.mark.parametrize("words", [("status",), ("show", "first"), ("add", "third"), ("list",)])
def test_every_plain_action_does_without_the_heavy_libraries(
    place: tuple[Path, dict[str, str], str], words: tuple[str, ...]
) -> None:
    """What the loop needs is not what a look needs."""
    code, modules = loaded(place, *words)
    assert code == 0
    assert modules.isdisjoint({*HEAVY, "click", "workloop.runner", "workloop.domain.session"})


def test_an_explanation_reads_the_journal_without_the_heavy_libraries(
    place: tuple[Path, dict[str, str], str],
) -> None:
    """It knows what a session is, because the loop's last word may be about one; it loads nothing that runs one."""
    code, modules = loaded(place, "why", "first")
    assert code == 0
    assert modules.isdisjoint({*HEAVY, "click", "workloop.runner", "workloop.driver"})


def test_the_package_itself_loads_nothing() -> None:
    """`import workloop` is free."""
    spy = "import sys; before = set(sys.modules); import workloop; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", spy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['workloop']"
