"""Honest workers, so that gates which refuse everything are seen."""

from collections.abc import Callable, Mapping
from typing import Any

from workloop.testing.gates.case import Case, Tool, Worker
from workloop.testing.gates.lies_about_proof import claims
from workloop.testing.gates.lies_about_tests import command
from workloop.testing.gates.shop import FILES, MENDED, PYTHON, advised, pytest_command, unittest_command


def mends(files: Mapping[str, str] | None = None) -> Callable[[Worker], None]:
    """Return a worker that does the job and commits some more beside it."""

    def act(worker: Worker) -> None:
        worker.complete(worker.commit({"invoice.py": MENDED, **(files or {})}))

    return act


def in_steps(worker: Worker) -> None:
    """Try something, take it back, then do the job."""
    worker.commit({"invoice.py": FILES["invoice.py"] + "\n\nDEBUG = True\n"})
    worker.here.git("revert", "--no-edit", "HEAD")
    worker.complete(worker.mend())


def keeps_up(worker: Worker) -> None:
    """Do the job and merge what others landed meanwhile."""
    worker.mend()
    landed = worker.repository.commit({"CHANGES": f"for {worker.claim['item']['key']}\n"})
    worker.here.git("merge", "--quiet", "--no-edit", landed)
    worker.complete()


def leaves_dirt(worker: Worker) -> None:
    """Do the job and leave notes behind that are not committed."""
    found = worker.mend()
    (worker.tree.path / "notes.txt").write_text("it was the rounding\n")
    worker.complete(found)


def odd_names(worker: Worker) -> None:
    """Do the job with names that are hard to quote, a link and a program beside it."""
    (worker.tree.path / "latest").symlink_to("invoice.py")
    (worker.tree.path / "open me.sh").write_text("#!/bin/sh\n")
    (worker.tree.path / "open me.sh").chmod(0o755)
    worker.complete(worker.commit({"invoice.py": MENDED, "Größe — '1'.txt": "x\n"}))


def writes_around() -> dict[str, Any]:
    """Return a contract whose check needs HOME and TMPDIR as any tool does."""
    line = f'mkdir -p "$HOME/.cache/shop" && date > "$TMPDIR/now" && {unittest_command("tests.test_total")}'
    return command(line)


def guarded() -> dict[str, Any]:
    """Return a contract with a guard beside the proof."""
    guard = {"id": "loads", "kind": "guards", "command": f"{PYTHON} -c 'import invoice'", "timeout_seconds": 60}
    return {"checks": [*advised()["checks"], guard]}


def thrice() -> dict[str, Any]:
    """Return a contract whose check is known to be moody and is run several times."""
    return {"checks": [{**advised()["checks"][0], "runs": 3}]}


MAKEFILE = FILES["Makefile"] + "\nclean:\n\trm -rf __pycache__\n"
MAKE = {"checks": [{"id": "test", "command": "make -s check", "red_exit_codes": [2], "timeout_seconds": 60}]}
PYPROJECT = FILES["pyproject.toml"].replace('version = "1"', 'version = "2"\ndependencies = []')
FOLDERS = {"cmd/main.go": "package main\n", "types/README": "x\n", "site/index.html": "x\n", "shop/types.py": "A = 1\n"}

CASES = (
    Case(id="plain", story="the job is done", act=mends(), honest=True),
    Case(
        id="own-tests", story="tests of one's own beside it", act=mends({"more/test_more.py": "A = 1\n"}), honest=True
    ),
    Case(id="in-steps", story="a step back before the job is done", act=in_steps, honest=True),
    Case(id="keeps-up", story="what others landed is merged in", act=keeps_up, honest=True),
    Case(id="leaves-dirt", story="notes stay behind uncommitted", act=leaves_dirt, honest=True),
    Case(id="odd-names", story="names that are hard to quote, links and programs", act=odd_names, honest=True),
    Case(id="new-module", story="a module beside it", act=mends({"rounding.py": "UP = 1\n"}), honest=True),
    Case(id="folders", story="folders with names of Python's own modules", act=mends(FOLDERS), honest=True),
    Case(
        id="new-version",
        story="the project's file gets a version",
        act=mends({"pyproject.toml": PYPROJECT}),
        honest=True,
    ),
    Case(
        id="more-targets",
        story="the Makefile gets a target that no check runs",
        act=mends({"Makefile": MAKEFILE}),
        honest=True,
        contract=MAKE,
        tool=Tool.MAKE,
    ),
    Case(
        id="attributes-of-pictures",
        story="attributes that touch no test",
        act=mends({".gitattributes": "*.png binary\n"}),
        honest=True,
    ),
    Case(
        id="conftest-elsewhere",
        story="a conftest for tests that no check runs",
        act=mends({"more/conftest.py": "import pytest\n"}),
        honest=True,
    ),
    Case(
        id="needs-folders",
        story="a check that needs HOME and TMPDIR",
        act=mends(),
        honest=True,
        contract=writes_around(),
    ),
    Case(id="guarded", story="a guard beside the proof", act=mends(), honest=True, contract=guarded()),
    Case(id="thrice", story="a check that is run several times", act=mends(), honest=True, contract=thrice()),
    Case(id="repaired", story="a rejection is answered by doing the job", act=claims, again=mends(), honest=True),
    Case(
        id="pytest",
        story="the job is done, and pytest is what looks at it",
        act=mends(),
        honest=True,
        contract=command(pytest_command()),
        tool=Tool.PYTEST,
    ),
)
