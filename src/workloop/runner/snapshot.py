"""How the uncommitted files of a worktree become one git tree without its index being touched, and what stays out."""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from workloop.runner.contents import Contents
from workloop.runner.git import GitCall, GitError, git, printable, printables
from workloop.runner.gitfacts import (
    dirty_paths,
    git_dir,
    hidden_paths,
    objects_of,
    operation_under_way,
    tree_paths,
    unmerged_paths,
)
from workloop.runner.registry import Workspace

FILE_BYTES_MAX = 5 * 1024 * 1024
TOTAL_BYTES_MAX = 64 * 1024 * 1024
EXAMPLE_NAME = re.compile(r"\.(?:example|sample|template|dist)$", re.IGNORECASE)
SECRET_NAME = re.compile(
    r"\.env(?:\..*)?|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx)|id_(?:rsa|dsa|ecdsa|ed25519)(?:\..*)?|credentials.*"
    r"|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.htpasswd|secrets?\.(?:json|ya?ml|toml|ini|txt)",
    re.IGNORECASE,
)
SECRET_CONTENT = re.compile(
    rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{30,}"
    rb"|\bsk-[A-Za-z0-9_-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bglpat-[A-Za-z0-9_-]{20}|\bAIza[0-9A-Za-z_-]{35}"
    rb"|\bnpm_[A-Za-z0-9]{36}|\bpypi-AgEI[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{30,}"
)


class Skipped(NamedTuple):
    """A file left out of a snapshot, and why; it stays where it is."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The work tree as a git tree over HEAD, without what was skipped or conflicts; `unchanged` when it is HEAD's.

    `operation` names a merge, rebase or other operation that is not finished there.
    """

    head: str | None
    tree: str
    unchanged: bool
    files: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    conflicts: tuple[str, ...]
    operation: str | None = None


def take_snapshot(workspace: Workspace, contents: Contents) -> Snapshot:
    """Write the tracked and untracked, not ignored files of a worktree as a tree, through an index of its own."""
    head, head_tree = objects_of(workspace.path, "HEAD^{commit}", "HEAD^{tree}")
    if head_tree is not None and not contents.changed and not contents.hidden:
        return _as_head(workspace, head, head_tree)
    conflicts = set(unmerged_paths(workspace.path))
    with tempfile.TemporaryDirectory(prefix="workloop-index-") as folder:
        call = _own_index(workspace.path, head, Path(folder) / "index")
        dirty = [path for path in dirty_paths(workspace.path, call=call) if path not in conflicts]
        tracked = set(tree_paths(workspace.path, head)) if head and dirty else set[str]()
        reasons = {path: _why_skip(workspace.path, path, is_tracked=path in tracked) for path in dirty}
        reasons |= _too_much(workspace.path, [path for path in dirty if reasons[path] is None])
        taken = [path for path in dirty if reasons[path] is None]
        tree = head_tree if head_tree and not taken else _write_tree(workspace, taken, call)
    skipped = tuple(Skipped(printable(path), reason) for path, reason in sorted(reasons.items()) if reason)
    return Snapshot(
        head=head,
        tree=tree,
        unchanged=tree == head_tree,
        files=printables(taken),
        skipped=skipped,
        conflicts=printables(tuple(conflicts)),
        operation=operation_under_way(workspace.path),
    )


def _as_head(workspace: Workspace, head: str | None, tree: str) -> Snapshot:
    under_way = operation_under_way(workspace.path)
    return Snapshot(head=head, tree=tree, unchanged=True, files=(), skipped=(), conflicts=(), operation=under_way)


def _own_index(worktree: Path, head: str | None, index: Path) -> GitCall:
    """Make an index of HEAD's files; the worktree's own one is copied first for what it knows of unchanged files."""
    call = GitCall(env={"GIT_INDEX_FILE": str(index)})
    if head is None:
        git(worktree, "read-tree", "--empty", call=call)
        return call
    try:
        shutil.copy2(git_dir(worktree) / "index", index)  # with its time: by it git finds files changed in that moment
        git(worktree, "read-tree", "--reset", head, call=call)
        _reveal(worktree, call)
    except (OSError, GitError):
        index.unlink(missing_ok=True)
        git(worktree, "read-tree", head, call=call)
    return call


def _reveal(worktree: Path, call: GitCall) -> None:
    """Take away the flags by which a file that is there could hide its changes."""
    hidden = [path for path in hidden_paths(worktree, call=call) if os.path.lexists(worktree / path)]
    names = b"".join(os.fsencode(path) + b"\0" for path in hidden)
    for flag in ("--no-assume-unchanged", "--no-skip-worktree") if hidden else ():
        git(worktree, "update-index", flag, "-z", "--stdin", call=replace(call, stdin=names))


def _too_much(root: Path, paths: Sequence[str]) -> dict[str, str | None]:
    """Return the biggest files, by which the rest would be more than is saved in all."""
    sizes = sorted((os.lstat(root / path).st_size, path) for path in paths if os.path.lexists(root / path))
    total, over = 0, dict[str, str | None]()
    for size, path in sizes:
        total += size
        if total > TOTAL_BYTES_MAX:
            over[path] = f"the files are larger than {TOTAL_BYTES_MAX // 1024 // 1024} MiB in all"
    return over


def looks_secret(name: str) -> bool:
    """Say whether a file of this name usually holds a secret; an example of such a file does not."""
    return SECRET_NAME.fullmatch(name) is not None and EXAMPLE_NAME.search(name) is None


def _write_tree(workspace: Workspace, taken: Sequence[str], call: GitCall) -> str:
    names = b"".join(os.fsencode(path) + b"\0" for path in taken)
    words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
    git(workspace.path, *words, call=replace(call, stdin=names))
    return git(workspace.path, "write-tree", call=call).text


def _why_skip(root: Path, relative: str, *, is_tracked: bool) -> str | None:
    path = root / relative
    if not os.path.lexists(path):
        return None
    facts = path.lstat()
    if stat.S_ISDIR(facts.st_mode):
        return "a repository inside the worktree"
    if stat.S_ISLNK(facts.st_mode):
        return None
    if not stat.S_ISREG(facts.st_mode):
        return "not a regular file"
    if facts.st_size > FILE_BYTES_MAX:
        return f"larger than {FILE_BYTES_MAX // 1024 // 1024} MiB"
    if not is_tracked and looks_secret(path.name):
        return "its name looks like a secret"
    if SECRET_CONTENT.search(path.read_bytes()):
        return "its content looks like a secret"
    return None
