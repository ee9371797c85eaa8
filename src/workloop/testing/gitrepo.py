"""How a test gets a small real git repository and commits in it as a person would."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchRepository:
    """A repository, or a worktree of one, that a test writes to."""

    path: Path

    def git(self, *arguments: str) -> str:
        """Run git as a person with a name; return what it printed."""
        argv = ["git", "-c", "user.name=Person", "-c", "user.email=person@example.org", *arguments]
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(argv, cwd=self.path, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | None], message: str = "work") -> str:
        """Write files (None deletes one), commit everything, and return the SHA."""
        for name, content in files.items():
            target = self.path / name
            if content is None:
                target.unlink()
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(content, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head

    @property
    def head(self) -> str:
        """Return the SHA of HEAD."""
        return self.git("rev-parse", "HEAD")

    def refs(self) -> str:
        """Return every reference and where it stands."""
        return self.git("for-each-ref", "--format=%(refname) %(objectname)")


def scratch_repository(path: Path, files: Mapping[str, str] | None = None) -> ScratchRepository:
    """Make a repository with one commit on main."""
    path.mkdir(parents=True)
    repository = ScratchRepository(path=path)
    repository.git("init", "--quiet", "--initial-branch=main")
    repository.commit(files or {"README": "hello\n"}, "first")
    return repository
