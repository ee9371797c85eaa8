"""How work that a session left uncommitted is kept on a side reference that nothing treats as reviewed."""

from dataclasses import dataclass

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.errors import IntegrityFault
from workloop.runner.contents import Contents, contents_of
from workloop.runner.git import git, printable
from workloop.runner.gitfacts import NO_COMMIT, commit_of, move_ref, reachable_from_refs, tree_of
from workloop.runner.registry import WIP_REFS, Workspace
from workloop.runner.repository import Repository
from workloop.runner.snapshot import Skipped, Snapshot, take_snapshot
from workloop.runner.workspace import require_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """What was saved: the reference and its commit (none when there was nothing), its files, and what was not.

    `contents` is what was seen in the tree, `held` the commit that has all of its files, if there is one.
    """

    ref: str | None
    sha: str | None
    files: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    conflicts: tuple[str, ...] = ()
    operation: str | None = None
    contents: Contents
    held: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """One salvage the repository holds."""

    ref: str
    sha: str
    item_id: str
    attempt: int
    title: str
    made: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageShown:
    """A salvage in full: the commit its session stood on, what was said of it, and each file with its change."""

    salvaged: Salvaged
    stood_on: str | None
    said: str
    files: tuple[tuple[str, str], ...]


def salvage(workspace: Workspace, *, reason: str) -> Salvage:
    """Commit an ended session's uncommitted work to its side reference; the branch and the index stay as they are.

    Raises Refusal when the folder is not the attempt's registered worktree, so that nothing else is ever committed.
    """
    require_workspace(workspace)
    contents = contents_of(workspace.path)
    snapshot = take_snapshot(workspace, contents)
    head, ref = snapshot.head, workspace.salvage_ref
    if head is not None and snapshot.unchanged and reachable_from_refs(workspace.path, head):
        sha = None
    else:
        sha = _saved(workspace, snapshot, reason)
    return Salvage(
        ref=ref if sha else None,
        sha=sha,
        files=snapshot.files,
        skipped=snapshot.skipped,
        conflicts=snapshot.conflicts,
        operation=snapshot.operation,
        contents=contents,
        held=None if snapshot.skipped or snapshot.conflicts else _holder(snapshot, contents, sha),
    )


def _holder(snapshot: Snapshot, contents: Contents, sha: str | None) -> str | None:
    """Return the commit that has all files of a tree; HEAD only where nothing says that they changed."""
    if snapshot.unchanged:
        return None if contents.changed else snapshot.head
    return sha


def _saved(workspace: Workspace, snapshot: Snapshot, reason: str) -> str:
    """Put what nothing else holds on the side reference; returns its commit."""
    head, ref = snapshot.head, workspace.salvage_ref
    previous = commit_of(workspace.repo, ref)
    if head is not None and snapshot.unchanged:
        sha = head
    elif previous and _holds(workspace, previous, snapshot.tree, head):
        sha = previous
    else:
        parents = [name for parent in (head, previous) if parent for name in ("-p", parent)]
        sha = git(workspace.path, "commit-tree", snapshot.tree, *parents, "-m", _message(workspace, reason)).text
    if sha != previous:
        move_ref(workspace.repo, ref, sha, previous or NO_COMMIT)
        if commit_of(workspace.repo, ref) != sha:
            raise IntegrityFault("SALVAGE_NOT_WRITTEN", f"{ref} does not hold what was written", ref=ref)
    return sha


def salvages(repository: Repository) -> tuple[Salvaged, ...]:
    """List what the repository's salvage references hold, oldest first."""
    shape = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)"
    lines = git(repository.path, "for-each-ref", "--sort=committerdate", shape, WIP_REFS).text.splitlines()
    found = [_salvaged(*line.split("\0")) for line in lines]
    return tuple(one for one in found if one is not None)


def read_salvage(repository: Repository, held: Salvaged) -> SalvageShown:
    """Tell what one salvage changed over the commit that its session stood on, and why it was made."""
    parents = git(repository.path, "rev-parse", f"{held.sha}^@").text.splitlines()
    body = git(repository.path, "log", "-1", "--format=%b", held.sha).text.strip()
    empty = git(repository.path, "hash-object", "-t", "tree", "--stdin").text
    base = parents[0] if parents else empty
    shown = git(repository.path, "diff-tree", "-r", "-z", "--no-renames", "--name-status", base, held.sha).fields
    files = tuple(zip(map(printable, shown[1::2]), shown[::2], strict=True))
    return SalvageShown(salvaged=held, stood_on=parents[0] if parents else None, said=body, files=files)


def _salvaged(ref: str, sha: str, when: str, title: str) -> Salvaged | None:
    item_id, _, attempt = ref.removeprefix(WIP_REFS).rpartition("/")
    if not item_id or not attempt.isdecimal():
        return None
    made = Instant(int(when) * SECOND_US)
    return Salvaged(ref=ref, sha=sha, item_id=item_id, attempt=int(attempt), title=title, made=made)


def _holds(workspace: Workspace, previous: str, tree: str, head: str | None) -> bool:
    same_tree = tree_of(workspace.repo, previous) == tree
    return same_tree and commit_of(workspace.repo, f"{previous}^1") == head


def _message(workspace: Workspace, reason: str) -> str:
    return (
        f"UNREVIEWED: salvaged from {workspace.item_id}, attempt {workspace.attempt}\n\n"
        f"Left uncommitted on {workspace.branch} when its session ended: {reason}.\n"
        "Nobody has reviewed or checked this. It is not a candidate.\n"
    )
