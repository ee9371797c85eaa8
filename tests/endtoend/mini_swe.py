"""Git repositories around mini-swe-agent: as a harness, with defects or without, and a small project to mend."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from workloop.testing.gitrepo import ScratchRepository, scratch_repository

CHECKOUT: Final = Path(__file__).parents[2]
FOLDER: Final = Path(os.environ.get("WORKLOOP_MINI_SWE", CHECKOUT / ".mini-swe"))
PROGRAM: Final = FOLDER / "bin" / "python3"
OWN_FILES: Final = Path(__file__).with_name("mini_swe_harness")
PACKAGE: Final = "agent/minisweagent"
SHELL: Final = f"{PACKAGE}/environments/local.py"
SKILL: Final = "skills/run-tests/SKILL.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A text that stands once in a file, and what stands there instead."""

    path: str
    before: str
    after: str

    def made_in(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return files with the change made."""
        text = files[self.path]
        assert text.count(self.before) == 1, f"{self.path} does not have {self.before!r} once"
        return {**files, self.path: text.replace(self.before, self.after)}

    @property
    def undone(self) -> "Change":
        """Return the change that takes this one back."""
        return Change(path=self.path, before=self.after, after=self.before)


BROKEN_SHELL: Final = Change(
    path=SHELL,
    before='        encoding="utf-8",\n        errors="replace",\n',
    after='        encoding="ascii",\n',
)
"""A defect of a tool: whatever a command prints beyond ASCII is lost, and an exception is all that the model sees."""
BROKEN_SKILL: Final = Change(
    path=SKILL,
    before="with the tool `bash`: `python3 -m unittest -v tests.test_NAME`.",
    after="with the tool `run_tests`: its argument `module` is `tests.test_NAME`.",
)
"""A defect of a skill: it names a tool that the harness does not have."""
DEAF_SHELL: Final = Change(path=SHELL, before="stderr=subprocess.STDOUT", after="stderr=subprocess.DEVNULL")
"""A wrong repair: what disturbs is thrown away, and with it whatever else a command says of its errors."""

WRONG_ENCODING: Final = Change(path="mdurl/_encode.py", before="hex(i)[2:].upper()", after="hex(i)[2:]")
LOST_HASH: Final = Change(path="mdurl/_format.py", before='    result += url.hash or ""\n', after='    result += ""\n')
IGNORED: Final = {".gitignore": "__pycache__/\n"}
ENCODE_TEST: Final = '''"""Percent-encoding: Grüße, 你好."""

import unittest

import mdurl


class Encode(unittest.TestCase):
    def test_line_ends(self):
        """Zeilenenden in Grüßen werden groß geschrieben."""
        self.assertEqual(mdurl.encode("Grüße\\n"), "Gr%C3%BC%C3%9Fe%0A")

    def test_words(self):
        """Wörter bleiben lesbar."""
        self.assertEqual(mdurl.decode(mdurl.encode("Grüße")), "Grüße")
'''
FORMAT_TEST: Final = '''"""Formatting a parsed URL."""

import unittest

import mdurl


class Format(unittest.TestCase):
    def test_hash(self):
        self.assertEqual(mdurl.format(mdurl.parse("https://a.example/b#c")), "https://a.example/b#c")
'''


def need_mini_swe() -> None:
    """Skip, with the reason, where it is not installed."""
    if not PROGRAM.exists():
        pytest.skip("mini-swe-agent is not installed: `make mini-swe` brings it")


def installed(package: str) -> dict[str, str]:
    """Return the files of an installed package as they were published."""
    (folder,) = FOLDER.glob(f"lib/python3*/site-packages/{package}")
    return own_files(folder)


def own_files(folder: Path) -> dict[str, str]:
    """Return the files of a folder of ours."""
    places = (place for place in sorted(folder.rglob("*")) if place.is_file() and "__pycache__" not in place.parts)
    return {place.relative_to(folder).as_posix(): place.read_text("utf-8") for place in places}


def harness_files() -> dict[str, str]:
    """Return mini-swe-agent as a harness of files, as it should be."""
    return own_files(OWN_FILES) | {f"{PACKAGE}/{path}": text for path, text in installed("minisweagent").items()}


def harness_repository(folder: Path, *defects: Change) -> ScratchRepository:
    """Make a repository of mini-swe-agent as a harness of files, with these defects in its first commit."""
    files = harness_files()
    for defect in defects:
        files = defect.made_in(files)
    return scratch_repository(folder, files | IGNORED)


def project_repository(folder: Path) -> ScratchRepository:
    """Make a repository of mdurl with two bugs, each of which a test of its own finds."""
    files = {f"mdurl/{path}": text for path, text in installed("mdurl").items()}
    for bug in (WRONG_ENCODING, LOST_HASH):
        files = bug.made_in(files)
    tests = {"tests/__init__.py": "", "tests/test_encode.py": ENCODE_TEST, "tests/test_format.py": FORMAT_TEST}
    return scratch_repository(folder, files | tests | IGNORED)
