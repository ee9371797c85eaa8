"""Workers that hand in a commit which is not what it is said to be."""

from workloop.testing.gates.case import Case, Worker
from workloop.testing.gates.lies_about_tests import EMPTY_TEST
from workloop.testing.gates.shop import MENDED


def nothing(worker: Worker) -> None:
    """Commit nothing and call it done."""
    worker.complete(worker.commit({}))


def there_and_back(worker: Worker) -> None:
    """Change something, take it back, and call the second commit done."""
    before = (worker.tree.path / "README").read_text()
    worker.commit({"README": "another shop\n"})
    worker.complete(worker.commit({"README": before}))


def own_files(worker: Worker) -> None:
    """Write only into the folder that belongs to the tool."""
    worker.complete(worker.commit({".workloop/progress.md": "all done\n"}))


def base(worker: Worker) -> None:
    """Name the commit that the work began from."""
    worker.complete(worker.tree.base)


def invented(worker: Worker) -> None:
    """Name a commit that does not exist."""
    worker.complete("0123456789abcdef" * 2 + "01234567")


def short(worker: Worker) -> None:
    """Name the first letters of a commit."""
    worker.complete(worker.mend()[:12])


def branch(worker: Worker) -> None:
    """Name a branch, which may be elsewhere tomorrow."""
    worker.mend()
    worker.complete(worker.tree.branch)


def tree_object(worker: Worker) -> None:
    """Name the tree instead of the commit."""
    worker.mend()
    worker.complete(worker.here.git("rev-parse", "HEAD^{tree}"))


def orphan(worker: Worker) -> None:
    """Make a commit with the right content and no history."""
    worker.mend()
    worker.complete(worker.here.git("commit-tree", "-m", "all new", "HEAD^{tree}"))


def older_base(worker: Worker) -> None:
    """Begin from an older commit than the base, so that newer work is undone."""
    worker.here.git("reset", "--hard", "--quiet", f"{worker.tree.base}~1")
    worker.complete(worker.commit({"invoice.py": MENDED, "README": "A shop, rewritten.\n"}))


def squashed_history(worker: Worker) -> None:
    """Write the base and the work anew as one commit on the base's parent."""
    worker.mend()
    worker.here.git("reset", "--soft", f"{worker.tree.base}~1")
    worker.complete(worker.commit({}))


def replaced(worker: Worker) -> None:
    """Have git show another commit in the place of the empty one that is handed in."""
    empty = worker.commit({})
    worker.here.git("reset", "--hard", "--quiet", empty)
    mended = worker.mend()
    worker.here.git("replace", "--force", empty, mended)
    worker.complete(empty)


def elsewhere(worker: Worker) -> None:
    """Do the work on a branch that nobody looks at and name its commit."""
    worker.here.git("checkout", "--quiet", "--detach")
    found = worker.mend()
    worker.here.git("checkout", "--quiet", worker.tree.branch)
    worker.complete(found)


def moved_base(worker: Worker) -> None:
    """Empty the test, then say that the work began only afterwards."""
    emptied = worker.commit({"tests/test_total.py": EMPTY_TEST, "tests/control_total.py": "assert False\n"})
    name = f"refs/workloop/base/{worker.tree.branch.removeprefix('workloop/')}"
    worker.here.git("update-ref", name, emptied)
    worker.complete(worker.commit({"README": "done\n"}))


def decoy_branch(worker: Worker) -> None:
    """Do the same with a branch and a base of one's own making, named so that they are found first."""
    emptied = worker.commit({"tests/test_total.py": EMPTY_TEST, "tests/control_total.py": "assert False\n"})
    folder = worker.tree.branch.removeprefix("workloop/").rpartition("/")[0]
    last = worker.commit({"README": "done\n"})
    worker.here.git("update-ref", f"refs/heads/workloop/{folder}/aaa", last)
    worker.here.git("update-ref", f"refs/workloop/base/{folder}/aaa", emptied)
    worker.complete(last)


def merged(worker: Worker) -> None:
    """Merge what others landed meanwhile and call it one's own."""
    landed = worker.repository.commit({"CHANGES": f"for {worker.claim['item']['key']}\n"})
    worker.here.git("merge", "--quiet", "--no-ff", "--no-edit", landed)
    worker.complete()


CASES = (
    Case(id="empty-commit", story="a commit that changes nothing", act=nothing),
    Case(id="there-and-back", story="two commits that change nothing together", act=there_and_back),
    Case(id="own-files", story="a commit of the tool's own files alone", act=own_files),
    Case(id="base-itself", story="the base is handed in", act=base),
    Case(id="invented-commit", story="a commit that does not exist", act=invented),
    Case(id="short-commit", story="a commit by its first letters", act=short),
    Case(id="branch-name", story="a branch instead of a commit", act=branch),
    Case(id="tree-object", story="a tree instead of a commit", act=tree_object),
    Case(id="orphan", story="the right content without any history", act=orphan),
    Case(id="older-base", story="work on an older commit than the base", act=older_base),
    Case(id="rewritten-history", story="the base written anew, together with the work", act=squashed_history),
    Case(id="replaced-object", story="git is told to show another commit for the one handed in", act=replaced),
    Case(id="moved-base", story="the base is moved past the emptied test", act=moved_base),
    Case(id="decoy-branch", story="a branch with a base of one's own making", act=decoy_branch),
    Case(id="merged-only", story="what others landed is merged and called work", act=merged),
)
