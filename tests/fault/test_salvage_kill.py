"""A loop killed between any two steps of saving and removing a work tree loses none of the work in it."""

from pathlib import Path

import pytest
from killing import killer

from workloop.domain.clock import Instant
from workloop.driver.gitshop import GitShop
from workloop.runner.gitfacts import worktrees
from workloop.runner.registry import Workspace, leftovers
from workloop.runner.repository import Repository, open_repository
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

PARTS = 4
# Killed just before a step of putting a tree away that another process could see.
CHILD = """
import sys
from pathlib import Path
from killing import die_before, serve
from workloop.driver.gitshop import GitShop
from workloop.runner.registry import read_record
from workloop.runner.repository import open_repository

STEPS = {"subprocess.Popen", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "shutil.copyfile", "shutil.rmtree"}
shop = GitShop(open_repository(Path(sys.argv[1]), Path(sys.argv[2])))

def put_away(step, tree):
    workspace = read_record(Path(tree))
    die_before(step, lambda event, _: event in STEPS)
    assert shop.put_by(workspace, "killed").stays == ""

serve(put_away)
"""


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


@pytest.mark.parametrize("part", range(PARTS))
def test_a_loop_killed_before_any_step_of_putting_a_tree_away_loses_nothing(tmp_path: Path, part: int) -> None:
    """F01, F02, F26: at every moment the work is in the tree or on a reference, and the next loop finishes."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n", "gone.txt": "x\n"})
    repository = open_repository(scratch.path, tmp_path / "state")
    step, going = part + 1, True
    with killer("-c", CHILD, str(repository.path), str(repository.state_dir)) as killed_at:
        while going:
            workspace, loose = worked_in(repository, step)
            going = killed_at(step, str(workspace.path))
            finish(scratch, repository, workspace, loose)
            step += PARTS
    assert step > 30
    assert scratch.git("fsck", "--no-dangling") == ""


def finish(scratch: ScratchRepository, repository: Repository, workspace: Workspace, loose: str) -> None:
    """See that the work is somewhere, do what the next loop does, and see all of it on its reference."""
    ref, mark = workspace.salvage_ref, str(workspace.attempt)
    saved = scratch.git("for-each-ref", "--format=x", ref) != ""
    assert saved or (workspace.path / "new.txt").read_text() == f"new {mark}\n"
    left = GitShop(repository).recover(frozenset())
    assert [done.stays for done in left] == [""] * len(left)
    assert scratch.git("ls-tree", "-r", "--name-only", ref).splitlines() == [
        "a.txt",
        "done.txt",
        "loose.txt",
        "new.txt",
    ]
    assert scratch.git("show", f"{ref}:a.txt") == f"changed {mark}"
    assert scratch.git("merge-base", loose, ref) == loose
    assert not workspace.path.exists()
    assert leftovers(repository.state_dir) == ()
    assert [entry.path for entry in worktrees(repository.path)] == [scratch.path]
    assert list(repository.folder("worktrees").iterdir()) == []
