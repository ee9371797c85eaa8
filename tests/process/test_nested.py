"""What repositories inside a work tree hold is found before the tree goes."""

from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict
from workloop.runner.gitfacts import worktrees
from workloop.runner.nested import is_output
from workloop.runner.registry import Workspace
from workloop.runner.removal import losses, remove
from workloop.runner.repository import Repository, open_repository
from workloop.runner.salvage import salvage
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Made = tuple[Repository, Workspace, ScratchRepository]
FILES = ("-c", "protocol.file.allow=always")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A work tree of a repository with a submodule that is checked out in it."""
    library = scratch_repository(tmp_path / "library", {"lib.txt": "one\n"})
    scratch = scratch_repository(tmp_path / "repo", {".gitignore": "build/\n.agent/\n"})
    scratch.git(*FILES, "submodule", "--quiet", "add", str(library.path), "sub ü")
    scratch.git("commit", "--quiet", "-m", "with a submodule")
    repository = open_repository(scratch.path, tmp_path / "state")
    workspace = make(repository, WorkspaceOrder(item_id="01abc", attempt=1, title="thing", created=Instant(1)))
    there = ScratchRepository(path=workspace.path)
    there.git(*FILES, "submodule", "--quiet", "update", "--init")
    return repository, workspace, there


def told(workspace: Workspace, outputs: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [(loss.what, loss.paths[0]) for loss in losses(workspace, outputs)]


def test_an_untouched_submodule_goes_with_its_tree(made: Made) -> None:
    repository, workspace, there = made
    there.commit({"b.txt": "work\n"})
    assert losses(workspace) == ()
    remove(repository, workspace)
    assert not workspace.path.exists()
    assert [entry.path for entry in worktrees(repository.path)] == [repository.path]


@pytest.mark.parametrize("committed", [False, True])
def test_work_inside_a_submodule_keeps_the_tree(made: Made, *, committed: bool) -> None:
    """F01: a commit of a submodule is in no repository but the one that goes with the tree, even if it is linked."""
    repository, workspace, there = made
    inner = ScratchRepository(path=workspace.path / "sub ü")
    if committed:
        inner.commit({"lib.txt": "two\n"})
        there.commit({"b.txt": "work\n"})
        assert there.git("status", "--porcelain") == ""
    else:
        (inner.path / "new.txt").write_text("work\n")
    salvage(workspace, reason="killed")
    with pytest.raises(Conflict) as refused:
        remove(repository, workspace)
    assert refused.value.code == "WOULD_LOSE_WORK"
    assert "sub ü" in refused.value.message
    assert inner.path.is_dir()


def test_commits_of_a_submodule_that_was_taken_out_again_keep_the_tree(made: Made) -> None:
    """F01: git keeps a submodule's repository apart from its folder."""
    _, workspace, there = made
    ScratchRepository(path=workspace.path / "sub ü").commit({"lib.txt": "two\n"})
    there.git("submodule", "--quiet", "deinit", "--force", "sub ü")
    assert [what for what, _ in told(workspace)] == ["commits of a repository inside that no remote has"]


def test_a_clone_in_an_ignored_folder_keeps_the_tree_if_it_holds_work(made: Made, tmp_path: Path) -> None:
    """F01: agents clone into ignored folders; what a remote has may go, and folders declared as outputs may go."""
    _, workspace, there = made
    clone = workspace.path / "build" / "deps" / "clone"
    there.git("clone", "--quiet", str(tmp_path / "library"), str(clone))
    assert told(workspace) == []
    ScratchRepository(path=clone).commit({"lib.txt": "mine\n"})
    ahead = ("commits of a repository inside that no remote has", "build/deps/clone")
    assert told(workspace) == [ahead]
    assert told(workspace, ("other", "build/deps/deeper")) == [ahead]
    assert told(workspace, ("build",)) == []


def test_a_fresh_repository_without_commits_is_judged_by_its_files(made: Made) -> None:
    _, workspace, there = made
    fresh = workspace.path / "build" / "fresh"
    there.git("init", "--quiet", str(fresh))
    assert told(workspace) == []
    (fresh / "x.txt").write_text("x\n")
    assert told(workspace) == [("uncommitted files of a repository inside", "build/fresh")]


def test_another_work_tree_inside_an_ignored_folder_keeps_the_tree(made: Made) -> None:
    """F01: agents make work trees of their own below the one they were given."""
    _, workspace, there = made
    there.git("worktree", "add", "--quiet", "-b", "workloop/01abc/side", str(workspace.path / ".agent" / "side"))
    assert told(workspace) == [("a repository inside that cannot be judged", ".agent/side")]


@pytest.mark.parametrize("place", ["clone", "submodule"])
def test_no_program_that_a_session_wrote_down_inside_is_run(made: Made, tmp_path: Path, place: str) -> None:
    """Security: settings of a repository inside are the session's words, and the host runs none of them."""
    _, workspace, there = made
    inner = workspace.path / ("sub ü" if place == "submodule" else "build/clone")
    if place == "clone":
        there.git("clone", "--quiet", str(tmp_path / "library"), str(inner))
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\ncat\n")
    trap.chmod(0o755)
    (inner / ".gitattributes").write_text("* filter=trap\n")
    (inner / "lib.txt").write_text("two\n")  # of the same size, so that git reads it, through the filter
    ScratchRepository(path=inner).git("config", "filter.trap.clean", str(trap))
    (workspace.path / "new.txt").write_text("so that every file is looked at\n")
    salvage(workspace, reason="killed")
    assert "a repository inside that cannot be judged" in [what for what, _ in told(workspace)]
    assert not (tmp_path / "sprung").exists()


def test_a_link_that_leads_out_of_the_tree_is_not_followed(made: Made, tmp_path: Path) -> None:
    """F06: a session may write where its repository is said to be."""
    _, workspace, there = made
    outside = scratch_repository(tmp_path / "outside")
    for name, content in {"a": f"gitdir: {outside.path}/.git\n", "b": "nonsense", "c": "gitdir: ../nowhere\n"}.items():
        folder = workspace.path / "build" / name
        folder.mkdir(parents=True)
        (folder / ".git").write_text(content)
    linked = workspace.path / "build" / "d"
    linked.mkdir()
    (linked / ".git").symlink_to(outside.path / ".git")
    assert told(workspace) == [("a repository inside that cannot be judged", f"build/{name}") for name in "abcd"]
    assert there.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("path", "outputs", "expected"),
    [
        ("build/", ("build",), True),
        ("web/build/", ("build",), True),
        ("web/dist/x", ("web/dist",), True),
        ("other/web/dist", ("web/dist",), False),
        ("rebuild/", ("build",), False),
        ("web/", ("web/dist",), False),
        ("build/", (), False),
    ],
)
def test_an_output_is_a_name_anywhere_or_a_path_from_the_root(
    path: str, outputs: tuple[str, ...], *, expected: bool
) -> None:
    assert is_output(path, outputs) is expected
