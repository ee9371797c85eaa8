"""What a work tree costs to make and to take away in a big repository, beside `git worktree add` and `remove`.

Both run in turn in the same repository, so that what else the machine does weighs on both alike. Ours looks whether
anything would be lost before it removes, which git does in its own way, too. A second figure is a tree with a change in
it, which ours saves on a reference first; git alone would refuse it.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.result import Result
from workloop.domain.clock import Instant
from workloop.runner.removal import remove
from workloop.runner.repository import Repository, open_repository
from workloop.runner.salvage import salvage
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository

FILES = 50_000
FILES_QUICK = 5_000
A_FOLDER = 250
ROUNDS = 5
ROUNDS_QUICK = 3
LIMIT = 1.3


def measure(quick: bool) -> list[Result]:
    """Measure both in turn."""
    files, rounds = (FILES_QUICK, ROUNDS_QUICK) if quick else (FILES, ROUNDS)
    with tempfile.TemporaryDirectory(prefix="workloop-bench-") as folder:
        repository = open_repository(filled(Path(folder) / "repo", files).path, Path(folder) / "state", "main")
        bare, ours, dirty = list[float](), list[float](), list[float]()
        for number in range(rounds + 1):
            bare.append(timed(lambda n=number: with_git(repository, Path(folder) / f"tree-{n}")))
            ours.append(timed(lambda n=number: with_loop(repository, n)))
            dirty.append(timed(lambda n=number: with_loop(repository, rounds + 1 + n, change=True)))
    pairs = list(zip(bare[1:], ours[1:], dirty[1:], strict=True))
    note = f"{files:,} files; git alone {sorted(bare[1:])[len(pairs) // 2]:.2f} s"
    return [
        Result(
            name="work tree made and removed, against git worktree add and remove",
            values=tuple(mine / theirs for theirs, mine, _ in pairs),
            unit="times",
            limit=LIMIT,
            note=note,
        ),
        Result(
            name="the same with a change that is saved first",
            values=tuple(saved / theirs for theirs, _, saved in pairs),
            unit="times",
        ),
    ]


def filled(path: Path, files: int) -> ScratchRepository:
    """Make a repository with so many small files in folders."""
    path.mkdir()
    scratch = ScratchRepository(path=path)
    scratch.git("init", "--quiet", "--initial-branch=main")
    scratch.git("config", "gc.auto", "0")
    for number in range(files):
        place = path / f"d{number // A_FOLDER:04}" / f"f{number:06}.txt"
        if number % A_FOLDER == 0:
            place.parent.mkdir()
        place.write_text(f"file {number}\n" * 20, encoding="ascii")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "many files")
    scratch.git("gc", "--quiet")
    return scratch


def timed(act: Callable[[], None]) -> float:
    """Return how many seconds something takes."""
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def with_git(repository: Repository, tree: Path) -> None:
    """Do what a person would."""
    scratch = ScratchRepository(path=repository.path)
    scratch.git("worktree", "add", "--quiet", "-b", tree.name, str(tree), "main")
    scratch.git("worktree", "remove", str(tree))


def with_loop(repository: Repository, number: int, *, change: bool = False) -> None:
    """Do what the loop does around a session, salvage included."""
    order = WorkspaceOrder(item_id=f"item{number}", attempt=1, title="bench", created=Instant(number))
    workspace = make(repository, order)
    if change:
        shutil.copy(workspace.path / "d0000" / "f000000.txt", workspace.path / "new.txt")
    remove(repository, workspace, salvage(workspace, reason="bench"))
