"""How the uncommitted files of a worktree become one git tree without its index being touched, and what stays out."""

import os
import re
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from workloop.runner.git import GitCall, git, printable, printables
from workloop.runner.gitfacts import dirty_paths, objects_of, tree_paths, unmerged_paths
from workloop.runner.registry import Workspace

FILE_BYTES_MAX = 5 * 1024 * 1024
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
    """The work tree as a git tree over HEAD, without what was skipped or conflicts; `unchanged` when it is HEAD's."""

    head: str | None
    tree: str
    unchanged: bool
    files: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    conflicts: tuple[str, ...]


def take_snapshot(workspace: Workspace) -> Snapshot:
    """Write the tracked and untracked, not ignored files of a worktree as a tree, through an index of its own."""
    head, head_tree = objects_of(workspace.path, "HEAD^{commit}", "HEAD^{tree}")
    conflicts = set(unmerged_paths(workspace.path))
    with tempfile.TemporaryDirectory(prefix="workloop-index-") as folder:
        own = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        git(workspace.path, "read-tree", head or "--empty", call=GitCall(env=own))
        dirty = [path for path in dirty_paths(workspace.path, call=GitCall(env=own)) if path not in conflicts]
        tracked = set(tree_paths(workspace.path, head)) if head and dirty else set[str]()
        reasons = {path: _why_skip(workspace.path, path, is_tracked=path in tracked) for path in dirty}
        taken = [path for path in dirty if reasons[path] is None]
        tree = head_tree if head_tree and not taken else _write_tree(workspace, taken, GitCall(env=own))
    skipped = tuple(Skipped(printable(path), reason) for path, reason in sorted(reasons.items()) if reason)
    return Snapshot(
        head=head,
        tree=tree,
        unchanged=tree == head_tree,
        files=printables(taken),
        skipped=skipped,
        conflicts=printables(tuple(conflicts)),
    )


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
    if not is_tracked and SECRET_NAME.fullmatch(path.name) and not EXAMPLE_NAME.search(path.name):
        return "its name looks like a secret"
    if SECRET_CONTENT.search(path.read_bytes()):
        return "its content looks like a secret"
    return None
