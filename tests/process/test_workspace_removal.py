"""A folder of the loop goes only when nothing is lost with it."""

from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict, Refusal
from workloop.runner.collecting import GcEntry, Keep, gc, prune_outputs
from workloop.runner.gitfacts import worktrees
from workloop.runner.registry import Workspace, WorkspaceKind, leftovers, write_record
from workloop.runner.removal import discard_checkout, losses, remove
from workloop.runner.repository import Repository, open_repository
from workloop.runner.salvage import salvage
from workloop.runner.workspace import WorkspaceOrder, clean_checkout, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Made = tuple[Repository, Workspace, ScratchRepository]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A workspace, and a person's view into it."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n", ".gitignore": "build/\n"})
    repository = open_repository(scratch.path, tmp_path / "state")
    workspace = attempt(repository, 1)
    return repository, workspace, ScratchRepository(path=workspace.path)


def attempt(repository: Repository, number: int) -> Workspace:
    order = WorkspaceOrder(item_id="01abc", attempt=number, title="thing", created=Instant(number))
    return make(repository, order)


def refusal(repository: Repository, workspace: Workspace) -> Conflict:
    with pytest.raises(Conflict) as refused:
        remove(repository, workspace)
    assert workspace.path.is_dir()
    assert len(leftovers(repository.state_dir)) == 1
    return refused.value


def test_f05_a_clean_worktree_goes_with_its_registration_and_its_branch_stays(made: Made) -> None:
    """F05: gone from disk, from git's list and from the records; the commits stay on the branch."""
    repository, workspace, there = made
    sha = there.commit({"b.txt": "work\n"})
    (workspace.path / "build").mkdir()
    (workspace.path / "build" / "output.o").write_text("ignored")
    remove(repository, workspace)
    assert not workspace.path.exists()
    assert [entry.path for entry in worktrees(repository.path)] == [repository.path]
    assert leftovers(repository.state_dir) == ()
    assert ScratchRepository(path=repository.path).git("rev-parse", workspace.branch) == sha


@pytest.mark.parametrize("left", ["changed", "untracked", "staged", "deleted", "hidden"])
def test_f01_a_dirty_worktree_is_refused_by_name(made: Made, left: str) -> None:
    """F01: no bulk clean-up destroys uncommitted work, in whichever shape it was left."""
    repository, workspace, there = made
    name = "new.txt" if left in {"untracked", "staged"} else "a.txt"
    if left == "hidden":
        there.git("update-index", "--assume-unchanged", "a.txt")
    if left == "deleted":
        (workspace.path / name).unlink()
    else:
        (workspace.path / name).write_text("work\n")
    if left == "staged":
        there.git("add", name)
    refused = refusal(repository, workspace)
    assert refused.code == "WOULD_LOSE_WORK"
    assert name in refused.message


def test_f01_commits_no_reference_reaches_are_refused(made: Made) -> None:
    """F01: a detached HEAD's commits live only as long as the worktree."""
    repository, workspace, there = made
    there.git("checkout", "--quiet", "--detach")
    sha = there.commit({"b.txt": "work\n"})
    assert sha in refusal(repository, workspace).message
    salvage(workspace, reason="killed")
    remove(repository, workspace)
    assert not workspace.path.exists()


def test_f01_after_a_complete_salvage_the_worktree_may_go(made: Made) -> None:
    """F01: first saved on a reference, then deleted; a change after the salvage is refused again."""
    repository, workspace, _ = made
    (workspace.path / "new.txt").write_text("work\n")
    salvage(workspace, reason="killed")
    (workspace.path / "new.txt").write_text("more work\n")
    assert "new.txt" in refusal(repository, workspace).message
    salvage(workspace, reason="killed")
    remove(repository, workspace)
    assert not workspace.path.exists()


def test_f01_a_salvage_that_skipped_something_does_not_free_the_worktree(made: Made) -> None:
    """F01: a secret or a big file is only in the worktree, so a person decides."""
    repository, workspace, _ = made
    (workspace.path / ".env").write_text("X=1\n")
    (workspace.path / "new.txt").write_text("work\n")
    salvage(workspace, reason="killed")
    assert ".env" in refusal(repository, workspace).message


def test_f25_only_what_the_loop_recorded_is_removed(made: Made) -> None:
    """F25: a person's worktree inside the loop's folder is theirs."""
    repository, workspace, _ = made
    theirs = repository.folder("worktrees") / "theirs"
    ScratchRepository(path=repository.path).git("worktree", "add", "--quiet", "--detach", str(theirs))
    with pytest.raises(Conflict) as refused:
        remove(repository, replace(workspace, path=theirs))
    assert refused.value.code == "NOT_OURS"
    assert theirs.is_dir()
    assert [entry.workspace for entry in gc(repository, dry_run=False)] == [workspace]
    assert theirs.is_dir()


def test_f06_a_link_is_never_followed(made: Made, tmp_path: Path) -> None:
    """F06: neither a link in place of the folder, nor one of its parents, nor one inside leads a deletion outside."""
    repository, workspace, _ = made
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "keep.txt").write_text("keep\n")
    sha = workspace.base_sha
    checkout = clean_checkout(repository, sha, repository.folder("checkouts") / "c1", created=Instant(1))
    (checkout.path / "inner").symlink_to(precious)
    discard_checkout(repository, checkout)
    assert not checkout.path.exists()
    checkout = clean_checkout(repository, sha, repository.folder("checkouts") / "c2", created=Instant(1))
    checkout.path.rename(tmp_path / "moved")
    checkout.path.symlink_to(precious)
    with pytest.raises(Refusal) as refused:
        discard_checkout(repository, checkout)
    assert refused.value.code == "PATH_OUTSIDE_STATE_DIR"
    (repository.folder("worktrees") / "way").symlink_to(tmp_path)
    with pytest.raises(Refusal):
        remove(repository, replace(workspace, path=repository.folder("worktrees") / "way" / "precious"))
    assert (precious / "keep.txt").is_file()


def test_a_checkout_goes_although_what_ran_in_it_closed_its_folders(made: Made) -> None:
    """Decision: leftovers of a check don't fill the disk."""
    repository, workspace, _ = made
    sha = workspace.base_sha
    checkout = clean_checkout(repository, sha, repository.folder("checkouts") / "c", created=Instant(1))
    inner = checkout.path / "closed" / "deeper"
    inner.mkdir(parents=True)
    (inner / "x").write_text("x")
    inner.chmod(0)
    inner.parent.chmod(0o500)
    discard_checkout(repository, checkout)
    assert not checkout.path.exists()


def test_an_attempts_worktree_is_not_discarded_as_a_checkout(made: Made) -> None:
    """Decision: the unguarded deletion takes only what the host made for itself."""
    repository, workspace, _ = made
    with pytest.raises(Conflict):
        discard_checkout(repository, workspace)
    assert workspace.path.is_dir()


def test_f07_gc_says_what_would_go_and_why_before_anything_goes(made: Made) -> None:
    """F07: a dry run changes nothing; then only the safe ones go, with a reason for each."""
    repository, workspace, _ = made
    second = attempt(repository, 2)
    (second.path / "new.txt").write_text("work\n")
    checkout = clean_checkout(repository, workspace.base_sha, repository.folder("checkouts") / "c", created=Instant(3))
    told = {entry.workspace.path: entry for entry in gc(repository)}
    assert {path: entry.safe for path, entry in told.items()} == {
        workspace.path: True,
        second.path: False,
        checkout.path: True,
    }
    assert all(entry.reason and not entry.removed for entry in told.values())
    assert told[second.path].bytes_on_disk > 0
    assert all(path.is_dir() for path in told)
    done = {entry.workspace.path: entry.removed for entry in gc(repository, dry_run=False)}
    assert done == {workspace.path: True, second.path: False, checkout.path: True}
    assert [one.workspace for one in leftovers(repository.state_dir)] == [second]


def test_f07_gc_keeps_live_recent_and_the_newest_within_the_room(made: Made) -> None:
    """F07: retention by age, by count and by bytes, each alone; what is in use is never looked at."""
    repository, first, _ = made
    second, third = attempt(repository, 2), attempt(repository, 3)

    def safe(entries: tuple[GcEntry, ...]) -> set[Path]:
        return {entry.workspace.path for entry in entries if entry.safe}

    assert safe(gc(repository)) == {first.path, second.path, third.path}
    assert safe(gc(repository, live=frozenset({first.path}))) == {second.path, third.path}
    assert safe(gc(repository, keep=Keep(age_us=9), now=Instant(10))) == {first.path}
    assert safe(gc(repository, keep=Keep(count=1))) == {first.path, second.path}
    assert safe(gc(repository, keep=Keep(count=5))) == set()
    assert safe(gc(repository, keep=Keep())) == set()
    size = gc(repository)[-1].bytes_on_disk
    assert safe(gc(repository, keep=Keep(bytes=size))) == {first.path, second.path}
    assert safe(gc(repository, keep=Keep(bytes=size - 1))) == {first.path, second.path, third.path}
    assert safe(gc(repository, keep=Keep(age_us=9, count=2, bytes=100 * size), now=Instant(10))) == {first.path}
    assert safe(gc(repository, keep=Keep(age_us=100, count=1, bytes=100 * size), now=Instant(10))) == {
        first.path,
        second.path,
    }


def test_f27_declared_outputs_go_alone_and_sources_stay(made: Made, tmp_path: Path) -> None:
    """F27: a tree that must stay gives up its builds; nothing tracked, undeclared, linked or in use is touched."""
    plain, workspace, there = made
    repository = replace(plain, outputs=("build", "gen"))
    (workspace.path / "new.txt").write_text("work\n")
    (plain.common_dir / "info").mkdir(exist_ok=True)
    (plain.common_dir / "info" / "exclude").write_text("cache/\n")
    for name in ("build/deep/x.o", "gen/kept.txt", "web/build/y.o", "cache/z"):
        (workspace.path / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.path / name).write_text("x" * 5000)
    there.git("add", "--force", "web/build/y.o", "gen/kept.txt")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "keep.txt").write_text("keep\n")
    (workspace.path / "build" / "link").symlink_to(precious)
    assert prune_outputs(plain) == ()
    assert prune_outputs(repository, live=frozenset({workspace.path}), dry_run=False) == ()
    (told,) = prune_outputs(repository)
    assert (told.path, told.removed, told.bytes_on_disk > 5000) == (workspace.path / "build", False, True)
    assert (workspace.path / "build" / "deep" / "x.o").is_file()
    assert [done.removed for done in prune_outputs(repository, dry_run=False)] == [True]
    assert not (workspace.path / "build").exists()
    assert (precious / "keep.txt").is_file()
    for name in ("new.txt", "gen/kept.txt", "web/build/y.o", "cache/z"):
        assert (workspace.path / name).is_file()


def test_f06_an_output_folder_that_is_a_link_is_left_alone(made: Made, tmp_path: Path) -> None:
    """F06: a session may put a link where its builds are declared to be."""
    plain, workspace, there = made
    precious = tmp_path / "precious"
    (precious / "build").mkdir(parents=True)
    (precious / "build" / "keep.txt").write_text("keep\n")
    (workspace.path / "build").symlink_to(precious / "build")
    (Path(there.git("rev-parse", "--git-common-dir")) / "info").mkdir(exist_ok=True)
    (Path(there.git("rev-parse", "--git-common-dir")) / "info" / "exclude").write_text("build\n")
    assert prune_outputs(replace(plain, outputs=("build",)), dry_run=False) == ()
    assert (precious / "build" / "keep.txt").is_file()


def test_a_record_whose_folder_is_gone_is_cleared_with_its_registration(made: Made, tmp_path: Path) -> None:
    """F05: what a person deleted by hand is not registered for ever."""
    repository, workspace, _ = made
    workspace.path.rename(tmp_path / "gone")
    assert [one.present for one in leftovers(repository.state_dir)] == [False]
    assert [entry.removed for entry in gc(repository, dry_run=False)] == [True]
    assert [entry.path for entry in worktrees(repository.path)] == [repository.path]


def test_f29_what_cannot_be_judged_is_kept(made: Made) -> None:
    """F29: when the safety step fails, nothing is deleted."""
    repository, workspace, there = made
    (Path(there.git("rev-parse", "--absolute-git-dir")) / "index").write_bytes(b"damaged")
    (entry,) = gc(repository, dry_run=False)
    assert (entry.safe, entry.removed) == (False, False)
    assert "cannot be told" in entry.reason
    assert workspace.path.is_dir()


def test_what_a_killed_landing_left_is_collected(made: Made) -> None:
    """F05: a merge tree holds nothing of anybody, whatever state it was left in."""
    repository, workspace, _ = made
    path = repository.folder("landings") / "01abc-1"
    ScratchRepository(path=repository.path).git("worktree", "add", "--quiet", "--detach", str(path))
    (path / "a.txt").write_text("half merged\n")
    write_record(replace(workspace, path=path, branch="", kind=WorkspaceKind.LANDING))
    gone = {entry.workspace.path for entry in gc(repository, dry_run=False) if entry.removed}
    assert gone == {workspace.path, path}
    assert [entry.path for entry in worktrees(repository.path)] == [repository.path]


def test_losses_are_listed_without_removing_anything(made: Made) -> None:
    """Decision: a surface can show what stands in the way."""
    _, workspace, _ = made
    assert losses(workspace) == ()
    (workspace.path / "new.txt").write_text("work\n")
    assert [(loss.what, loss.paths) for loss in losses(workspace)] == [("uncommitted or untracked files", ("new.txt",))]
