"""What tests of delivery share: a bare remote with its own hooks, a clone that the loop works in, and a colleague."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.runner.gitfacts import worktrees
from workloop.runner.landing import GuardVerdict, Landing, LandingOrder, LandingPolicy, Ways, land
from workloop.runner.landing.order import Stands, always
from workloop.runner.registry import leftovers
from workloop.runner.remote import Remote, find_remote
from workloop.runner.repository import Repository, open_repository
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

GREEN = GuardVerdict(green=True, reason="")
ITEM = "01abc"


def green(_: str) -> GuardVerdict:
    """Find nothing wrong with a merge."""
    return GREEN


class RemoteBench:
    """A bare repository that others push to as well, and the operator's clone of it."""

    policy = LandingPolicy.PUSH

    def __init__(self, folder: Path, *, shallow: bool = False) -> None:
        self.folder = folder
        first = scratch_repository(folder / "first", {"a.txt": "one\n", "b.txt": "one\n"})
        first.commit({"b.txt": "two\n"})
        first.git("clone", "--quiet", "--bare", str(first.path), str(folder / "origin.git"))
        self.origin = ScratchRepository(path=folder / "origin.git")
        self.operator = self.clone("my repo", *(("--depth=1",) if shallow else ()))
        self.repository: Repository = open_repository(self.operator.path, folder / "state")
        self.remote: Remote = find_remote(self.repository, "origin", os.environ)
        self.tip = self.operator.head
        self.sha = self.work(ITEM, {"a.txt": "two\n"})

    def clone(self, name: str, *flags: str) -> ScratchRepository:
        """Clone the remote as somebody would."""
        address = f"file://{self.origin.path}"
        self.origin.git("clone", "--quiet", *flags, address, str(self.folder / name))
        return ScratchRepository(path=self.folder / name)

    def colleague(self, files: dict[str, str | None]) -> str:
        """Push a commit to the remote's main from another machine."""
        other = self.folder / "colleague"
        person = ScratchRepository(path=other) if other.exists() else self.clone("colleague")
        person.git("pull", "--quiet", "--ff-only")
        sha = person.commit(files, "by a colleague")
        person.git("push", "--quiet", "origin", "HEAD:main")
        return sha

    def work(self, item_id: str, files: dict[str, str | None]) -> str:
        """Commit files on an item's branch."""
        order = WorkspaceOrder(item_id=item_id, attempt=1, title="thing", created=Instant(1))
        made = make(self.repository, order)
        self.branch = made.branch
        return ScratchRepository(path=made.path).commit(files)

    def hook(self, name: str, script: str) -> None:
        """Give the remote a hook."""
        path = self.origin.path / "hooks" / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def order(self, sha: str | None = None, stands: Stands = always, item_id: str = ITEM) -> LandingOrder:
        """Order a landing."""
        return LandingOrder(
            item_id=item_id,
            attempt=1,
            sha=sha or self.sha,
            title="a thing",
            now=Instant(2),
            policy=self.policy,
            branch=self.branch,
            stands=stands,
        )

    @property
    def ways(self) -> Ways:
        """Return what landing may use."""
        return Ways(remote=self.remote)

    def land(self, order: LandingOrder | None = None, guards: Callable[[str], GuardVerdict] = green) -> Landing:
        """Land, and see that no merge tree stays behind."""
        landing = land(self.repository, order or self.order(), guards, self.ways)
        self.is_tidy()
        return landing

    def is_tidy(self) -> None:
        """See that nothing of a landing is left."""
        assert not [one for one in leftovers(self.repository.state_dir) if one.workspace.kind == "landing"]
        assert not [entry for entry in worktrees(self.repository.path) if "landings" in entry.path.parts]

    def at(self, ref: str = "refs/heads/main") -> str:
        """Return where a reference is on the remote, nothing when it is not there."""
        return self.origin.git("for-each-ref", "--format=%(objectname)", ref)
