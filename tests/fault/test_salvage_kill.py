"""A loop killed between any two steps of saving and removing a work tree loses none of the work in it."""

import signal
import subprocess
import sys
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.driver.gitshop import GitShop
from workloop.runner.gitfacts import worktrees
from workloop.runner.registry import Workspace, leftovers
from workloop.runner.repository import Repository, open_repository
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

# The child kills itself just before its Nth step that another process could see, or gets to the end.
KILLED_AT = """
import os, signal, sys
from pathlib import Path
from workloop.driver.gitshop import GitShop
from workloop.runner.registry import read_record
from workloop.runner.repository import open_repository

repo, state, tree, at = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
STEPS = {"subprocess.Popen", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "shutil.copyfile", "shutil.rmtree"}
shop, workspace, count = GitShop(open_repository(repo, state)), read_record(tree), 0

def step(event, arguments):
    global count
    if event in STEPS:
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
done = shop.put_by(workspace, "killed")
assert done.stays == "", done
"""


def killed_at(repository: Repository, tree: Path, step: int) -> bool:
    argv = [sys.executable, "-c", KILLED_AT, str(repository.path), str(repository.state_dir), str(tree), str(step)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def worked_in(repository: Repository, attempt: int) -> tuple[Workspace, str]:
    """Make a work tree as its session left it: one commit, one commit on no branch, and files in every state."""
    workspace = make(
        repository, WorkspaceOrder(item_id="01abc", attempt=attempt, title="thing", created=Instant(attempt))
    )
    there = ScratchRepository(path=workspace.path)
    there.commit({"done.txt": f"{attempt}\n"})
    there.git("checkout", "--quiet", "--detach")
    loose = there.commit({"loose.txt": f"{attempt}\n"})
    (workspace.path / "a.txt").write_text(f"changed {attempt}\n")
    (workspace.path / "new.txt").write_text(f"new {attempt}\n")
    there.git("add", "new.txt")
    (workspace.path / "gone.txt").unlink()
    return workspace, loose


def test_a_loop_killed_before_any_step_of_putting_a_tree_away_loses_nothing(tmp_path: Path) -> None:
    """F01, F02, F26: at every moment the work is in the tree or on a reference, and the next loop finishes."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n", "gone.txt": "x\n"})
    repository = open_repository(scratch.path, tmp_path / "state")
    step, going = 0, True
    while going:
        step += 1
        workspace, loose = worked_in(repository, step)
        ref = workspace.salvage_ref
        going = killed_at(repository, workspace.path, step)
        saved = scratch.git("for-each-ref", "--format=x", ref) != ""
        assert saved or (workspace.path / "new.txt").read_text() == f"new {step}\n"
        left = GitShop(repository).recover(frozenset())
        assert [done.stays for done in left] == ([""] if going and left else [])
        names = scratch.git("ls-tree", "-r", "--name-only", ref).splitlines()
        assert names == ["a.txt", "done.txt", "loose.txt", "new.txt"]
        assert scratch.git("show", f"{ref}:a.txt") == f"changed {step}"
        assert scratch.git("merge-base", loose, ref) == loose
        assert not workspace.path.exists()
        assert leftovers(repository.state_dir) == ()
        assert [entry.path for entry in worktrees(repository.path)] == [scratch.path]
        assert list(repository.folder("worktrees").iterdir()) == []
    assert step > 30
    assert scratch.git("fsck", "--no-dangling") == ""
