"""Which changed files stand in for a test or its runner, and which only look like it, as tables."""

import pytest

from workloop.domain.standins import loadable, named, runner_files, says_the_same, stand_ins

BASE = ("invoice.py", "tests/test_total.py", "checks/test_sum.py", "queue.py", "pkg/tests/test_a.py")


@pytest.mark.parametrize(
    "path",
    [
        "sitecustomize.py",
        "src/app/sitecustomize.py",
        "usercustomize.py",
        "shop.pth",
        "vendor/x.egg-link",
        "__pycache__/invoice.cpython-311.pyc",
        "unittest.py",
        "unittest/__init__.py",
        "difflib.py",
        "src/argparse.py",
        "lib/json/__init__.py",
        "sub/re.py",
        "pytest.py",
        "_pytest/__init__.py",
        "_json.cpython-311-x86_64-linux-gnu.so",
        "checks.py",
        "checks/__init__.py",
        "tests/test_total/__init__.py",
        "tests/test_total.cpython-311-x86_64-linux-gnu.so",
    ],
)
def test_a_file_that_would_be_loaded_in_the_place_of_another_is_found(path: str) -> None:
    """Security: start-up files, compiled code, names of the library at a root, and what hides a protected module."""
    assert stand_ins([path], BASE, ("tests/test_total.py", "checks"), ("sub",)) == (path,)


@pytest.mark.parametrize(
    "path",
    [
        "queue.py",
        "rounding.py",
        "app/types.py",
        "src/app/json.py",
        "cmd/main.go",
        "types/README",
        "site/index.html",
        "unittest/cases.txt",
        "docs/unittest.py.md",
        "tests/test_more.py",
        "tests/test_total/data.txt",
        "other/test_total/__init__.py",
        ".gitignore",
    ],
)
def test_honest_work_may_bring_what_only_looks_like_it(path: str) -> None:
    """Decision: inside packages, as folders without a package file, and what stood there before."""
    assert stand_ins([path], BASE, ("tests/test_total.py", "checks"), ("sub",)) == ()


@pytest.mark.parametrize("path", ["cmd/main.go", "types/README", "shop.pth", "site/index.html", "__pycache__/a.pyc"])
def test_what_python_would_not_load_is_judged_without_a_look_at_the_base(path: str) -> None:
    """Decision: so the paths of the base need not be read for a change that has nothing of the kind."""
    patterns = ("tests/test_total.py", "checks", "types", "cmd")
    assert loadable([path, "queue.py", "pkg/__init__.py"]) == ("queue.py", "pkg/__init__.py")
    assert stand_ins([path], BASE, patterns) == stand_ins([path], (), patterns)


def test_a_contract_may_leave_such_a_file_to_the_worker() -> None:
    """Decision: a pattern that begins with ! lifts what is protected by itself, and protects nothing."""
    patterns = ("tests", "!conftest.py", "!statistics.py")
    assert stand_ins(["statistics.py"], BASE, patterns) == ()
    assert runner_files(["conftest.py", "more/conftest.py"], patterns) == ("more/conftest.py",)
    assert named(patterns) == ("tests",)


def test_a_runners_files_are_known_at_any_depth() -> None:
    """Security: settings, hooks and targets that decide what is run and how it ends."""
    found = ("conftest.py", "a/b/conftest.py", "pytest.ini", "sub/Makefile", "GNUmakefile", ".cargo/config.toml")
    assert runner_files((*found, "src/main.rs", "conftest.md"), ()) == found


@pytest.mark.parametrize(
    ("path", "before", "after", "same"),
    [
        ("pyproject.toml", '[project]\nversion = "1"\n', '[project]\nversion = "2"\n', True),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", '[tool.pytest.ini_options]\naddopts = "--co"\n', False),
        ("pyproject.toml", "", "[tool.coverage.run]\nbranch = true\n", False),
        ("pyproject.toml", "", "not toml [", False),
        ("package.json", '{"version": "1"}', '{"version": "2", "dependencies": {}}', True),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', False),
        ("package.json", "", "[]", True),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", True),
        ("setup.cfg", "", "[tool:pytest]\naddopts = --co\n", False),
        ("tox.ini", "", "[testenv:py]\ncommands = true\n", False),
        ("tox.ini", "", "no section", False),
        ("conftest.py", "a", "a", True),
        ("conftest.py", "a", "b", False),
    ],
)
def test_of_a_file_that_says_other_things_as_well_only_the_runners_part_counts(
    path: str, before: str, after: str, same: bool
) -> None:
    """Decision: a version or a dependency is honest work; a file that cannot be read says something else."""
    assert says_the_same(path, before.encode(), after.encode()) is same
    assert says_the_same(path, after.encode(), before.encode()) is same


def test_a_file_that_came_or_went_says_something_else_unless_it_says_nothing_to_a_runner() -> None:
    """Decision: a new project file without a word to a runner is no runner's file."""
    assert says_the_same("pyproject.toml", None, b"[project]\nname = 'a'\n")
    assert not says_the_same("setup.cfg", b"[tool:pytest]\nx = 1\n", None)
    assert not says_the_same("conftest.py", None, b"")
