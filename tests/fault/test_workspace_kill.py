"""A loop killed while it makes, checks or lands leaves nothing that cannot be listed and cleared."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from killing import killer

from workloop.domain.clock import Instant
from workloop.runner.collecting import gc
from workloop.runner.gitfacts import worktrees
from workloop.runner.registry import leftovers
from workloop.runner.repository import Repository, open_repository
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Opened = tuple[ScratchRepository, Repository]
PARTS = 2
# Killed just before a call of git.
CHILD = """
import sys
from pathlib import Path
from killing import die_before, serve
from workloop.domain.clock import Instant
from workloop.runner.repository import open_repository
from workloop.runner.workspace import WorkspaceOrder, make

repository = open_repository(Path(sys.argv[1]), Path(sys.argv[2]))
order = WorkspaceOrder(item_id="01abc", attempt=1, title="thing", created=Instant(1), dependencies=(sys.argv[3],))

def make_one(step, _):
    die_before(step, lambda event, _: event == "subprocess.Popen")
    make(repository, order)

serve(make_one)
"""


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A repository with a branch that an item depends on."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n"})
    scratch.git("switch", "--quiet", "--create", "dependency")
    scratch.commit({"dep.txt": "x\n"})
    scratch.git("switch", "--quiet", "main")
    scratch.commit({"a.txt": "two\n"})
    return scratch, open_repository(scratch.path, tmp_path / "state")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_loop_killed_before_any_git_call_of_making_a_workspace_is_recovered(opened: Opened, part: int) -> None:
    """F05, F26: after each kill the leftovers are listed and cleared, and the next attempt starts from a true base."""
    scratch, repository = opened
    dependency = scratch.git("rev-parse", "dependency")
    main = scratch.head
    call = part + 1
    with killer("-c", CHILD, str(repository.path), str(repository.state_dir), dependency) as killed_at:
        while killed_at(call):
            assert {left.workspace.item_id for left in leftovers(repository.state_dir)} <= {"01abc"}
            starts_anew(scratch, repository, dependency)
            assert (scratch.head, scratch.git("status", "--porcelain")) == (main, "")
            call += PARTS
    assert call > 10


def starts_anew(scratch: ScratchRepository, repository: Repository, dependency: str) -> None:
    """Make the next attempt's workspace, see that it is whole, and that nothing is left when all is cleared."""
    order = WorkspaceOrder(item_id="01abc", attempt=2, title="thing", created=Instant(2), dependencies=(dependency,))
    again = make(repository, order)
    assert again.start_sha == again.base_sha
    assert (again.path / "dep.txt").is_file()
    assert scratch.git("rev-list", "--count", f"{again.base_sha}..{again.branch}") == "0"
    assert all(entry.safe and entry.removed for entry in gc(repository, dry_run=False))
    assert leftovers(repository.state_dir) == ()
    assert [entry.path for entry in worktrees(repository.path)] == [scratch.path]
    assert list(repository.folder("worktrees").iterdir()) == []


def test_a_lock_of_a_killed_loop_is_free_at_once(opened: Opened, tmp_path: Path) -> None:
    """Decision: a lock dies with its holder, so a crash blocks nobody."""
    _, repository = opened
    hold = (
        "import os, sys\nfrom pathlib import Path\n"
        "from workloop.runner.repository import open_repository, repository_lock\n"
        "with repository_lock(open_repository(Path(sys.argv[1]), Path(sys.argv[2])), 'worktree'):\n"
        "    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    argv = [sys.executable, "-c", hold, str(repository.path), str(repository.state_dir)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    order = WorkspaceOrder(item_id="01abc", attempt=1, title="thing", created=Instant(1))
    assert make(repository, order).path.is_dir()


def test_what_a_running_loop_made_is_not_collected_from_outside(opened: Opened) -> None:
    """F09: gc from a person's shell can't take the tree of a session that has written nothing yet."""
    _, repository = opened
    hold = (
        "import sys\nfrom pathlib import Path\n"
        "from workloop.domain.clock import Instant\n"
        "from workloop.runner.repository import open_repository\n"
        "from workloop.runner.workspace import WorkspaceOrder, make\n"
        "repository = open_repository(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "make(repository, WorkspaceOrder(item_id='01abc', attempt=1, title='thing', created=Instant(1)))\n"
        "print('made', flush=True)\nsys.stdin.read()\n"
    )
    argv = [sys.executable, "-c", hold, str(repository.path), str(repository.state_dir)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as loop:
        assert loop.stdout is not None
        assert loop.stdout.readline() == b"made\n"
        (entry,) = gc(repository, dry_run=False)
        assert (entry.safe, entry.reason) == (False, "the loop that made it is running")
        os.kill(loop.pid, signal.SIGKILL)
        loop.wait()
    (entry,) = gc(repository, dry_run=False)
    assert entry.removed


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', "null", '{"path": 3}'])
def test_a_torn_record_is_not_taken_for_ours(opened: Opened, content: str) -> None:
    """F25: without a readable record a folder is nobody's to delete."""
    _, repository = opened
    folder = repository.folder("worktrees") / "torn"
    folder.mkdir()
    (folder.parent / "torn.json").write_text(content)
    assert leftovers(repository.state_dir) == ()
    assert gc(repository, dry_run=False) == ()
    assert folder.is_dir()
