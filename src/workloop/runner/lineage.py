"""Where an item's branch is and which base its work started from, long after the worktree is gone."""

from workloop.runner.git import ANY_FAILURE, git
from workloop.runner.gitfacts import HEADS, commit_of, commits_of, is_ancestor
from workloop.runner.repository import Repository, integration_tip, slug

BRANCH_PREFIX = "workloop/"
BASE_REFS = "refs/workloop/base/"


def branches_of(repository: Repository, item_id: str) -> list[str]:
    """Return the branches in an item's folder, those first whose base the host recorded, then the newest."""
    patterns = (f"{HEADS}{BRANCH_PREFIX}{item_id}/", f"{BASE_REFS}{item_id}/")
    found = git(repository.path, "for-each-ref", "--sort=-committerdate", "--format=%(refname)", *patterns)
    names = found.text.splitlines()
    based = {BRANCH_PREFIX + name.removeprefix(BASE_REFS) for name in names if name.startswith(BASE_REFS)}
    branches = [name.removeprefix(HEADS) for name in names if name.startswith(HEADS)]
    return sorted(branches, key=lambda branch: branch not in based)


def new_branch(item_id: str, title: str) -> str:
    """Return the name of an item's first branch, in a folder of references that no other item shares."""
    return f"{BRANCH_PREFIX}{item_id}/{slug(title)}"


def branch_in_the_way(repository: Repository, branch: str) -> str | None:
    """Return an existing branch whose name stands where a folder of this branch's name must be, or None."""
    parts = branch.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts))]
    found = commits_of(repository.path, *(HEADS + name for name in above))
    return next((name for name, sha in zip(above, found, strict=True) if sha), None)


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
