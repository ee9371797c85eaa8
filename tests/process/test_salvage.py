"""What an ended session left uncommitted is kept, and nothing else is."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.domain.errors import Refusal
from workloop.runner.registry import Workspace
from workloop.runner.repository import Repository, open_repository
from workloop.runner.salvage import salvage, salvages
from workloop.runner.snapshot import FILE_BYTES_MAX
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Made = tuple[Repository, Workspace, ScratchRepository]
REF = "refs/workloop/wip/01abc/1"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A workspace, and a person's view into it."""
    scratch = scratch_repository(
        tmp_path / "my repo", {"a.txt": "one\n", "gone.txt": "x\n", ".gitignore": "build/\n", "credentials.py": "def\n"}
    )
    repository = open_repository(scratch.path, tmp_path / "state")
    workspace = make(repository, WorkspaceOrder(item_id="01abc", attempt=1, title="thing", created=Instant(1)))
    return repository, workspace, ScratchRepository(path=workspace.path)


def write(workspace: Workspace, name: str, content: str) -> None:
    target = workspace.path / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)


def test_f01_uncommitted_work_is_kept_on_a_side_reference(made: Made) -> None:
    """F01, F26: changed, staged, deleted and new files are kept; branch, index and files stay as they were."""
    repository, workspace, there = made
    write(workspace, "a.txt", "changed\n")
    write(workspace, "new ü/deep.txt", "new\n")
    write(workspace, "staged.txt", "staged\n")
    write(workspace, "build/output.o", "ignored\n")
    there.git("add", "staged.txt")
    (workspace.path / "gone.txt").unlink()
    index = Path(there.git("rev-parse", "--absolute-git-dir")) / "index"
    before, head = index.read_bytes(), there.head
    saved = salvage(workspace, reason="killed")
    assert saved.files == ("a.txt", "gone.txt", "new ü/deep.txt", "staged.txt")
    assert saved.skipped == saved.conflicts == ()
    assert there.git("rev-parse", REF) == saved.sha
    assert there.git("show", f"{REF}:new ü/deep.txt") == "new"
    assert there.git("rev-parse", f"{REF}^") == head == there.head
    assert there.git("rev-parse", workspace.branch) == head
    assert index.read_bytes() == before
    assert "build" not in there.git("ls-tree", "-r", "--name-only", REF)
    assert [(one.item_id, one.attempt, one.sha) for one in salvages(repository)] == [("01abc", 1, saved.sha)]


def test_a_salvage_says_that_nobody_reviewed_it(made: Made) -> None:
    """Decision: marked unreviewed, by the host's own identity, with the reason."""
    _, workspace, there = made
    write(workspace, "a.txt", "changed\n")
    salvage(workspace, reason="usage limit")
    message = there.git("log", "-1", "--format=%an%n%B", REF)
    assert message.startswith("Workloop\nUNREVIEWED")
    assert "usage limit" in message


def test_a_clean_worktree_makes_no_reference(made: Made) -> None:
    """Decision: nothing to save is a normal answer."""
    repository, workspace, there = made
    there.commit({"b.txt": "committed\n"})
    saved = salvage(workspace, reason="killed")
    assert (saved.ref, saved.sha, saved.files) == (None, None, ())
    assert salvages(repository) == ()


def test_commits_that_only_a_detached_head_holds_are_kept(made: Made) -> None:
    """F01: work that is committed but on no branch would go with the worktree."""
    _, workspace, there = made
    there.git("checkout", "--quiet", "--detach")
    sha = there.commit({"b.txt": "committed\n"})
    assert salvage(workspace, reason="killed").sha == sha
    assert there.git("rev-parse", REF) == sha


def test_salvaging_twice_changes_nothing_and_a_later_state_keeps_the_earlier(made: Made) -> None:
    """Decision: a resumed attempt that dies again loses neither state."""
    _, workspace, there = made
    write(workspace, "a.txt", "first\n")
    first = salvage(workspace, reason="killed")
    assert salvage(workspace, reason="killed").sha == first.sha
    write(workspace, "a.txt", "second\n")
    second = salvage(workspace, reason="killed again")
    assert there.git("show", f"{REF}:a.txt") == "second"
    assert there.git("rev-parse", f"{second.sha}^2") == first.sha


def test_secrets_and_big_files_are_left_out_and_named(made: Made) -> None:
    """Decision: what looks like a secret never enters the object store of the repository."""
    _, workspace, there = made
    token = "ghp_" + "a1B2" * 9
    secrets = {
        ".env": "X=1\n",
        "deep/.env.local": "X=1\n",
        "server.pem": "x\n",
        "id_rsa": "x\n",
        "credentials.json": "{}\n",
        "notes.txt": f"token {token}\n",
        "key.txt": "-----BEGIN OPENSSH PRIVATE KEY-----\n",
    }
    for name, content in secrets.items():
        write(workspace, name, content)
    write(workspace, "big.bin", "x" * (FILE_BYTES_MAX + 1))
    write(workspace, ".env.example", "X=\n")
    write(workspace, "credentials.py", "changed\n")
    write(workspace, "just-fits.bin", "x" * FILE_BYTES_MAX)
    saved = salvage(workspace, reason="killed")
    assert saved.files == (".env.example", "credentials.py", "just-fits.bin")
    assert {skipped.path for skipped in saved.skipped} == {*secrets, "big.bin"}
    assert dict(saved.skipped)["big.bin"] == "larger than 5 MiB"
    assert token not in there.git("log", "--all", "-p", "--format=%B")
    assert all((workspace.path / name).is_file() for name in secrets)


def test_a_secret_already_committed_is_not_taken_out_by_a_salvage(made: Made) -> None:
    """Decision: a skipped file keeps its committed state in the salvage, it isn't shown as deleted."""
    _, workspace, there = made
    write(workspace, "a.txt", "-----BEGIN PRIVATE KEY-----\n")
    write(workspace, "b.txt", "new\n")
    saved = salvage(workspace, reason="killed")
    assert saved.files == ("b.txt",)
    assert there.git("show", f"{REF}:a.txt") == "one"


def test_unresolved_conflicts_are_left_alone_and_reported(made: Made) -> None:
    """Decision: no conflict is resolved or committed by the host; the rest is saved."""
    _, workspace, there = made
    base = there.head
    there.commit({"a.txt": "left\n"})
    there.git("branch", "other", base)
    there.git("checkout", "--quiet", "--detach", "other")
    right = there.commit({"a.txt": "right\n"})
    there.git("switch", "--quiet", workspace.branch)
    with pytest.raises(Exception, match="merge"):
        there.git("merge", "--no-edit", right)
    write(workspace, "new.txt", "beside\n")
    before = there.git("status", "--porcelain")
    saved = salvage(workspace, reason="killed")
    assert (saved.conflicts, saved.files) == (("a.txt",), ("new.txt",))
    assert there.git("show", f"{REF}:a.txt") == "left"
    assert there.git("status", "--porcelain") == before
    assert "<<<<<<<" in (workspace.path / "a.txt").read_text()


def test_changes_hidden_from_git_status_are_saved_too(made: Made) -> None:
    """Security: flags in the session's own index can't hide work from the host."""
    _, workspace, there = made
    there.git("update-index", "--assume-unchanged", "a.txt")
    there.git("update-index", "--skip-worktree", "gone.txt")
    write(workspace, "a.txt", "hidden\n")
    write(workspace, "gone.txt", "hidden\n")
    assert there.git("status", "--porcelain") == ""
    assert salvage(workspace, reason="killed").files == ("a.txt", "gone.txt")


def test_what_git_cannot_hold_is_skipped_by_name(made: Made) -> None:
    """Decision: a repository inside the worktree would be saved as an empty link, so it is reported instead."""
    _, workspace, _ = made
    scratch_repository(workspace.path / "nested", {"x.txt": "x\n"})
    (workspace.path / "link").symlink_to("/etc/passwd")
    os.mkfifo(workspace.path / "pipe")
    saved = salvage(workspace, reason="killed")
    assert saved.files == ("link",)
    assert [skipped.path for skipped in saved.skipped] == ["nested/"]


def test_a_folder_that_became_a_file_and_a_file_that_became_a_folder_are_saved(made: Made) -> None:
    """Decision: the snapshot follows changes of kind."""
    _, workspace, there = made
    there.commit({"folder/x.txt": "x\n"})
    (workspace.path / "folder" / "x.txt").unlink()
    (workspace.path / "folder").rmdir()
    write(workspace, "folder", "now a file\n")
    (workspace.path / "a.txt").unlink()
    write(workspace, "a.txt/inner.txt", "now a folder\n")
    salvage(workspace, reason="killed")
    names = there.git("ls-tree", "-r", "--name-only", REF).splitlines()
    assert {"folder", "a.txt/inner.txt"} <= set(names)
    assert not {"folder/x.txt", "a.txt"} & set(names)


def test_a_lock_left_on_the_index_does_not_stop_a_salvage(made: Made) -> None:
    """Decision: the salvage uses an index of its own."""
    _, workspace, there = made
    (Path(there.git("rev-parse", "--absolute-git-dir")) / "index.lock").touch()
    write(workspace, "a.txt", "changed\n")
    assert salvage(workspace, reason="killed").files == ("a.txt",)


def test_a_history_without_any_commit_is_saved(made: Made) -> None:
    """Decision: a session may have made an orphan branch and not committed yet."""
    _, workspace, there = made
    there.git("checkout", "--quiet", "--orphan", "fresh")
    write(workspace, "b.txt", "new\n")
    saved = salvage(workspace, reason="killed")
    assert "b.txt" in saved.files
    assert there.git("rev-list", "--count", REF) == "1"


def test_f03_nothing_is_ever_committed_outside_the_attempts_worktree(made: Made) -> None:
    """F03: run in the wrong directory, the safety net would commit a person's files."""
    repository, workspace, _ = made
    (repository.path / "personal.txt").write_text("mine\n")
    with pytest.raises(Refusal):
        salvage(replace(workspace, path=repository.path), reason="killed")
    assert salvages(repository) == ()
