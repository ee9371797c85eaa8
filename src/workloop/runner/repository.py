"""Which repository the loop works on, where its own folders for it are, and who may change it now."""

import fcntl
import hashlib
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.errors import Conflict, Refusal
from workloop.domain.ids import slug as short_name
from workloop.runner.git import GitError
from workloop.runner.gitfacts import HEADS, commit_of, common_dir, head_branch, top_level

LOCK_SECONDS = 60.0
LOCK_POLL_SECONDS = 0.02
SLUG_CHARACTERS_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One git repository, the branch that work lands on, and the loop's state folder, which lies outside it.

    `outputs` are the folders that builds fill and that hold no work, by name or by path from the root.
    """

    path: Path
    common_dir: Path
    state_dir: Path
    integration_branch: str
    outputs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return a folder name that no other repository has."""
        digest = hashlib.sha256(os.fsencode(self.common_dir)).hexdigest()[:12]
        return f"{slug(self.path.name)}-{digest}"

    @property
    def integration_ref(self) -> str:
        """Return the full reference of the integration branch."""
        return HEADS + self.integration_branch

    def folder(self, purpose: str) -> Path:
        """Return this repository's folder for worktrees, checkouts or logs, made on demand and private."""
        folder = self.state_dir / purpose / self.name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def open_repository(path: Path, state_dir: Path, integration_branch: str | None = None) -> Repository:
    """Find the repository at a path; without a branch, work lands on the one HEAD stands on."""
    try:
        common = common_dir(path)
    except GitError as failed:
        raise _not_a_repository(path) from failed
    root = top_level(path) or common
    state = Path(os.path.realpath(state_dir))
    if state in (root, common) or root in state.parents or common in state.parents:
        raise Refusal(
            "STATE_DIR_INSIDE_REPOSITORY",
            f"the state folder {state} is inside the repository {root}",
            hint="choose a state folder outside every work dir",
        )
    branch = integration_branch or head_branch(path)
    if branch is None:
        raise Refusal(
            "DETACHED_HEAD",
            f"{root} has no branch checked out",
            hint="name the branch that work lands on with integration_branch",
        )
    if commit_of(path, HEADS + branch) is None:
        raise _no_tip(path, root, branch)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Repository(path=root, common_dir=common, state_dir=state, integration_branch=branch)


def integration_tip(repository: Repository) -> str:
    """Return the SHA the integration branch is at now."""
    tip = commit_of(repository.path, repository.integration_ref)
    if tip is None:
        raise _no_tip(repository.path, repository.path, repository.integration_branch)
    return tip


@contextmanager
def repository_lock(repository: Repository, purpose: str, *, seconds: float = LOCK_SECONDS) -> Generator[None]:
    """Hold one of the repository's locks against other threads and processes; a dead holder's lock is free."""
    folder = repository.state_dir / "locks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / f"{purpose}-{repository.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(descriptor, purpose, repository, time.monotonic() + seconds)
        yield
    finally:
        os.close(descriptor)


def slug(text: str) -> str:
    """Shorten a key or title to plain letters, digits and dashes; something is always left."""
    return short_name(text, SLUG_CHARACTERS_MAX) or "item"


def confined(repository: Repository, path: Path) -> Path:
    """Return a path below the state folder as it is; raises Refusal when it lies outside or leads out by a link."""
    real_parent = Path(os.path.realpath(path.parent))
    if path.is_symlink() or ".." in path.parts or repository.state_dir not in real_parent.parents:
        raise Refusal(
            "PATH_OUTSIDE_STATE_DIR",
            f"{path} is not a plain path inside {repository.state_dir}",
            hint="nothing outside the loop's own folders is made or removed",
        )
    return real_parent / path.name


def _wait_for(descriptor: int, purpose: str, repository: Repository, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            if time.monotonic() >= deadline:
                raise Conflict(
                    "REPOSITORY_BUSY",
                    f"another {purpose} operation holds {repository.path}",
                    hint="try again when it has ended",
                    retryable=True,
                ) from held
            time.sleep(LOCK_POLL_SECONDS)
        else:
            return


def _not_a_repository(path: Path) -> Refusal:
    return Refusal("NOT_A_REPOSITORY", f"{path} is not in a git repository", hint="run git init there, or correct it")


def _no_tip(path: Path, root: Path, branch: str) -> Refusal:
    if commit_of(path, "HEAD") is None:
        return Refusal("NO_COMMITS", f"{root} has no commit yet", hint="commit something first")
    return Refusal("BRANCH_UNKNOWN", f"{root} has no branch {branch!r}", hint="correct integration_branch")
