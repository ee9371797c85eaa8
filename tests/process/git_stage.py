"""What the tests of git behind walls share: a repository of an operator with two items' work trees."""

import os
import subprocess
from pathlib import Path

from workloop.runner.command import Command, CommandEnd, run_command
from workloop.runner.sandbox.enclosure import Network, Rooms, find_enclosure, git_rooms

BRANCH = "workloop/itm_1/a-feature"
IDENTITY = {
    "GIT_AUTHOR_NAME": "A Session",
    "GIT_AUTHOR_EMAIL": "session@example.org",
    "GIT_COMMITTER_NAME": "A Session",
    "GIT_COMMITTER_EMAIL": "session@example.org",
}


def git(where: Path, *words: str) -> str:
    env = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull}
    ran = subprocess.run(("git", "-C", str(where), *words), env=env, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


class Stage:
    """A repository of an operator with two items' work trees, and sessions in the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repo = folder / "project"
        self.repo.mkdir()
        git(self.repo, "init", "--quiet", "-b", "main")
        (self.repo / "code.py").write_text("one = 1\n")
        git(self.repo, "add", ".")
        git(self.repo, "commit", "--quiet", "-m", "first")
        git(self.repo, "branch", "workloop/itm_2/other")
        self.tree, self.other = folder / "trees" / "itm_1-1", folder / "trees" / "itm_2-1"
        git(self.repo, "worktree", "add", "--quiet", "-b", BRANCH, str(self.tree))
        git(self.repo, "worktree", "add", "--quiet", str(self.other), "workloop/itm_2/other")
        self.common = self.repo / ".git"
        self.own = self.common / "worktrees" / "itm_1-1"
        self.first = git(self.repo, "rev-parse", "main")

    def session(self, script: str, rooms: Rooms | None = None) -> CommandEnd:
        return run_command(
            Command(
                command=script,
                folder=self.folder / "run",
                cwd=self.tree,
                log_path=self.folder / "log",
                timeout_seconds=60,
                env={"PATH": os.environ["PATH"], "HOME": str(Path.home()), "LC_ALL": "C", **IDENTITY},
                enclosure=find_enclosure("bwrap", Network.OPEN),
                rooms=rooms or git_rooms(self.tree, BRANCH),
            )
        )

    def works(self, script: str) -> str:
        end = self.session(f"set -e\n{script}")
        assert end.exit_code == 0, end.output_tail
        return end.output_tail

    def tip(self, branch: str = BRANCH) -> str:
        return git(self.repo, "rev-parse", f"refs/heads/{branch}")


def stand_in(stage: Stage) -> Path:
    return stage.common / "workloop" / "itm_1-1" / "repository"
