"""Which branch carries an item's work, in a folder of references that a session may write."""

from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict
from workloop.runner.registry import Workspace, leftovers
from workloop.runner.repository import Repository, open_repository
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Opened = tuple[ScratchRepository, Repository]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A repository and its state folder."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n"})
    return scratch, open_repository(scratch.path, tmp_path / "state")


def order(**changes: object) -> WorkspaceOrder:
    plain = WorkspaceOrder(item_id="01abc", attempt=1, title="Fix the Thing: naïve", created=Instant(1))
    return replace(plain, **changes)


def inside(workspace: Workspace) -> ScratchRepository:
    return ScratchRepository(path=workspace.path)


def test_another_branch_in_the_items_folder_hides_neither_the_work_nor_its_base(opened: Opened) -> None:
    """Security: a session may write in the folder of its item, and the branch that the host began stays the item's."""
    _, repository = opened
    first = make(repository, order())
    done = inside(first).commit({"b.txt": "work\n"})
    inside(first).git("branch", "workloop/01abc/aaa", first.base_sha)
    inside(first).git("branch", "workloop/01abc/zzz", done)
    second = make(repository, order(attempt=2, title="Another title"))
    assert (second.branch, second.start_sha, second.base_sha) == (first.branch, done, first.base_sha)


def test_work_on_a_branch_that_its_session_renamed_is_gone_on_from(opened: Opened) -> None:
    """F09: what lies in the item's folder is the item's, whatever it is called now."""
    _, repository = opened
    first = make(repository, order())
    done = inside(first).commit({"b.txt": "work\n"})
    inside(first).git("branch", "-m", "workloop/01abc/renamed/deeper")
    second = make(repository, order(attempt=2))
    assert (second.branch, second.start_sha) == ("workloop/01abc/renamed/deeper", done)


@pytest.mark.parametrize("taken", ["workloop", "workloop/01abc"])
def test_a_branch_whose_name_is_in_the_way_is_named_with_its_remedy(opened: Opened, taken: str) -> None:
    """Decision: git keeps a branch as a file, so that none can be named like the folder of another."""
    scratch, repository = opened
    scratch.git("branch", taken)
    with pytest.raises(Conflict) as refused:
        make(repository, order())
    assert (refused.value.code, refused.value.retryable) == ("BRANCH_NAME_TAKEN", False)
    assert f"git branch -m {taken} " in refused.value.hint
    assert leftovers(repository.state_dir) == ()
    scratch.git("branch", "-m", taken, f"{taken}-mine")
    assert make(repository, order()).branch == "workloop/01abc/fix-the-thing-naive"
