"""A loop killed between any two steps of taking over a session's commit loses nothing and moves nothing twice."""

import os
import subprocess
from pathlib import Path

import pytest
from killing import killer

from workloop.runner.sandbox.gitrooms import git_rooms
from workloop.runner.sandbox.quarantine import STAND_IN
from workloop.runner.sandbox.receiving import receive
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

BRANCH = "workloop/itm_1/a-feature"
PARTS = 4
# Killed just before a step that changes anything on disk or starts a program.
CHILD = """
import os, sys
from pathlib import Path
from killing import die_before, serve
from workloop.runner.sandbox.receiving import receive

def changes(event, arguments):
    return event in ("os.rename", "os.remove", "os.chmod", "os.mkdir", "subprocess.Popen") or (
        event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    )

def take_over(step, _):
    die_before(step, changes)
    receive(Path(sys.argv[1]), ended=True)

serve(take_over)
"""


def in_stand_in(shop: ScratchRepository, tree: Path) -> str:
    """Commit as a session does, though without walls: new objects and the branch lie in the stand-in alone."""
    place = shop.path / ".git" / "workloop" / tree.name / STAND_IN
    env = {**os.environ, "GIT_OBJECT_DIRECTORY": str(place / "objects")}
    env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(shop.path / ".git" / "objects")

    def git(*words: str) -> str:
        argv = ("git", "-c", "user.name=Session", "-c", "user.email=session@example.org", "-C", str(tree), *words)
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout.strip()

    (tree / "new.txt").write_text("new\n")
    git("add", "new.txt")
    sha = git("commit-tree", "-p", "HEAD", "-m", "work", git("write-tree"))
    ref = place / "refs" / "heads" / BRANCH
    ref.parent.mkdir(parents=True)
    ref.write_text(f"{sha}\n")
    return sha


@pytest.mark.parametrize("part", range(PARTS))
def test_a_kill_between_any_two_steps_loses_nothing(tmp_path: Path, part: int) -> None:
    shop = scratch_repository(tmp_path / "shop", {"thing.txt": "one\n"})
    tree = tmp_path / "trees" / "itm_1-1"
    shop.git("worktree", "add", "--quiet", "-b", BRANCH, str(tree))
    git_rooms(tree, BRANCH)
    base, objects = shop.head, shop.path / ".git" / "objects"
    record = shop.path / ".git" / "workloop" / tree.name / "record.json"
    before, known = record.read_bytes(), set(objects.rglob("*"))
    sha = in_stand_in(shop, tree)

    step, going = part + 1, True
    with killer("-c", CHILD, str(tree)) as killed_at:
        while going:
            going = killed_at(step)
            assert shop.git("rev-parse", BRANCH) in (base, sha)

            receive(tree, ended=True)

            assert shop.git("rev-parse", BRANCH) == sha
            assert shop.git("show", f"{BRANCH}:new.txt") == "new"
            assert shop.git("fsck", "--no-dangling", "--strict") == ""
            shop.git("update-ref", f"refs/heads/{BRANCH}", base)
            record.write_bytes(before)
            for made in set(objects.rglob("*")) - known:
                if made.is_file():
                    made.unlink()
            step += PARTS
    assert step > 10, "it was killed at each of many steps"
