"""Where an item's branch is and which base its work started from, long after the worktree is gone."""

from workloop.runner.git import ANY_FAILURE, git
from workloop.runner.gitfacts import HEADS, commit_of, is_ancestor
from workloop.runner.repository import Repository, integration_tip
from workloop.runner.workspace import BASE_REFS, BRANCH_PREFIX


def branch_of(repository: Repository, item_id: str) -> str | None:
    """Return the branch that carries an item's work."""
    pattern = f"{HEADS}{BRANCH_PREFIX}{item_id}-*"
    found = git(repository.path, "for-each-ref", "--format=%(refname)", pattern).text.splitlines()
    return found[0].removeprefix(HEADS) if found else None


def base_of(repository: Repository, item_id: str, sha: str) -> str:
    """Return the commit that a candidate is compared with: the recorded base, else where it left the integration."""
    branch = branch_of(repository, item_id)
    if branch is not None:
        recorded = commit_of(repository.path, BASE_REFS + branch.removeprefix(BRANCH_PREFIX))
        if recorded is not None and is_ancestor(repository.path, recorded, sha):
            return recorded
    tip = integration_tip(repository)
    found = git(repository.path, "merge-base", tip, sha, call=ANY_FAILURE)
    return found.text if found.exit_code == 0 and found.text else tip
