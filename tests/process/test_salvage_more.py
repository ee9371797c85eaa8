"""What a salvage leaves alone, what it bounds, and that nothing a session wrote down is run by it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict, Refusal, WorkloopError
from workloop.runner import snapshot
from workloop.runner.registry import Workspace
from workloop.runner.removal import losses, remove
from workloop.runner.repository import Repository, open_repository
from workloop.runner.salvage import salvage
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Made = tuple[Repository, Workspace, ScratchRepository]
REF = "refs/workloop/wip/01abc/1"


def workspace_in(tmp_path: Path, scratch: ScratchRepository) -> Made:
    repository = open_repository(scratch.path, tmp_path / "state")
    workspace = make(repository, WorkspaceOrder(item_id="01abc", attempt=1, title="thing", created=Instant(1)))
    return repository, workspace, ScratchRepository(path=workspace.path)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A workspace, and a person's view into it."""
    files = {"a.txt": "one\n", "b.txt": "two\n", "deep/c.txt": "three\n"}
    return workspace_in(tmp_path, scratch_repository(tmp_path / "repo", files))


def write(workspace: Workspace, name: str, content: str) -> None:
    (workspace.path / name).write_text(content)


def test_an_operation_under_way_is_left_alone_and_named_and_keeps_the_tree(made: Made) -> None:
    """Decision: the files are saved as they are; nobody finishes, aborts or forgets a rebase for its session."""
    repository, workspace, there = made
    there.commit({"a.txt": "mine\n"})
    there.git("branch", "other", workspace.base_sha)
    there.git("checkout", "--quiet", "--detach", "other")
    theirs = there.commit({"b.txt": "theirs\n"})
    there.git("switch", "--quiet", workspace.branch)
    environment = {**os.environ, "GIT_SEQUENCE_EDITOR": "sed -i s/^pick/edit/"}
    argv = ["git", "-c", "user.name=P", "-c", "user.email=p@x", "rebase", "--quiet", "--interactive", theirs]
    subprocess.run(argv, cwd=workspace.path, env=environment, check=True, capture_output=True)
    write(workspace, "b.txt", "half\n")
    before = there.git("status")
    saved = salvage(workspace, reason="killed")
    assert (saved.operation, saved.files, saved.conflicts) == ("rebase-merge", ("b.txt",), ())
    assert there.git("show", f"{REF}:a.txt") == "mine"
    assert there.git("status") == before
    with pytest.raises(Conflict) as refused:
        remove(repository, workspace)
    assert "not finished: rebase-merge" in refused.value.message
    assert there.git("status") == before


def test_files_beyond_the_bound_in_all_are_left_out_the_biggest_first(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision: a forgotten data folder neither fills the object store nor hides the small changes beside it."""
    repository, workspace, _ = made
    monkeypatch.setattr(snapshot, "TOTAL_BYTES_MAX", 1_000)
    for name, size in {"big.bin": 700, "small.bin": 300, "middle.bin": 600}.items():
        write(workspace, name, "x" * size)
    write(workspace, "a.txt", "changed\n")
    saved = salvage(workspace, reason="killed")
    assert saved.files == ("a.txt", "middle.bin", "small.bin")
    assert [skipped.path for skipped in saved.skipped] == ["big.bin"]
    with pytest.raises(Conflict):
        remove(repository, workspace)


def test_a_change_in_the_moment_of_the_last_look_is_saved(made: Made) -> None:
    """F01: the copy of the index knows unchanged files by size and time; a change of neither is found all the same."""
    _, workspace, there = made
    target = workspace.path / "a.txt"
    there.git("update-index", "--refresh")
    index = Path(there.git("rev-parse", "--absolute-git-dir")) / "index"
    target.write_text("oNe\n")
    moment = target.stat().st_mtime_ns
    os.utime(index, ns=(moment, moment))
    assert salvage(workspace, reason="killed").files == ("a.txt",)


def test_a_damaged_index_does_not_stop_a_salvage(made: Made) -> None:
    """F26: the index is only a help; what counts is HEAD and the files."""
    _, workspace, there = made
    write(workspace, "a.txt", "changed\n")
    (Path(there.git("rev-parse", "--absolute-git-dir")) / "index").unlink()
    assert salvage(workspace, reason="killed").files == ("a.txt",)


def test_files_that_a_sparse_checkout_leaves_out_are_not_taken_for_deleted(made: Made) -> None:
    """Decision: what is not there on purpose is neither saved as a deletion nor in the way of removal."""
    repository, workspace, there = made
    there.git("sparse-checkout", "set", "--no-cone", "/*.txt")
    assert not (workspace.path / "deep").exists()
    assert losses(workspace) == ()
    write(workspace, "a.txt", "changed\n")
    saved = salvage(workspace, reason="killed")
    assert saved.files == ("a.txt",)
    assert there.git("show", f"{REF}:deep/c.txt") == "three"
    remove(repository, workspace)
    assert not workspace.path.exists()


def test_settings_a_session_wrote_for_its_tree_are_not_obeyed(made: Made, tmp_path: Path) -> None:
    """Security: with settings per work tree on, a session could name a filter that the host would run."""
    _, workspace, there = made
    there.git("config", "extensions.worktreeConfig", "true")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\ncat\n")
    trap.chmod(0o755)
    there.git("config", "--worktree", "filter.trap.clean", str(trap))
    write(workspace, ".gitattributes", "* filter=trap\n")
    write(workspace, "a.txt", "changed\n")
    with pytest.raises(Refusal) as refused:
        salvage(workspace, reason="killed")
    assert refused.value.code == "WORKSPACE_SETTINGS"
    assert "filter.trap.clean" in refused.value.message
    assert not (tmp_path / "sprung").exists()


def test_settings_that_the_operator_gave_every_tree_are_kept(tmp_path: Path) -> None:
    """Decision: git copies the operator's own settings per work tree, filters among them."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n"})
    scratch.git("config", "extensions.worktreeConfig", "true")
    scratch.git("config", "--worktree", "filter.mine.clean", "cat")
    _, workspace, _ = workspace_in(tmp_path, scratch)
    write(workspace, "a.txt", "changed\n")
    assert salvage(workspace, reason="killed").files == ("a.txt",)


def test_pointers_of_large_files_are_saved_as_they_stand(tmp_path: Path) -> None:
    """Decision: without the program that manages large files, its pointers are ordinary files."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n"
    files = {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "data.bin": pointer.format("a" * 64)}
    _, workspace, there = workspace_in(tmp_path, scratch_repository(tmp_path / "repo", files))
    write(workspace, "data.bin", pointer.format("b" * 64))
    write(workspace, "new.bin", pointer.format("c" * 64))
    assert salvage(workspace, reason="killed").files == ("data.bin", "new.bin")
    assert there.git("show", f"{REF}:data.bin") == pointer.format("b" * 64).strip()


def test_a_filter_that_cannot_run_fails_the_salvage_and_keeps_the_tree(made: Made) -> None:
    """F29: a failed safety step is an error, and never a tree that goes."""
    repository, workspace, there = made
    there.git("config", "filter.lfs.clean", "/nonexistent/program")
    there.git("config", "filter.lfs.required", "true")
    write(workspace, ".gitattributes", "*.bin filter=lfs\n")
    write(workspace, "new.bin", "x\n")
    with pytest.raises(WorkloopError):
        salvage(workspace, reason="killed")
    with pytest.raises(WorkloopError):
        remove(repository, workspace)
    assert (workspace.path / "new.bin").is_file()


def test_a_shallow_clone_is_worked_in_salvaged_and_cleared(tmp_path: Path) -> None:
    source = scratch_repository(tmp_path / "source", {"a.txt": "one\n"})
    source.commit({"a.txt": "two\n"})
    source.git("clone", "--quiet", "--depth", "1", f"file://{source.path}", str(tmp_path / "shallow"))
    repository, workspace, there = workspace_in(tmp_path, ScratchRepository(path=tmp_path / "shallow"))
    assert there.git("rev-parse", "--is-shallow-repository") == "true"
    there.commit({"a.txt": "three\n"})
    write(workspace, "b.txt", "more\n")
    salvage(workspace, reason="killed")
    remove(repository, workspace)
    assert ScratchRepository(path=repository.path).git("show", f"{REF}:b.txt") == "more"


def test_a_reference_that_cannot_be_written_keeps_the_tree(made: Made) -> None:
    """F29: first saved, then removed; without the first there is no second."""
    repository, workspace, there = made
    there.git("update-ref", "refs/workloop/wip/01abc", "HEAD")
    write(workspace, "a.txt", "changed\n")
    with pytest.raises(WorkloopError):
        salvage(workspace, reason="killed")
    with pytest.raises(Conflict):
        remove(repository, workspace)
    assert (workspace.path / "a.txt").read_text() == "changed\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes; only root can make one."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], check=False)
    if done.returncode != 0:
        pytest.skip("this machine does not let root mount a disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(path: Path) -> None:
    """Write until the disk takes no more."""
    with path.open("wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)


def test_on_a_full_disk_nothing_is_saved_by_halves_and_nothing_goes(small_disk: Path) -> None:
    """F07, F29: a salvage without room fails, the tree stays, and with room again all of it is saved."""
    repository, workspace, there = workspace_in(small_disk, scratch_repository(small_disk / "repo", {"a.txt": "one\n"}))
    data = os.urandom(1_000_000)
    (workspace.path / "new.bin").write_bytes(data)
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        fill(filler)
    with pytest.raises(WorkloopError):
        salvage(workspace, reason="killed")
    with pytest.raises(WorkloopError):
        remove(repository, workspace)
    assert (workspace.path / "new.bin").read_bytes() == data
    filler.unlink()
    assert salvage(workspace, reason="killed").files == ("new.bin",)
    assert there.git("fsck", "--full", "--strict") == ""
    remove(repository, workspace)
    assert not workspace.path.exists()
    kept = ScratchRepository(path=repository.path)
    assert kept.git("cat-file", "-s", f"{REF}:new.bin") == str(len(data))


def test_nothing_outside_the_record_is_removed_although_it_was_saved(made: Made) -> None:
    """F25: a record that was changed is no record."""
    repository, workspace, _ = made
    with pytest.raises(Conflict) as refused:
        remove(repository, replace(workspace, attempt=7))
    assert refused.value.code == "NOT_OURS"


@pytest.mark.parametrize("late", ["new.txt", "a.txt"])
def test_what_is_written_between_the_salvage_and_the_removal_keeps_the_tree(made: Made, late: str) -> None:
    """F01: the removal trusts the salvage's look, and git, asked without force, looks once more."""
    repository, workspace, _ = made
    write(workspace, "b.txt", "changed\n")
    saved = salvage(workspace, reason="killed")
    write(workspace, late, "late\n")
    with pytest.raises(WorkloopError, match="contains modified or untracked files"):
        remove(repository, workspace, saved)
    assert (workspace.path / late).read_text() == "late\n"
    remove(repository, workspace, salvage(workspace, reason="again"))
    kept = ScratchRepository(path=repository.path)
    assert kept.git("show", f"{REF}:{late}") == "late"
    assert kept.git("show", f"{REF}:b.txt") == "changed"
