"""What a candidate changed, read from git's objects alone: no rename, quoting or work tree has a say in it."""

import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from workloop.runner.git import GitCall, git

GONE = "000000"
FILE_MODES = frozenset({"100644", "100755"})
BLOB_BYTES_MAX = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One path that differs between two commits; a rename is two of them."""

    path: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str

    @property
    def is_gone(self) -> bool:
        """Tell whether the newer commit does not have it any more."""
        return self.new_mode == GONE

    @property
    def is_file(self) -> bool:
        """Tell whether the newer commit has a plain file there."""
        return self.new_mode in FILE_MODES


def changes_between(repository: Path, base: str, candidate: str) -> tuple[Change, ...]:
    """List every path that differs between two commits."""
    asked = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, candidate)
    fields = git(repository, *asked).fields
    return tuple(_change(facts, path) for facts, path in zip(fields[::2], fields[1::2], strict=True))


def blob(repository: Path, object_id: str) -> bytes:
    """Read a file of a commit, as it is."""
    return git(repository, "cat-file", "blob", object_id, call=GitCall(output_bytes_max=BLOB_BYTES_MAX)).raw


def blob_at(repository: Path, commit: str, path: str) -> bytes | None:
    """Read a plain file of a commit by its path; None when the commit has none there."""
    listed = git(repository, "ls-tree", "-z", "--full-tree", commit, "--", path, call=LITERAL).fields
    facts, _, name = listed[0].partition("\t") if len(listed) == 1 else ("", "", "")
    mode, _, rest = facts.partition(" ")
    return blob(repository, rest.partition(" ")[2]) if mode in FILE_MODES and name == path else None


def folded(path: str) -> str:
    """Write a path as a file system would that tells neither case, composition nor endings of dots apart."""
    plain = os.fsencode(path).decode("utf-8", "backslashreplace")
    same = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", plain).casefold())
    return "/".join(part.rstrip(" .") or part for part in same.split("/"))


def by_folded(paths: Iterable[str]) -> Mapping[str, str]:
    """Return the paths by how they are written when nothing is told apart."""
    return {folded(path): path for path in paths}


def _change(facts: str, path: str) -> Change:
    old_mode, new_mode, old_id, new_id, _ = facts.removeprefix(":").split(" ")
    return Change(path=path, old_mode=old_mode, new_mode=new_mode, old_id=old_id, new_id=new_id)


LITERAL = GitCall(env={"GIT_LITERAL_PATHSPECS": "1"})
