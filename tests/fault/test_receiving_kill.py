"""A loop killed between any two steps of taking over a session's commit loses nothing and moves nothing twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from workloop.runner.sandbox.gitrooms import git_rooms
from workloop.runner.sandbox.quarantine import STAND_IN
from workloop.runner.sandbox.receiving import receive
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

BRANCH = "workloop/itm_1/a-feature"
STEPS_MAX = 200
# The child kills itself just before its Nth step that changes anything on disk or starts a program.
KILLED_AT = """
import os, signal, sys
from pathlib import Path
from workloop.runner.sandbox.receiving import receive

tree, at = Path(sys.argv[1]), int(sys.argv[2])
count = 0

def step(event, arguments):
    global count
    if event in ("os.rename", "os.remove", "os.chmod", "os.mkdir", "subprocess.Popen") or (
        event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    ):
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
receive(tree, ended=True)
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


def test_a_kill_between_any_two_steps_loses_nothing(tmp_path: Path) -> None:
    shop = scratch_repository(tmp_path / "shop", {"thing.txt": "one\n"})
    tree = tmp_path / "trees" / "itm_1-1"
    shop.git("worktree", "add", "--quiet", "-b", BRANCH, str(tree))
    git_rooms(tree, BRANCH)
    base, objects = shop.head, shop.path / ".git" / "objects"
    record = shop.path / ".git" / "workloop" / tree.name / "record.json"
    before, known = record.read_bytes(), set(objects.rglob("*"))
    sha = in_stand_in(shop, tree)

    for step in range(1, STEPS_MAX):
        argv = [sys.executable, "-c", KILLED_AT, str(tree), str(step)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        assert shop.git("rev-parse", BRANCH) in (base, sha)

        receive(tree, ended=True)

        assert shop.git("rev-parse", BRANCH) == sha
        assert shop.git("show", f"{BRANCH}:new.txt") == "new"
        assert shop.git("fsck", "--no-dangling", "--strict") == ""
        if done.returncode == 0:
            assert step > 10, "it was killed at each of many steps"
            return
        shop.git("update-ref", f"refs/heads/{BRANCH}", base)
        record.write_bytes(before)
        for made in set(objects.rglob("*")) - known:
            if made.is_file():
                made.unlink()
    raise AssertionError("it never came to its end")
