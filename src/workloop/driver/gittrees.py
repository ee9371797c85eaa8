"""How the loop's work trees come, are kept, saved and taken away with git, and how much room they may take."""

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path

from workloop.config import DiskConfig
from workloop.domain.clock import Instant, seconds_us
from workloop.domain.errors import IntegrityFault, WorkloopError
from workloop.driver.workshop import PutAway, WorkOrder, WorkTree
from workloop.runner.collecting import Keep, gc, recorded, size_on_disk
from workloop.runner.gitfacts import commit_of, head_branch, is_ancestor
from workloop.runner.offsite import note_unsent, send_all
from workloop.runner.orphans import end_orphans
from workloop.runner.registry import Leftover, Workspace, WorkspaceKind, leftovers, read_record
from workloop.runner.remote import Remote
from workloop.runner.removal import remove
from workloop.runner.repository import Repository, repository_lock
from workloop.runner.salvage import Salvage, salvage
from workloop.runner.sandbox.enclosure import Rooms, git_rooms
from workloop.runner.sandbox.receiving import receive
from workloop.runner.workspace import WorkspaceOrder, attempt_path, break_stale_locks, make, require_workspace

NEWER_ATTEMPT = "a newer attempt at the same item began"
ITEM_OVER = "its item is over"
LOOP_KILLED = "the loop that ran it was killed"
TREES_AT_ONCE = 8
KEPT = ".kept"
DAY_SECONDS = 86_400.0
SIZED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class GitTrees:
    """The work trees of one repository; `in_use` are those that this process made and has not put away.

    `sized` is what they took on disk in all when that was last looked at, as a monotonic second and bytes.
    """

    repository: Repository
    disk: DiskConfig = field(default_factory=DiskConfig)
    offsite: Remote | None = None
    in_use: set[Path] = field(default_factory=set[Path])
    sized: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])

    def make(self, order: WorkOrder) -> WorkTree:
        """Make the work tree of an attempt, once the trees that earlier ones left are put away."""
        for left in self.kept_of(order.root_id):
            self.put_by(left, NEWER_ATTEMPT)
        wanted = WorkspaceOrder(
            item_id=order.root_id,
            attempt=order.attempt,
            title=order.title,
            created=order.created,
            dependencies=order.dependencies,
            start_sha=order.start,
        )
        path = attempt_path(self.repository, order.root_id, order.attempt)
        self.in_use.add(path)
        try:
            return tree_of(make(self.repository, wanted))
        except WorkloopError:
            self.in_use.discard(path)
            raise

    def kept_of(self, root_id: str) -> list[Workspace]:
        """Return the work trees that earlier attempts left for whoever resumes them; none of them is in use."""
        if not any(self.repository.folder("worktrees").glob(f"{root_id}-*{KEPT}")):
            return []
        here = [one.workspace for one in recorded(self.repository) if one.present and not one.maker_runs]
        return [one for one in here if one.item_id == root_id and kept_mark(one).exists()]

    def sweep(self, over: Callable[[str], bool]) -> tuple[PutAway, ...]:
        """Put away the kept trees of roots that are over; one that must stay waits for nobody any more."""
        marks = self.repository.folder("worktrees").glob(f"*{KEPT}")
        roots = sorted({mark.name.removesuffix(KEPT).rpartition("-")[0] for mark in marks})
        found = [one for root_id in roots if over(root_id) for one in self.kept_of(root_id)]
        for one in found:
            kept_mark(one).unlink(missing_ok=True)
        return tuple(self.put_by(one, ITEM_OVER) for one in found)

    def reopen(self, path: Path) -> WorkTree | None:
        """Return an earlier attempt's work tree if it is registered, whole and on its branch."""
        workspace = read_record(path)
        if workspace is None or not workspace.ready or workspace.kind is not WorkspaceKind.ATTEMPT:
            return None
        try:
            require_workspace(workspace)
            if head_branch(workspace.path) != workspace.branch:
                return None
        except WorkloopError:
            return None
        kept_mark(workspace).unlink(missing_ok=True)
        self.in_use.add(workspace.path)
        return tree_of(workspace)

    def put_away(self, tree: WorkTree, reason: str, *, keep: bool = False) -> PutAway:
        """Save what is not committed, then remove the tree when nothing would be lost."""
        workspace = read_record(tree.path)
        if workspace is None:
            return PutAway(path=tree.path, stays="it has no record of the loop")
        return self.put_by(workspace, reason, keep=keep)

    def put_by(self, workspace: Workspace, reason: str, *, keep: bool = False) -> PutAway:
        """Save and remove a recorded work tree; what cannot be removed stays and is told."""
        try:
            done = self.put(workspace, reason, keep=keep)
            return replace(done, unsent=self.send()) if self.offsite is not None else done
        finally:
            self.in_use.discard(workspace.path)
            self.sized.clear()

    def put(self, workspace: Workspace, reason: str, *, keep: bool) -> PutAway:
        """Do so; what this process made is in use until then."""
        path = workspace.path
        try:
            receive(path, ended=True)
            break_stale_locks(workspace)
            saved = salvage(workspace, reason=reason)
            self.write_down(workspace, saved)
        except (WorkloopError, OSError) as unknown:
            return PutAway(path=path, stays=str(unknown))
        try:
            if keep:
                kept_mark(workspace).touch()
                return PutAway(path=path, saved=saved.ref, files=saved.files)
            remove(self.repository, workspace, saved)
            kept_mark(workspace).unlink(missing_ok=True)
        except (WorkloopError, OSError) as refused:
            return PutAway(path=path, saved=saved.ref, files=saved.files, stays=str(refused))
        return PutAway(path=path, saved=saved.ref, files=saved.files)

    def rooms(self, tree: Path) -> Rooms:
        """Return the tree and what git must write for its commits; a checkout only reads the objects it shares."""
        record = read_record(tree)
        return git_rooms(tree, None if record is None else record.branch or None)

    def receive(self, tree: Path) -> tuple[str, ...]:
        """Take over what an ended session committed behind walls; returns what was refused of it."""
        return receive(tree, ended=True).refused

    def recover(self, spared: frozenset[Path]) -> tuple[PutAway, ...]:
        """Put away every folder that a dead loop left, its checks ended."""
        left = [one for one in leftovers(self.repository.state_dir) if not one.maker_runs]
        with ThreadPoolExecutor(TREES_AT_ONCE) as threads:
            return tuple(threads.map(self.recovered, left, repeat(spared)))

    def recovered(self, left: Leftover, spared: frozenset[Path]) -> PutAway:
        """Put one folder of a dead loop away."""
        workspace = left.workspace
        if workspace.kind is WorkspaceKind.ATTEMPT and workspace.ready and left.present:
            waits = workspace.path in spared or kept_mark(workspace).exists()
            return self.put_by(workspace, LOOP_KILLED, keep=waits)
        try:
            if workspace.kind is not WorkspaceKind.ATTEMPT:
                require_dead(workspace.path, end_orphans(workspace.path))
            remove(self.repository, workspace)
        except WorkloopError as refused:
            return PutAway(path=workspace.path, stays=str(refused))
        return PutAway(path=workspace.path)

    def room(self) -> str:
        """Say why the disk leaves no room for another work tree; nothing when it does."""
        least, most = self.disk.free_bytes_min, self.disk.trees_bytes_max
        for place in (self.repository.state_dir, self.repository.common_dir):
            free = shutil.disk_usage(place).free
            if free < least:
                return f"{free} bytes are free at {place}, less than disk.free_bytes_min, {least}"
        if most:
            total = self.size()
            if total > most:
                return f"the work trees take {total} bytes, more than disk.trees_bytes_max, {most}"
        return ""

    def write_down(self, workspace: Workspace, saved: Salvage) -> None:
        """Note what an attempt brought, saved or committed, to be sent where the operator wants a copy."""
        sha = saved.sha or commit_of(workspace.path, "HEAD")
        if self.offsite is not None and sha is not None and not is_ancestor(workspace.repo, sha, workspace.base_sha):
            note_unsent(workspace, sha)

    def send(self) -> str:
        """Send what is not on the remote yet; says what is wrong with that."""
        if self.offsite is None:
            return ""
        try:
            with repository_lock(self.repository, "offsite"):
                sent = send_all(self.offsite)
        except WorkloopError as failed:
            return str(failed)
        return "; ".join(sorted({one.reason for one in sent.values() if one.reason}))

    def size(self) -> int:
        """Return what all trees take on disk; that is looked at once a minute at most."""
        if not self.sized or time.monotonic() >= self.sized[0][0] + SIZED_SECONDS:
            total = sum(size_on_disk(one.workspace.path) for one in recorded(self.repository))
            self.sized[:] = [(time.monotonic(), total)]
        return self.sized[0][1]

    def collect(self, now: Instant) -> tuple[PutAway, ...]:
        """Remove the trees that are beyond the bounds of the disk and hold nothing, and tell of those that stay."""
        keep = keep_of(self.disk)
        self.sized.clear()
        self.send()
        entries = gc(self.repository, keep=keep, now=now, live=frozenset(self.in_use), running=True, dry_run=False)
        for entry in entries:
            if entry.removed:
                kept_mark(entry.workspace).unlink(missing_ok=True)
        return tuple(PutAway(path=entry.workspace.path) for entry in entries if entry.removed)


def keep_of(disk: DiskConfig) -> Keep:
    """Return the bounds of the trees that stay."""
    return Keep(
        age_us=seconds_us(disk.trees_days * DAY_SECONDS), count=disk.trees_max, bytes=disk.trees_bytes_max or None
    )


def kept_mark(workspace: Workspace) -> Path:
    """Return the file whose being there says that a work tree waits to be gone on with."""
    return workspace.path.with_name(workspace.path.name + KEPT)


def tree_of(workspace: Workspace) -> WorkTree:
    """Return what the loop may know of a recorded folder."""
    return WorkTree(path=workspace.path, branch=workspace.branch, base=workspace.base_sha, start=workspace.start_sha)


def require_dead(folder: Path, survivors: tuple[int, ...]) -> None:
    """Raise IntegrityFault naming the processes that still run in a folder."""
    if survivors:
        raise IntegrityFault("CHECK_ALIVE", f"processes {list(survivors)} survive in {folder}", hint="end them by hand")
