"""What the host sees of a candidate, whatever the worker says of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.runner.candidate import CandidateFacts, candidate_facts
from workloop.runner.registry import Workspace
from workloop.runner.repository import Repository, open_repository
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

Made = tuple[ScratchRepository, Repository, Workspace]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A repository with a workspace of one item."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n", "tests/test_a.py": "x\n"})
    repository = open_repository(scratch.path, tmp_path / "state")
    return scratch, repository, make(repository, order("01abc"))


def order(item_id: str, attempt: int = 1) -> WorkspaceOrder:
    return WorkspaceOrder(item_id=item_id, attempt=attempt, title="thing", created=Instant(attempt))


def inside(workspace: Workspace) -> ScratchRepository:
    return ScratchRepository(path=workspace.path)


def codes(facts: CandidateFacts) -> list[str]:
    return [problem.code for problem in facts.problems]


def test_a_commit_on_the_items_branch_that_changes_something_has_no_problems(made: Made) -> None:
    """Decision: the facts are read from git."""
    _, repository, workspace = made
    sha = inside(workspace).commit({"b ü.txt": "work\n", "a.txt": None})
    facts = candidate_facts(repository, workspace, sha, protected=("tests",))
    assert codes(facts) == []
    assert facts.changed_paths == ("a.txt", "b ü.txt")
    assert (facts.commits_over_base, facts.commits_over_start, facts.head_sha) == (1, 1, sha)
    assert not facts.already_integrated


def test_e01_a_branch_with_no_commits_over_its_base_is_reported_empty(made: Made) -> None:
    """E01: three workers report success and every branch is at the base's tip."""
    _, repository, first = made
    for workspace in (first, make(repository, order("02abc")), make(repository, order("03abc"))):
        facts = candidate_facts(repository, workspace, workspace.base_sha)
        assert (codes(facts), facts.commits_over_base) == (["EMPTY_DIFF"], 0)


def test_e02_a_dirty_tree_is_told_with_how_to_finish(made: Made) -> None:
    """E02: work that was never committed is no candidate, and the hint says so."""
    _, repository, workspace = made
    (workspace.path / "new.txt").write_text("work\n")
    (workspace.path / "a.txt").write_text("changed\n")
    facts = candidate_facts(repository, workspace, workspace.start_sha)
    assert facts.dirty_paths == ("a.txt", "new.txt")
    assert codes(facts) == ["EMPTY_DIFF"]
    assert "not committed yet" in facts.problems[0].hint


def test_e02_work_committed_with_something_left_dirty_stands_and_the_rest_is_told(made: Made) -> None:
    """E02: the candidate is the commit; what was left out is a fact beside it."""
    _, repository, workspace = made
    sha = inside(workspace).commit({"b.txt": "work\n"})
    (workspace.path / "forgotten.txt").write_text("x\n")
    facts = candidate_facts(repository, workspace, sha)
    assert (codes(facts), facts.dirty_paths) == ([], ("forgotten.txt",))


def test_e02_work_on_a_detached_head_of_the_worktree_is_seen(made: Made) -> None:
    """E02: a crashed session may leave its commits on HEAD alone."""
    _, repository, workspace = made
    inside(workspace).git("checkout", "--quiet", "--detach")
    sha = inside(workspace).commit({"b.txt": "work\n"})
    assert codes(candidate_facts(repository, workspace, sha)) == []
    inside(workspace).git("switch", "--quiet", workspace.branch)
    assert codes(candidate_facts(repository, workspace, sha)) == ["NOT_ON_BRANCH"]


def test_e03_empty_diff_is_reported_although_there_are_commits(made: Made) -> None:
    """E03: an empty commit, and a change that was taken back, leave the branch identical to its base."""
    _, repository, workspace = made
    empty = inside(workspace).commit({}, "nothing")
    facts = candidate_facts(repository, workspace, empty)
    assert (facts.diff_is_empty, facts.commits_over_base, codes(facts)) == (True, 1, ["EMPTY_DIFF"])
    inside(workspace).commit({"b.txt": "x\n"})
    undone = inside(workspace).commit({"b.txt": None})
    assert candidate_facts(repository, workspace, undone).diff_is_empty


def test_e03_merging_what_others_landed_is_not_work(made: Made) -> None:
    """E03: a branch that only caught up with main differs from its base but brings nothing."""
    scratch, repository, workspace = made
    inside(workspace).commit({}, "nothing")
    scratch.commit({"other.txt": "by others\n"})
    inside(workspace).git("merge", "--quiet", "--no-edit", "main")
    facts = candidate_facts(repository, workspace, inside(workspace).head)
    assert facts.commits_over_base == 3
    assert codes(facts) == ["EMPTY_DIFF"]


def test_e03_the_tip_of_the_integration_branch_is_told_as_already_there(made: Made) -> None:
    """E03: what main contains already is known before a verifier is made."""
    scratch, repository, workspace = made
    tip = scratch.commit({"other.txt": "by others\n"})
    inside(workspace).git("merge", "--quiet", "--ff-only", "main")
    assert candidate_facts(repository, workspace, tip).already_integrated


def test_e03_a_replaced_commit_is_read_as_it_was_made(made: Made) -> None:
    """E03, security: refs/replace, which a session can write, doesn't turn an empty commit into work."""
    _, repository, workspace = made
    there = inside(workspace)
    full = there.commit({"b.txt": "work\n"})
    there.git("reset", "--hard", "--quiet", workspace.base_sha)
    empty = there.commit({}, "nothing")
    there.git("replace", empty, full)
    assert there.git("show", f"{empty}:b.txt") == "work"
    assert codes(candidate_facts(repository, workspace, empty)) == ["EMPTY_DIFF"]


def test_e06_changes_to_paths_of_the_tool_do_not_count_as_work(made: Made) -> None:
    """E06: each commit only edits the tracker's own file."""
    _, repository, workspace = made
    sha = inside(workspace).commit({".workloop/progress.md": "done!\n", "tasks.json": "[]\n"})
    assert codes(candidate_facts(repository, workspace, sha)) == []
    facts = candidate_facts(repository, workspace, sha, uncounted=(".workloop", "tasks.json"))
    assert codes(facts) == ["EMPTY_DIFF"]
    assert facts.changed_paths == (".workloop/progress.md", "tasks.json")


def test_e15_a_stale_or_foreign_commit_does_not_pass_for_this_attempt(made: Made) -> None:
    """E15, E18: a result is bound to a commit of this item; another item's or an abandoned one is not."""
    _, repository, workspace = made
    foreign = inside(make(repository, order("02abc"))).commit({"c.txt": "theirs\n"})
    assert codes(candidate_facts(repository, workspace, foreign)) == ["NOT_ON_BRANCH"]
    stale = inside(workspace).commit({"b.txt": "first\n"})
    inside(workspace).git("reset", "--hard", "--quiet", workspace.base_sha)
    inside(workspace).commit({"b.txt": "second\n"})
    assert codes(candidate_facts(repository, workspace, stale)) == ["NOT_ON_BRANCH"]


def test_a_commit_that_does_not_descend_from_the_base_is_told(made: Made) -> None:
    """Decision: a rewritten history is not a candidate."""
    _, repository, workspace = made
    inside(workspace).git("checkout", "--quiet", "--orphan", "fresh")
    sha = inside(workspace).commit({"b.txt": "work\n"})
    assert codes(candidate_facts(repository, workspace, sha)) == ["NOT_FROM_BASE"]


@pytest.mark.parametrize("name", ["HEAD", "main", "abc1234", "A" * 40, "0" * 39, ""])
def test_only_a_full_sha_names_a_candidate(made: Made, name: str) -> None:
    """Decision: a name can move, a short SHA can become ambiguous."""
    _, repository, workspace = made
    assert codes(candidate_facts(repository, workspace, name)) == ["SHA_NOT_FULL"]


def test_e09_an_invented_sha_is_unknown(made: Made) -> None:
    """E09: hash strings that were made up, and objects that are no commits."""
    _, repository, workspace = made
    tree = inside(workspace).git("rev-parse", "HEAD^{tree}")
    for invented in ("deadbeef" * 5, "0" * 40, tree):
        assert codes(candidate_facts(repository, workspace, invented)) == ["COMMIT_UNKNOWN"]


def test_m02_changing_adding_deleting_or_moving_a_protected_path_is_told(made: Made) -> None:
    """M02: whatever is done to the evaluator's files is a fact."""
    _, repository, workspace = made
    there = inside(workspace)
    changes: list[tuple[dict[str, str | None], tuple[str, ...]]] = [
        ({"tests/test_a.py": "weaker\n"}, ("tests/test_a.py",)),
        ({"tests/conftest.py": "skip\n"}, ("tests/conftest.py",)),
        ({"tests/test_a.py": None, "moved.py": "x\n"}, ("tests/test_a.py",)),
    ]
    for files, expected in changes:
        there.git("reset", "--hard", "--quiet", workspace.base_sha)
        facts = candidate_facts(repository, workspace, there.commit(files), protected=("tests/**",))
        assert facts.changed_protected_paths == expected
        assert codes(facts) == ["PROTECTED_CHANGED"]


def test_protected_paths_behind_a_planted_link_count_as_changed(made: Made, tmp_path: Path) -> None:
    """Security: a folder that became a link hides its files from the work tree, not from git."""
    _, repository, workspace = made
    there = inside(workspace)
    there.git("rm", "-r", "--quiet", "tests")
    (workspace.path / "tests").symlink_to(tmp_path)
    facts = candidate_facts(repository, workspace, there.commit({}), protected=("tests/test_a.py",))
    assert facts.changed_protected_paths == ("tests/test_a.py",)


def test_f03_facts_are_refused_in_a_folder_that_is_not_the_attempts_worktree(made: Made) -> None:
    """F03: the registered path is resolved, nowhere else is looked at."""
    from workloop.domain.errors import Refusal

    scratch, repository, workspace = made
    with pytest.raises(Refusal):
        candidate_facts(repository, replace(workspace, path=scratch.path), workspace.start_sha)
