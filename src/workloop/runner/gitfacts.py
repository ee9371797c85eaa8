"""What the host asks of a repository, and how it merges and moves a reference without losing anything."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workloop.domain.errors import NotFound
from workloop.runner.git import ANY_FAILURE, PLAIN, YES_OR_NO, GitCall, GitError, RefMovedError, git, printables

NO_COMMIT = "0" * 40
SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
HEADS = "refs/heads/"
OPERATIONS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeEntry:
    """One line of git's own list of worktrees."""

    path: Path
    head: str | None
    branch: str | None
    is_bare: bool


class RefMove(NamedTuple):
    """A reference, where it shall be, and where it must be now."""

    ref: str
    new: str
    expected: str


class Place(NamedTuple):
    """Where a work tree is: its root, the repository's directory, and the directory of its own HEAD and index."""

    root: Path
    common: Path
    own: Path


class Merge(NamedTuple):
    """The commit a merge made, or the paths that conflict."""

    sha: str | None
    conflicts: tuple[str, ...]


def commit_of(cwd: Path, name: str) -> str | None:
    """Return the full SHA of the commit a name stands for, or None."""
    found = git(cwd, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", call=ANY_FAILURE)
    return found.text if found.exit_code == 0 else None


def commits_of(cwd: Path, *names: str) -> tuple[str | None, ...]:
    """Return the full SHA of each name's commit, or None, in one question."""
    return objects_of(cwd, *(f"{name}^{{commit}}" for name in names))


def objects_of(cwd: Path, *names: str) -> tuple[str | None, ...]:
    """Return the full SHA of what each name stands for, or None, in one question; no name holds a line break."""
    asked = GitCall(stdin=os.fsencode("".join(f"{name}\n" for name in names)))
    lines = git(cwd, "cat-file", "--batch-check=%(objectname)", call=asked).text.split("\n")
    return tuple(line if SHA.fullmatch(line) else None for line in lines)


def tree_of(cwd: Path, sha: str) -> str:
    """Return the tree of a commit."""
    return git(cwd, "rev-parse", "--verify", f"{sha}^{{tree}}").text


def is_ancestor(cwd: Path, older: str, newer: str) -> bool:
    """Say whether older is newer, or one of its ancestors."""
    return git(cwd, "merge-base", "--is-ancestor", older, newer, call=YES_OR_NO).exit_code == 0


def commits_between(cwd: Path, base: str, tip: str) -> int:
    """Count the commits of tip that base does not have."""
    return int(git(cwd, "rev-list", "--count", f"{base}..{tip}").text)


def changed_paths(cwd: Path, old: str, new: str) -> tuple[str, ...]:
    """Return the paths that differ between two commits; a rename counts as both of its paths."""
    return tuple(git(cwd, "diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new).fields)


def changes_of(cwd: Path, old: str, new: str) -> dict[str, bool]:
    """Return the same paths and of each whether the newer commit still has it."""
    fields = git(cwd, "diff-tree", "-r", "-z", "--name-status", "--no-renames", old, new).fields
    return {path: status != "D" for status, path in zip(fields[::2], fields[1::2], strict=True)}


def tree_paths(cwd: Path, sha: str) -> tuple[str, ...]:
    """Return every path of a commit."""
    return tuple(git(cwd, "ls-tree", "-r", "-z", "--name-only", "--full-tree", sha).fields)


def unmerged_paths(worktree: Path) -> tuple[str, ...]:
    """Return the paths whose merge is not resolved."""
    entries = git(worktree, "ls-files", "--unmerged", "-z", "--full-name").fields
    return tuple(sorted({entry.partition("\t")[2] for entry in entries}))


def dirty_paths(worktree: Path, *, untracked: bool = True, call: GitCall = PLAIN) -> tuple[str, ...]:
    """Return what differs from HEAD in the index or the work tree; untracked means new and not ignored.

    Into submodules nobody looks: their own settings could name programs that git would run.
    """
    shown = "--untracked-files=all" if untracked else "--untracked-files=no"
    flags = ("--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty", shown)
    return tuple(entry[3:] for entry in git(worktree, "status", *flags, call=call).fields)


def hidden_paths(worktree: Path, *, call: GitCall = PLAIN) -> tuple[str, ...]:
    """Return the paths whose changes status does not show: assume-unchanged or skip-worktree."""
    entries = git(worktree, "ls-files", "-v", "-z", "--full-name", call=call).fields
    return tuple(entry[2:] for entry in entries if entry[0].islower() or entry[0] == "S")


def git_dir(worktree: Path) -> Path:
    """Return the directory that holds a worktree's own HEAD and index."""
    return Path(git(worktree, "rev-parse", "--absolute-git-dir").text)


def place_of(worktree: Path) -> Place | None:
    """Return where git finds a work tree, in one question, or None when there is none."""
    asked = ("--show-toplevel", "--git-common-dir", "--absolute-git-dir")
    found = git(worktree, "rev-parse", "--path-format=absolute", *asked, call=ANY_FAILURE)
    if found.exit_code != 0:
        return None
    parts = found.text.split("\n")
    if len(parts) != len(asked):  # a path holds a line break
        parts = [git(worktree, "rev-parse", "--path-format=absolute", one).text for one in asked]
    return Place(*(Path(os.path.realpath(part)) for part in parts))


def common_dir(cwd: Path) -> Path:
    """Return the directory that holds a repository's objects and references, without symbolic links."""
    return Path(os.path.realpath(git(cwd, "rev-parse", "--path-format=absolute", "--git-common-dir").text))


def top_level(cwd: Path) -> Path | None:
    """Return the root of the work tree, or None in a bare repository."""
    found = git(cwd, "rev-parse", "--show-toplevel", call=ANY_FAILURE)
    return Path(os.path.realpath(found.text)) if found.exit_code == 0 and found.text else None


def head_branch(cwd: Path) -> str | None:
    """Return the branch HEAD stands on, or None when it is detached."""
    found = git(cwd, "symbolic-ref", "--quiet", "HEAD", call=YES_OR_NO)
    return found.text.removeprefix(HEADS) if found.exit_code == 0 else None


def worktrees(cwd: Path) -> tuple[WorktreeEntry, ...]:
    """Return git's list of worktrees, the main one first."""
    blocks = os.fsdecode(git(cwd, "worktree", "list", "--porcelain", "-z").raw).split("\0\0")
    return tuple(_entry(block) for block in blocks if block.strip("\0"))


def operation_under_way(worktree: Path) -> str | None:
    """Name the merge, rebase or other operation that is not finished in a worktree, or None."""
    directory = git_dir(worktree)
    return next((name for name in OPERATIONS if (directory / name).exists()), None)


def reachable_from_refs(cwd: Path, sha: str) -> bool:
    """Say whether some reference, and not only a worktree's HEAD, keeps a commit."""
    return bool(git(cwd, "for-each-ref", "--count=1", "--contains", sha, "--format=%(refname)").text)


def move_ref(cwd: Path, ref: str, new: str, expected: str) -> None:
    """Set a reference that still is where expected (NO_COMMIT: absent); raises RefMovedError otherwise."""
    move_refs(cwd, [RefMove(ref, new, expected)])


def move_refs(cwd: Path, moves: Sequence[RefMove]) -> None:
    """Set references in one transaction: all of them, or none; raises RefMovedError when one is elsewhere."""
    lines = "".join(f"update {move.ref}\0{move.new}\0{move.expected}\0" for move in moves)
    call = GitCall(accept=(0, 1, 128), stdin=os.fsencode(lines))
    moved = git(cwd, "update-ref", "--stdin", "-z", call=call)
    if moved.exit_code == 0:
        return
    for move in moves:
        actual = commit_of(cwd, move.ref)
        if (actual or NO_COMMIT) != move.expected:
            message = f"{move.ref} is at {actual or 'nothing'}, not at {move.expected}"
            raise RefMovedError("REF_MOVED", message, ref=move.ref, actual=actual)
    raise GitError("REF_NOT_WRITTEN", f"a reference was not moved: {moved.error.strip()}", retryable=True)


def merge_into(worktree: Path, sha: str, message: str) -> Merge:
    """Merge a commit into a clean worktree; a conflict is undone and its paths returned."""
    merged = git(worktree, "merge", "--no-ff", "--no-edit", "-m", message, sha, call=ANY_FAILURE)
    if merged.exit_code == 0:
        return Merge(commit_of(worktree, "HEAD"), ())
    conflicts = unmerged_paths(worktree)
    if operation_under_way(worktree) == "MERGE_HEAD":
        git(worktree, "merge", "--abort")
    if not conflicts:
        raise GitError("MERGE_FAILED", f"git merge failed: {merged.error.strip()}", stderr=merged.error)
    return Merge(None, printables(conflicts))


def require_commit(cwd: Path, name: str) -> str:
    """Return the full SHA of a commit; raises NotFound when there is none."""
    sha = commit_of(cwd, name)
    if sha is None:
        raise NotFound("COMMIT_NOT_FOUND", f"no commit is named {name!r}", hint="give a commit this repository has")
    return sha


def _entry(block: str) -> WorktreeEntry:
    facts: dict[str, str] = {}
    for line in block.split("\0"):
        name, _, value = line.partition(" ")
        facts[name] = value
    branch = facts.get("branch")
    return WorktreeEntry(
        path=Path(facts["worktree"]),
        head=facts.get("HEAD"),
        branch=branch.removeprefix(HEADS) if branch else None,
        is_bare="bare" in facts,
    )


def commit_identity(path: Path) -> dict[str, str]:
    """Return the variables under which a session commits: the operator's name, or Workloop's where none is set."""
    name = git(path, "config", "user.name", call=ANY_FAILURE).text or "Workloop session"
    email = git(path, "config", "user.email", call=ANY_FAILURE).text or "workloop@localhost"
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }
