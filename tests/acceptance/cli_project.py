"""What command-line tests share: a real repository, a state folder, and the command run as a user runs it."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workloop.testing.gitrepo import ScratchRepository, scratch_repository

SECONDS_MAX = 60
Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Facts:
        """Return the answer as JSON."""
        return json.loads(self.out)

    @property
    def problem(self) -> Facts:
        """Return the error as a problem document."""
        return json.loads(self.err.splitlines()[-1])


@dataclass(frozen=True, slots=True)
class Project:
    """One repository, its state folder, and a clean environment."""

    repository: ScratchRepository
    state: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def run(
        self, *words: str, stdin: str = "", cwd: Path | None = None, python: tuple[str, ...] = (), **extra: str
    ) -> Done:
        """Run the command, with more variables in its environment when given."""
        return self.started([sys.executable, *python, "-m", "workloop", *words], stdin, cwd, extra)

    def started(self, argv: list[str], stdin: str, cwd: Path | None, extra: Mapping[str, str]) -> Done:
        """Run a child to its end; nothing it does may end in a traceback."""
        done = subprocess.run(
            argv,
            input=stdin.encode("utf-8", "surrogateescape"),
            cwd=cwd or self.repository.path,
            env={**self.environment, **extra},
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        ended = Done(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ended.err, ended.err
        return ended

    def plain(self, words: tuple[str, ...], stdin: str, extra: Mapping[str, str]) -> Done:
        """Run the command in the repository."""
        return self.started([sys.executable, "-m", "workloop", *words], stdin, None, extra)

    def ask(self, *words: str, stdin: str = "", **extra: str) -> Facts:
        """Run a command that must succeed; returns its answer."""
        done = self.plain(words, stdin, extra)
        assert done.code == 0, (words, done)
        return done.answer

    def refused(self, *words: str, stdin: str = "", **extra: str) -> tuple[int, str]:
        """Run a command that must be refused; returns its exit code and the code of its problem document."""
        done = self.plain(words, stdin, extra)
        assert done.out == "", (words, done)
        problem = done.problem
        assert problem["title"]
        assert isinstance(problem["retryable"], bool)
        return done.code, problem["code"]

    def written(self) -> str:
        """Return all that the store holds: the same before and after means that nothing was written."""
        store = sqlite3.connect(f"file:{self.folder / 'store.db'}?mode=ro", uri=True)
        try:
            return "\n".join(store.iterdump())
        finally:
            store.close()

    def file(self, name: str, text: str) -> str:
        """Write a file beside the repository; returns its path."""
        path = self.state.parent / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    @property
    def folder(self) -> Path:
        """Return the project's private folder."""
        return next(folder for folder in self.state.iterdir() if folder.name.startswith("project-"))


def bare_project(folder: Path) -> Project:
    """Make a repository that nothing knows of yet."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    environment = {**kept, "WORKLOOP_STATE": str(folder / "state"), "GIT_CONFIG_GLOBAL": os.devnull, "USER": "tester"}
    return Project(scratch_repository(folder / "project"), folder / "state", environment)


def project_with(folder: Path, settings: str = "") -> Project:
    """Make a repository with a campaign; settings are appended to the campaign's table."""
    project = bare_project(folder)
    if not settings:
        project.ask("init")
        return project
    config = project.file("workloop.toml", settings)
    project.environment["WORKLOOP_CONFIG"] = config
    project.ask("init")
    return project
