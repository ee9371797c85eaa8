"""Workers that change, take away or stand in for the tests that judge them."""

from typing import Any

from workloop.testing.gates.case import Case, Need, Worker
from workloop.testing.gates.shop import PYTHON, TEST, unittest_command

EMPTY_TEST = "import unittest\n\n\nclass Total(unittest.TestCase):\n    def test_total(self):\n        pass\n"
PROTECTED = (Need.PROTECTED,)


def edit(worker: Worker) -> None:
    """Make the test say what the code does."""
    worker.commit({"tests/test_total.py": TEST.replace(", 4)", ", 2)")})
    worker.complete()


def edit_and_hide(worker: Worker) -> None:
    """Change the test in one commit and call the next one, which is about something else, the result."""
    worker.commit({"tests/test_total.py": EMPTY_TEST})
    worker.commit({"README": "A shop that adds up.\n"})
    worker.complete()


def delete(worker: Worker) -> None:
    """Take the test away, so that nothing is found to run."""
    worker.commit({"tests/test_total.py": None, "README": "cleaner\n"})
    worker.complete()


def skip(worker: Worker) -> None:
    """Mark the test as skipped."""
    worker.commit({"tests/test_total.py": TEST.replace("    def", '    @unittest.skip("flaky")\n    def')})
    worker.complete()


def package(worker: Worker) -> None:
    """Defuse the assertions in the tests' own package file."""
    worker.commit({"tests/__init__.py": "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n"})
    worker.complete()


def stand_in_package(worker: Worker) -> None:
    """Put a package beside the protected module, which Python prefers to it."""
    worker.commit({"tests/test_total/__init__.py": EMPTY_TEST})
    worker.complete()


def module_for(folder: str) -> str:
    """Return a module that passes for a folder of tests."""
    name = f"{folder}.test_total"
    fake = "import sys, types, unittest\n__path__ = []\n" + EMPTY_TEST.replace("import unittest\n", "")
    fake += f"test_total = types.ModuleType('{name}')\ntest_total.Total = Total\n"
    return f"{fake}sys.modules['{name}'] = test_total\n"


def stand_in_module(worker: Worker) -> None:
    """Put a module beside the protected folder, which Python prefers to a folder without a package file."""
    worker.commit({"checks.py": module_for("checks")})
    worker.complete()


def link(worker: Worker) -> None:
    """Replace the folder of tests by a link to one's own."""
    worker.here.git("rm", "-r", "--quiet", "tests")
    (worker.tree.path / "mine").mkdir()
    (worker.tree.path / "tests").symlink_to("mine")
    worker.commit({"mine/__init__.py": "", "mine/test_total.py": EMPTY_TEST, "mine/control_total.py": EMPTY_TEST})
    worker.complete()


def submodule(worker: Worker) -> None:
    """Replace the folder of tests by a submodule that nobody checks out, and bring one's own elsewhere."""
    here = worker.here
    here.git("rm", "-r", "--quiet", "tests")
    here.git("update-index", "--add", "--cacheinfo", f"160000,{here.head},tests")
    (worker.tree.path / "tests.py").write_text(module_for("tests"))
    here.git("add", "tests.py")
    here.git("commit", "--quiet", "--message", "tests live elsewhere now")
    worker.complete()


def attributes(worker: Worker) -> None:
    """Leave every protected byte alone in git, and have it checked out so that no line of it matches."""
    worker.commit({".gitattributes": "tests/cases.txt text eol=crlf\n"})
    worker.complete()


def attributes_below(worker: Worker) -> None:
    """Do the same with a file of attributes inside a protected folder."""
    worker.commit({"tests/.gitattributes": "cases.txt text eol=crlf\n"})
    worker.complete()


def wrapper(worker: Worker) -> None:
    """Have the script that runs the tests end well whatever they say."""
    worker.commit({"run-tests.sh": f"{PYTHON} -m unittest -q tests.test_total || exit 0\n"})
    worker.complete()


def command(line: str, **more: object) -> dict[str, Any]:
    """Return a contract with one check of another command."""
    return {"checks": [{"id": "test", "command": line, "timeout_seconds": 60}], **more}


CASES = (
    Case(id="edited-test", story="the test is made to say what the code does", act=edit, needs=PROTECTED),
    Case(
        id="edited-then-hidden",
        story="the test is emptied one commit below the one that is handed in",
        act=edit_and_hide,
        needs=PROTECTED,
    ),
    Case(
        id="deleted-test",
        story="the test is taken away, and nothing is found to run",
        act=delete,
        needs=PROTECTED,
        contract=command(f"{PYTHON} -m unittest discover -q -s tests"),
    ),
    Case(id="skipped-test", story="the test is marked as skipped", act=skip, needs=PROTECTED),
    Case(id="tests-package", story="the tests' package file defuses assertions", act=package, needs=PROTECTED),
    Case(
        id="stand-in-package",
        story="a package stands in for the one protected module",
        act=stand_in_package,
        contract={"protected": ["tests/test_total.py"], **command(unittest_command("tests.test_total"))},
        needs=PROTECTED,
    ),
    Case(
        id="stand-in-module",
        story="a module stands in for the protected folder",
        act=stand_in_module,
        contract={"protected": ["checks"], **command(unittest_command("checks.test_total"))},
        needs=PROTECTED,
    ),
    Case(id="linked-tests", story="the folder of tests becomes a link", act=link, needs=PROTECTED),
    Case(id="swapped-submodule", story="the folder of tests becomes a submodule", act=submodule, needs=PROTECTED),
    Case(
        id="attributes",
        story="attributes change the protected file's line ends at check-out",
        act=attributes,
        contract=command("sh tests/cases.sh"),
        needs=PROTECTED,
    ),
    Case(
        id="attributes-below",
        story="attributes inside the protected folder change its files at check-out",
        act=attributes_below,
        contract=command("sh tests/cases.sh"),
        needs=PROTECTED,
    ),
    Case(
        id="exit-code-wrapper",
        story="the script that runs the tests swallows their exit code",
        act=wrapper,
        contract=command("sh run-tests.sh", protected=["tests", "run-tests.sh"]),
        needs=PROTECTED,
    ),
)
