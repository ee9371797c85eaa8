"""The import contracts hold, and each of them catches the violation that it is there for."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")
PLANTED = {
    "layers": ("domain/clock.py", "from workloop.store import port"),
    "interfaces-are-strangers": ("interfaces/web/api.py", "from workloop.interfaces.mcp import tool"),
    "backends-are-strangers": ("store/sqlite/pool.py", "from workloop.store.memory import tables"),
    "concrete-only-in-wiring": ("service/call.py", "from workloop.store.memory import MemoryStore"),
    "runner-knows-no-queue": ("runner/probe.py", "def late():\n    from workloop.store import port"),
    "pure": ("domain/rank.py", "import time"),
    "fenced": ("driver/turn/loop.py", "import click"),
    "git-behind-the-workshop": ("driver/attempt/judging.py", "from workloop.runner import gitfacts"),
    "surfaces-speak-no-sql": ("interfaces/cli/exits.py", "import sqlite3"),
    "no-cycles": ("service/feed.py", "from workloop.service import perform\n\n# perform imports feed"),
}
LATE = {"no-cycles": ("service/perform.py", "from workloop.service import feed")}


def contracts() -> dict[str, str]:
    """Return the names of the contracts by id."""
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return {contract["id"]: contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]}


def lint(source: Path) -> tuple[int, str]:
    """Check the contracts on a source tree."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [str(LINT), "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_contract_holds() -> None:
    code, told = lint(ROOT / "src")
    assert code == 0, told


def test_every_contract_has_a_planted_violation() -> None:
    assert contracts().keys() == PLANTED.keys()


def test_each_planted_violation_breaks_its_contract(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "workloop", tmp_path / "workloop", ignore=shutil.ignore_patterns("__pycache__"))
    for path, line in (*PLANTED.values(), *LATE.values()):
        with (tmp_path / "workloop" / path).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    code, told = lint(tmp_path)
    assert code == 1
    kept = [name for name in contracts().values() if f"{name} BROKEN" not in told]
    assert kept == []


def test_nothing_but_itself_may_import_the_shipped_test_parts(tmp_path: Path) -> None:
    planted = ("workloop.driver.turn.loop", "workloop.interfaces.serving", "workloop.__main__")
    shutil.copytree(ROOT / "src" / "workloop", tmp_path / "workloop", ignore=shutil.ignore_patterns("__pycache__"))
    for module in planted:
        with (tmp_path / f"{module.replace('.', '/')}.py").open("a", encoding="utf-8") as file:
            file.write("\nfrom workloop.testing import clocks\n")
    code, told = lint(tmp_path)
    assert code == 1
    assert [module for module in planted if f"{module} -> workloop.testing" not in told] == []
