"""Where an item's branch is and which base its work started from, long after the worktree is gone."""

from workloop.runner.git import ANY_FAILURE, git
from workloop.runner.gitfacts import HEADS, commit_of, is_ancestor
from workloop.runner.repository import Repository, integration_tip

BRANCH_PREFIX = "workloop/"
BASE_REFS = "refs/workloop/base/"


def branches_of(repository: Repository, item_id: str) -> list[str]:
    """Return the branches that carry an item's work: one, unless somebody made another of that name."""
    pattern = f"{HEADS}{BRANCH_PREFIX}{item_id}-*"
    found = git(repository.path, "for-each-ref", "--format=%(refname)", pattern).text.splitlines()
    return [name.removeprefix(HEADS) for name in found]


def base_ref(branch: str) -> str:
    """Return the reference that keeps a branch's base."""
    return BASE_REFS + branch.removeprefix(BRANCH_PREFIX)


def base_of(repository: Repository, item_id: str, sha: str) -> str:
    """Return the commit that a candidate is compared with: the recorded base, else where it left the integration."""
    for branch in branches_of(repository, item_id)[:1]:
        recorded = commit_of(repository.path, base_ref(branch))
        if recorded is not None and is_ancestor(repository.path, recorded, sha):
            return recorded
    tip = integration_tip(repository)
    found = git(repository.path, "merge-base", tip, sha, call=ANY_FAILURE)
    return found.text if found.exit_code == 0 and found.text else tip
