"""Worktrees per attempt, in real repositories: where they start, and what the host refuses."""

import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict, Refusal
from workloop.runner.git import GitError, git
from workloop.runner.gitfacts import is_ancestor, worktrees
from workloop.runner.registry import Workspace, leftovers, read_record
from workloop.runner.repository import Repository, open_repository
from workloop.runner.workspace import WorkspaceOrder, break_stale_locks, clean_checkout, make, require_workspace
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Opened = tuple[ScratchRepository, Repository]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A repository whose path has spaces and letters outside ASCII, and its state folder."""
    scratch = scratch_repository(tmp_path / "mein Projekt ü", {"a.txt": "one\n"})
    return scratch, open_repository(scratch.path, tmp_path / "state")


def order(item_id: str = "01abc", attempt: int = 1, **changes: object) -> WorkspaceOrder:
    plain = WorkspaceOrder(item_id=item_id, attempt=attempt, title="Fix the Thing: naïve", created=Instant(attempt))
    return replace(plain, **changes)


def inside(workspace: Workspace) -> ScratchRepository:
    return ScratchRepository(path=workspace.path)


def test_an_attempt_gets_a_worktree_of_its_own_on_the_items_branch(opened: Opened) -> None:
    """Decision: branch workloop/<item>/<slug>, path per attempt, base recorded, outside the repository."""
    scratch, repository = opened
    workspace = make(repository, order())
    assert workspace.branch == "workloop/01abc/fix-the-thing-naive"
    assert workspace.base_sha == workspace.start_sha == scratch.head
    assert inside(workspace).git("symbolic-ref", "--short", "HEAD") == workspace.branch
    assert (workspace.path / "a.txt").read_text() == "one\n"
    assert inside(workspace).git("status", "--porcelain") == ""
    assert read_record(workspace.path) == workspace
    assert scratch.path not in workspace.path.parents


def test_the_operators_dirty_checkout_is_never_touched(opened: Opened) -> None:
    """F23: the work happens elsewhere; what a person left uncommitted stays byte for byte."""
    scratch, repository = opened
    (scratch.path / "a.txt").write_text("half done\n")
    (scratch.path / "new.txt").write_text("mine\n")
    scratch.git("add", "new.txt")
    before = scratch.git("status", "--porcelain")
    index = (scratch.path / ".git" / "index").read_bytes()
    workspace = make(repository, order())
    assert scratch.git("status", "--porcelain") == before
    assert (scratch.path / ".git" / "index").read_bytes() == index
    assert (workspace.path / "a.txt").read_text() == "one\n"


def test_f05_a_new_attempt_goes_on_from_the_branch_that_carries_work(opened: Opened) -> None:
    """F05, decision: the stated base is kept, the work is not lost, the earlier worktree is only detached."""
    scratch, repository = opened
    first = make(repository, order())
    done = inside(first).commit({"b.txt": "work\n"})
    (first.path / "left.txt").write_text("uncommitted\n")
    scratch.commit({"a.txt": "moved on\n"})
    second = make(repository, order(attempt=2))
    assert (second.start_sha, second.base_sha, second.branch) == (done, first.base_sha, first.branch)
    assert (second.path / "b.txt").is_file()
    assert (first.path / "left.txt").is_file()
    assert inside(first).git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


def test_an_attempt_without_work_starts_again_from_the_newest_base(opened: Opened) -> None:
    """F05: a branch that carries nothing is not gone on from, fifty commits behind."""
    scratch, repository = opened
    make(repository, order())
    newest = scratch.commit({"a.txt": "moved on\n"})
    second = make(repository, order(attempt=2))
    assert second.start_sha == second.base_sha == newest


def test_a_retitled_item_keeps_its_branch(opened: Opened) -> None:
    """F09: the item id names the branch, so a new title can't hide earlier work."""
    _, repository = opened
    first = make(repository, order())
    done = inside(first).commit({"b.txt": "work\n"})
    second = make(repository, order(attempt=2, title="Another title"))
    assert (second.branch, second.start_sha) == (first.branch, done)


def test_f09_attempts_of_items_with_one_title_share_neither_path_nor_branch(opened: Opened) -> None:
    """F09: two items of one name don't collide, and one attempt can't take another's folder."""
    _, repository = opened
    one, two = make(repository, order("01abc")), make(repository, order("02abc"))
    assert one.path != two.path
    assert one.branch != two.branch
    with pytest.raises(Conflict) as refused:
        make(repository, order("01abc"))
    assert refused.value.code == "WORKSPACE_EXISTS"


def test_verified_dependencies_that_have_not_landed_are_merged_into_the_base(opened: Opened) -> None:
    """Decision: base = integration branch merged with the given SHAs; they don't count as this item's work."""
    _, repository = opened
    needed = [inside(make(repository, order(name))).commit({f"{name}.txt": "dep\n"}) for name in ("d1", "d2")]
    workspace = make(repository, order(dependencies=tuple(needed)))
    assert (workspace.path / "d1.txt").is_file()
    assert (workspace.path / "d2.txt").is_file()
    assert workspace.base_sha == workspace.start_sha
    assert all(is_ancestor(repository.path, sha, workspace.base_sha) for sha in needed)
    assert inside(workspace).git("log", "-1", "--format=%an <%ae>") == "Workloop <workloop@localhost>"


def test_the_base_with_dependencies_is_remembered_for_the_next_attempt(opened: Opened) -> None:
    """E03: dependencies merged by the host must not look like the worker's commits later."""
    _, repository = opened
    needed = inside(make(repository, order("d1"))).commit({"d1.txt": "dep\n"})
    first = make(repository, order(dependencies=(needed,)))
    done = inside(first).commit({"b.txt": "work\n"})
    second = make(repository, order(attempt=2, dependencies=(needed,)))
    assert (second.base_sha, second.start_sha) == (first.base_sha, done)


def test_dependencies_merged_for_an_attempt_without_work_do_not_hold_the_next_one_back(opened: Opened) -> None:
    """F05: the host's own merges on a branch are no work to go on from."""
    scratch, repository = opened
    needed = inside(make(repository, order("d1"))).commit({"d1.txt": "dep\n"})
    make(repository, order(dependencies=(needed,)))
    newest = scratch.commit({"a.txt": "moved on\n"})
    second = make(repository, order(attempt=2, dependencies=(needed,)))
    assert second.start_sha == second.base_sha
    assert is_ancestor(repository.path, newest, second.base_sha)


def test_a_new_dependency_is_merged_under_the_work_of_an_earlier_attempt(opened: Opened) -> None:
    """Decision: the base grows and the work is kept."""
    _, repository = opened
    done = inside(make(repository, order())).commit({"b.txt": "work\n"})
    needed = inside(make(repository, order("d1"))).commit({"d1.txt": "dep\n"})
    second = make(repository, order(attempt=2, dependencies=(needed,)))
    assert is_ancestor(repository.path, done, second.start_sha)
    assert is_ancestor(repository.path, needed, second.base_sha)
    assert is_ancestor(repository.path, second.base_sha, second.start_sha)
    assert not is_ancestor(repository.path, done, second.base_sha)


def test_conflicting_dependencies_are_refused_by_name_and_leave_nothing_behind(opened: Opened) -> None:
    """F17: a conflict names the files, and the failed merge leaves no folder, record or branch."""
    scratch, repository = opened
    one = inside(make(repository, order("d1"))).commit({"a.txt": "left\n", "ü x.txt": "left\n"})
    two = inside(make(repository, order("d2"))).commit({"a.txt": "right\n", "ü x.txt": "right\n"})
    before, known = scratch.refs(), leftovers(repository.state_dir)
    with pytest.raises(Conflict) as refused:
        make(repository, order(dependencies=(one, two)))
    assert refused.value.code == "MERGE_CONFLICT"
    assert refused.value.details["files"] == ["a.txt", "ü x.txt"]
    assert scratch.refs() == before
    assert leftovers(repository.state_dir) == known
    assert len(worktrees(repository.path)) == 3


def test_a_repair_starts_at_the_rejected_commit_on_the_roots_branch(opened: Opened) -> None:
    """Decision: newer commits on the branch are kept on a reference, not thrown away."""
    scratch, repository = opened
    root = make(repository, order())
    rejected = inside(root).commit({"b.txt": "wrong\n"})
    later = inside(root).commit({"b.txt": "later\n"})
    repair = make(repository, order("09fix", branch=root.branch, start_sha=rejected))
    assert (repair.start_sha, repair.base_sha, repair.branch) == (rejected, root.base_sha, root.branch)
    assert (repair.path / "b.txt").read_text() == "wrong\n"
    assert scratch.git("rev-parse", "refs/workloop/kept/09fix/1") == later


def test_a_branch_checked_out_by_a_person_is_refused(opened: Opened) -> None:
    """F15: the loop doesn't share a branch with somebody's checkout."""
    scratch, repository = opened
    scratch.git("switch", "--quiet", "--create", "workloop/01abc/mine")
    with pytest.raises(Conflict) as refused:
        make(repository, order())
    assert refused.value.code == "BRANCH_IN_USE"
    assert refused.value.details["path"] == str(scratch.path)
    assert leftovers(repository.state_dir) == ()


def test_metadata_of_a_vanished_worktree_is_dropped_and_a_persons_is_kept(opened: Opened, tmp_path: Path) -> None:
    """F05, F25: only worktrees of the loop are pruned; a person's may lie on a disk that is not mounted."""
    scratch, repository = opened
    theirs = tmp_path / "theirs"
    scratch.git("worktree", "add", "--quiet", "-b", "theirs", str(theirs))
    theirs.rename(tmp_path / "unmounted")
    first = make(repository, order())
    done = inside(first).commit({"b.txt": "work\n"})
    first.path.rename(tmp_path / "gone")
    second = make(repository, order(attempt=2))
    assert second.start_sha == done
    listed = {entry.path for entry in worktrees(repository.path)}
    assert theirs in listed
    assert first.path not in listed


def test_f13_a_folder_that_is_no_longer_the_registered_worktree_is_noticed(opened: Opened, tmp_path: Path) -> None:
    """F13: the driver asks before a session and after it."""
    scratch, repository = opened
    workspace = make(repository, order())
    require_workspace(workspace)
    link = (workspace.path / ".git").read_bytes()
    (workspace.path / ".git").unlink()
    with pytest.raises(Refusal) as refused:
        require_workspace(workspace)
    assert refused.value.code == "WORKSPACE_MISPLACED"
    (workspace.path / ".git").write_text(f"gitdir: {scratch.path}/.git\n")
    with pytest.raises(Refusal):
        require_workspace(workspace)
    (workspace.path / ".git").write_bytes(link)
    require_workspace(workspace)
    workspace.path.rename(tmp_path / "elsewhere")
    workspace.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refusal):
        require_workspace(workspace)


def test_hooks_of_the_repository_do_not_run_in_the_host(opened: Opened, tmp_path: Path) -> None:
    """Security: a session can write hooks and settings, and the host must not run them."""
    scratch, repository = opened
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
    trap.chmod(0o755)
    hooks = scratch.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "post-merge", "reference-transaction", "pre-merge-commit"):
        (hooks / name).symlink_to(trap)
    dependency = make(repository, order("d1"))
    scratch.git("config", "core.hooksPath", str(hooks))
    scratch.git("config", "core.fsmonitor", str(trap))
    tree = git(dependency.path, "rev-parse", "HEAD^{tree}").text
    sha = git(dependency.path, "commit-tree", tree, "-p", "HEAD", "-m", "x").text
    workspace = make(repository, order(dependencies=(sha,)))
    clean_checkout(repository, workspace.base_sha, repository.folder("checkouts") / "c", created=Instant(1))
    assert not (tmp_path / "sprung").exists()


def test_locks_of_a_killed_process_are_broken_in_our_worktree_only(opened: Opened) -> None:
    """Decision: index.lock in our worktree and on our branch go; the repository's own stay."""
    scratch, repository = opened
    workspace = make(repository, order())
    own = Path(inside(workspace).git("rev-parse", "--absolute-git-dir")) / "index.lock"
    own.touch()
    foreign = scratch.path / ".git" / "index.lock"
    foreign.touch()
    with pytest.raises(subprocess.CalledProcessError):
        inside(workspace).commit({"b.txt": "x"})
    assert break_stale_locks(workspace) == (own,)
    inside(workspace).git("commit", "--quiet", "--all", "--allow-empty", "-m", "works again")
    assert foreign.exists()


def test_f11_parallel_attempts_all_get_their_worktrees(opened: Opened) -> None:
    """F11: twenty at once, none lost to a race for git's locks."""
    _, repository = opened
    gate = threading.Barrier(20)

    def start(number: int) -> Workspace:
        gate.wait()
        return make(repository, order(f"item{number}"))

    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(start, range(20)))
    assert len({workspace.path for workspace in made}) == 20
    assert len(worktrees(repository.path)) == 21
    assert all(inside(one).git("symbolic-ref", "--short", "HEAD") == one.branch for one in made)


def test_a_clean_checkout_is_exactly_the_commit_and_cannot_move_the_repositorys_branches(opened: Opened) -> None:
    """Decision: host checks and verifier sessions work in a separate repository without references."""
    scratch, repository = opened
    sha = scratch.commit({"a.txt": "two\n"})
    scratch.commit({"a.txt": "three\n", "later.txt": "x\n"})
    (scratch.path / "loose.txt").write_text("not committed\n")
    before = scratch.refs()
    checkout = clean_checkout(repository, sha, repository.folder("checkouts") / "v1", created=Instant(5))
    there = inside(checkout)
    assert sorted(path.name for path in checkout.path.iterdir()) == [".git", "a.txt"]
    assert there.head == sha
    there.git("update-ref", "refs/heads/main", sha)
    there.git("branch", "mine")
    assert scratch.refs() == before
    assert [one.workspace for one in leftovers(repository.state_dir)] == [checkout]


@pytest.mark.parametrize("relative", ["../mein Projekt ü/inside", "../outside", "checkouts/../../outside"])
def test_f06_a_checkout_outside_the_state_folder_is_refused(opened: Opened, relative: str) -> None:
    """F06: nothing is made or removed outside the loop's own folders."""
    scratch, repository = opened
    with pytest.raises(Refusal) as refused:
        clean_checkout(repository, scratch.head, repository.state_dir / relative, created=Instant(1))
    assert refused.value.code == "PATH_OUTSIDE_STATE_DIR"


def test_places_that_cannot_be_worked_in_are_refused_with_a_code(tmp_path: Path) -> None:
    """Decision: each says what to do; the state folder must lie outside the repository."""
    plain = tmp_path / "plain"
    plain.mkdir()
    empty = ScratchRepository(path=tmp_path / "empty")
    empty.path.mkdir()
    empty.git("init", "--quiet")
    scratch = scratch_repository(tmp_path / "repo")
    state = tmp_path / "state"
    attempts: list[tuple[str, Callable[[], Repository]]] = [
        ("NOT_A_REPOSITORY", lambda: open_repository(plain, state)),
        ("NOT_A_REPOSITORY", lambda: open_repository(tmp_path / "nowhere", state)),
        ("NO_COMMITS", lambda: open_repository(empty.path, state)),
        ("BRANCH_UNKNOWN", lambda: open_repository(scratch.path, state, "release")),
        ("STATE_DIR_INSIDE_REPOSITORY", lambda: open_repository(scratch.path, scratch.path / "state")),
    ]
    for code, attempt in attempts:
        with pytest.raises(Refusal) as refused:
            attempt()
        assert (refused.value.code, bool(refused.value.hint)) == (code, True)
    scratch.git("checkout", "--quiet", "--detach")
    with pytest.raises(Refusal) as detached:
        open_repository(scratch.path, state)
    assert detached.value.code == "DETACHED_HEAD"
    assert open_repository(scratch.path, state, "main").integration_branch == "main"


def test_a_repository_is_found_from_a_folder_inside_it_and_when_it_is_bare(tmp_path: Path) -> None:
    """Decision: the top level is used; a bare repository works without any checkout."""
    scratch = scratch_repository(tmp_path / "repo", {"deep/er/a.txt": "x\n"})
    found = open_repository(scratch.path / "deep" / "er", tmp_path / "state")
    assert found.path == scratch.path
    scratch.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    bare = open_repository(tmp_path / "bare.git", tmp_path / "state")
    assert (make(bare, order()).path / "deep" / "er" / "a.txt").is_file()


def test_a_failing_git_is_a_typed_fault_with_the_end_of_its_message(opened: Opened) -> None:
    """Decision: exit code and message are kept, bounded."""
    _, repository = opened
    with pytest.raises(GitError) as failed:
        git(repository.path, "rev-parse", "--verify", "nothing-of-this-name")
    assert failed.value.code == "GIT_FAILED"
    assert failed.value.details["exit_code"] == 128
    assert "single revision" in str(failed.value.details["stderr"])


def test_a_missing_identity_does_not_stop_the_host(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision: the host's commits carry an explicit identity, whatever the machine has configured."""
    scratch, repository = opened
    monkeypatch.setenv("HOME", str(repository.state_dir))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(repository.state_dir))
    scratch.git("config", "user.useConfigOnly", "true")
    needed = inside(make(repository, order("d1"))).commit({"d1.txt": "dep\n"})
    scratch.commit({"a.txt": "moved on\n"})
    assert (make(repository, order(dependencies=(needed,))).path / "d1.txt").is_file()


def test_an_item_id_that_could_leave_its_folder_is_refused(opened: Opened) -> None:
    """Security: an id becomes a path and a branch name."""
    _, repository = opened
    for name in ("../x", "a/b", "", ".hidden", "-flag", "x" * 65):
        with pytest.raises(Refusal):
            make(repository, order(name))
    assert list(repository.folder("worktrees").iterdir()) == []
