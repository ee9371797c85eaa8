"""Which files of a candidate could change what a check runs without being the test that it names.

Two kinds. A *stand-in* is loaded in the place of something else: a start-up file of the interpreter, compiled code that
differs from its source, a module with the name of one that test runners need, a module or package that hides a
protected one. No work needs it, so a candidate with one does not pass. A *runner's file* tells a test runner what to
run and how to end: honest work may touch it, so the base's takes its place while a check runs, in a contract that
protects anything. Of a file that says other things as well, only the part for runners counts.

A pattern in `protected` that begins with `!` lifts both for the paths it names.
"""

import configparser
import json
import sys
import tomllib
from collections.abc import Iterable

from workloop.domain.checks import matching_paths

LIFTED = "!"
STARTED = frozenset({"sitecustomize.py", "usercustomize.py"})
COMPILED = frozenset({".pyc", ".pyo", ".pth", ".egg-link"})
NATIVE = frozenset({".so", ".pyd"})
RUNNERS = frozenset({"pytest", "_pytest", "pluggy", "nose2", "coverage", "xdist", "tox", "nox", "test", "behave"})
MODULES = frozenset(sys.stdlib_module_names) | RUNNERS | {"sitecustomize", "usercustomize"}
SOURCE_ROOTS = ("", "src", "lib")
WHOLE = (
    "**/conftest.py",
    "**/pytest.ini",
    "**/.pytest.ini",
    "**/pytest.toml",
    "**/.pytest.toml",
    "**/.coveragerc",
    "**/noxfile.py",
    "**/Makefile",
    "**/makefile",
    "**/GNUmakefile",
    "**/justfile",
    "**/Justfile",
    "**/.justfile",
    "**/Taskfile.yml",
    "**/Rakefile",
    "**/.rspec",
    "**/.npmrc",
    "**/.yarnrc",
    "**/.yarnrc.yml",
    "**/.mocharc.*",
    "**/jest.config.*",
    "**/vitest.config.*",
    "**/karma.conf.*",
    "**/playwright.config.*",
    "**/cypress.config.*",
    "**/phpunit.xml",
    "**/phpunit.xml.dist",
    "**/.cargo/config",
    "**/.cargo/config.toml",
)
SHARED = ("**/pyproject.toml", "**/setup.cfg", "**/tox.ini", "**/package.json")
TABLES = ("pytest", "tox", "nox", "coverage", "poe", "taskipy")
SECTIONS = ("pytest", "tool:pytest", "tox", "testenv", "coverage", "nosetests", "unittest", "aliases")
MEMBERS = ("scripts", "jest", "mocha", "ava", "nyc", "c8", "vitest")


def lifted(protected: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of what a contract leaves to the worker although it would be protected by itself."""
    return tuple(pattern.removeprefix(LIFTED) for pattern in protected if pattern.startswith(LIFTED))


def named(protected: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of what a contract protects by name."""
    return tuple(pattern for pattern in protected if not pattern.startswith(LIFTED))


def stand_ins(
    changed: Iterable[str], before: Iterable[str], protected: Iterable[str], folders: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the changed paths that would be loaded in the place of something else.

    `before` are the paths of the base, `folders` those that checks run in.
    """
    patterns, known = tuple(protected), frozenset(before)
    hidden = _names_hiding(matching_paths(known, named(patterns)))
    roots = {*SOURCE_ROOTS, *(folder.strip("./") for folder in folders)}
    spared = frozenset(matching_paths(changed := tuple(changed), lifted(patterns)))
    return tuple(path for path in changed if path not in spared and _stands_in(path, known, hidden, roots))


def loadable(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that Python would load; of all others `stand_ins` says the same whatever the base has."""
    return tuple(path for path in paths if _module(path))


def runner_files(paths: Iterable[str], protected: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that tell a test runner what to do, unless the contract lifts them."""
    found = matching_paths(paths, (*WHOLE, *SHARED))
    spared = frozenset(matching_paths(found, lifted(protected)))
    return tuple(path for path in found if path not in spared)


def says_the_same(path: str, before: bytes | None, after: bytes | None) -> bool:
    """Tell whether two versions of a runner's file say the same to a runner; one that cannot be read says another."""
    if before == after:
        return True
    if not matching_paths((path,), SHARED):
        return False
    try:
        return _part(path, before or b"") == _part(path, after or b"")
    except (ValueError, configparser.Error):
        return False


def _stands_in(path: str, before: frozenset[str], hidden: frozenset[str], roots: set[str]) -> bool:
    folder, _, name = path.rpartition("/")
    if name in STARTED or _ending(name) in COMPILED:
        return True
    module = _module(path)
    if not module or path in before:
        return False
    folder, _, name = module.rpartition("/")
    return module in hidden or (name in MODULES and folder in roots)


def _module(path: str) -> str:
    """Return what Python would load from a path, as a path without its ending; empty when it would load nothing."""
    folder, _, name = path.rpartition("/")
    if name == "__init__.py":
        return folder
    ending = _ending(name)
    if ending == ".py":
        return path.removesuffix(ending)
    if ending in NATIVE:
        return f"{folder}/{name.partition('.')[0]}".lstrip("/")
    return ""


def _ending(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return dot + ending if stem else ""


def _names_hiding(protected: Iterable[str]) -> frozenset[str]:
    """Return the modules and folders that protected paths are, and lie in; something else of that name hides them."""
    found: set[str] = set()
    for path in protected:
        parts = path.split("/")[:-1]
        found.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
        found.add(_module(path))
    return frozenset(found - {""})


def _part(path: str, content: bytes) -> object:
    """Read what a file that has many readers says to a test runner."""
    text = content.decode()
    name = path.rpartition("/")[2]
    if name == "package.json":
        members = json.loads(text or "{}")
        return {member: members[member] for member in MEMBERS if member in members}
    if name == "pyproject.toml":
        tools = tomllib.loads(text).get("tool", {})
        return {table: tools[table] for table in TABLES if table in tools}
    found = configparser.RawConfigParser(strict=False)
    found.read_string(text)
    return {name: dict(found[name]) for name in found.sections() if {name, name.partition(":")[0]} & set(SECTIONS)}
