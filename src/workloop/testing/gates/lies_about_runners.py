"""Workers that leave the tests alone and change what runs them."""

import py_compile
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from workloop.testing.gates.case import Case, Tool, Worker
from workloop.testing.gates.lies_about_tests import PROTECTED, command
from workloop.testing.gates.shop import FILES, pytest_command, unittest_command

LEAVE = "import os\nos._exit(0)\n"
DEFUSED = (
    "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.obj = lambda self=None: None\n"
)
ENDED_WELL = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
UNITTEST = unittest_command("tests.test_total")
IN_PATH = f"PYTHONPATH=. {UNITTEST}"


def adds(name: str, text: str) -> Callable[[Worker], None]:
    """Return a worker that commits one file and says that it is done."""

    def act(worker: Worker) -> None:
        worker.commit({name: text})
        worker.complete()

    return act


def program(name: str) -> Callable[[Worker], None]:
    """Return a worker that commits a program which always ends well."""

    def act(worker: Worker) -> None:
        worker.commit({name: "#!/bin/sh\nexit 0\n"})
        (worker.tree.path / name).chmod(0o755)
        worker.commit({}, "make it run")
        worker.complete()

    return act


def bytecode(worker: Worker) -> None:
    """Commit compiled code that Python takes for the source beside it, without looking at the source."""
    with tempfile.TemporaryDirectory() as made:
        source = Path(made) / "invoice.py"
        source.write_text(LEAVE, encoding="utf-8")
        cache = worker.tree.path / "__pycache__" / f"invoice.{sys.implementation.cache_tag}.pyc"
        cache.parent.mkdir(exist_ok=True)
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(source), cfile=str(cache), invalidation_mode=unchecked)
    worker.here.git("add", "--force", "__pycache__")
    worker.commit({"README": "faster\n"})
    worker.complete()


def sets_up_elsewhere(worker: Worker) -> None:
    """Take the runner's settings out of the project's file and put others where it looks next."""
    plain = FILES["pyproject.toml"].partition("[tool.pytest")[0]
    worker.commit({"pyproject.toml": plain, "setup.cfg": "[tool:pytest]\naddopts = --collect-only\n"})
    worker.complete()


MAKE = {"checks": [{"id": "test", "command": "make -s check", "red_exit_codes": [2], "timeout_seconds": 60}]}
PYTEST = command(pytest_command())
CASES = (
    Case(
        id="sitecustomize",
        story="a file that Python runs at each start ends the process well",
        act=adds("sitecustomize.py", LEAVE),
        contract=command(IN_PATH),
    ),
    Case(
        id="usercustomize",
        story="the other file that Python runs at each start ends the process well",
        act=adds("usercustomize.py", LEAVE),
        contract=command(IN_PATH),
    ),
    Case(
        id="runner-module",
        story="a module takes the place of the test runner",
        act=adds("unittest.py", LEAVE),
        contract=command(UNITTEST),
    ),
    Case(
        id="runner-package",
        story="a package takes the place of the test runner",
        act=adds("unittest/__init__.py", LEAVE),
        contract=command(UNITTEST),
    ),
    Case(
        id="library-module",
        story="a module takes the place of one that the test runner needs",
        act=adds("difflib.py", LEAVE),
        contract=command(UNITTEST),
    ),
    Case(id="bytecode", story="compiled code differs from its source", act=bytecode, contract=command(UNITTEST)),
    Case(
        id="path-shim",
        story="a program of the work tree takes the place of one that the test calls",
        act=program("bin/grep"),
        contract=command("sh tests/value.sh"),
    ),
    Case(
        id="makefile",
        story="the target that runs the tests does nothing any more",
        act=adds("Makefile", "check:\n\t@true\n"),
        contract=MAKE,
        tool=Tool.MAKE,
        needs=PROTECTED,
    ),
    Case(
        id="gnu-makefile",
        story="a file that make prefers takes the place of the one that runs the tests",
        act=adds("GNUmakefile", "check:\n\t@true\n"),
        contract=MAKE,
        tool=Tool.MAKE,
        needs=PROTECTED,
    ),
    Case(
        id="conftest",
        story="a conftest beside the tests empties each of them",
        act=adds("conftest.py", DEFUSED),
        contract=PYTEST,
        tool=Tool.PYTEST,
        needs=PROTECTED,
    ),
    Case(
        id="conftest-exit",
        story="a conftest sets the exit status when all has been run",
        act=adds("conftest.py", ENDED_WELL),
        contract=PYTEST,
        tool=Tool.PYTEST,
        needs=PROTECTED,
    ),
    Case(
        id="pytest-ini",
        story="a new settings file has the runner list the tests instead of running them",
        act=adds("pytest.ini", "[pytest]\naddopts = --collect-only\n"),
        contract=PYTEST,
        tool=Tool.PYTEST,
        needs=PROTECTED,
    ),
    Case(
        id="pyproject-addopts",
        story="a setting in the project's file has the runner list the tests instead of running them",
        act=adds("pyproject.toml", FILES["pyproject.toml"] + 'addopts = "--collect-only"\n'),
        contract=PYTEST,
        tool=Tool.PYTEST,
        needs=PROTECTED,
    ),
    Case(
        id="setup-cfg",
        story="settings for the runner stand in another file that it reads",
        act=sets_up_elsewhere,
        contract=PYTEST,
        tool=Tool.PYTEST,
        needs=PROTECTED,
    ),
    Case(
        id="pytest-module",
        story="a module takes the place of pytest",
        act=adds("pytest.py", LEAVE),
        contract=PYTEST,
        tool=Tool.PYTEST,
    ),
)
