"""What a commit may bring into a runtime, read from git's objects so that no filter, attribute or hook has a say."""

import hashlib
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workloop.domain.errors import BadRequest, IntegrityFault, NotFound, Refusal
from workloop.repair.runtimes.manifest import FULL_SHA, parents_of
from workloop.runner.git import ANY_FAILURE, GitCall, git, printable

FILES_MAX = 20_000
FILE_BYTES_MAX = 32 * 1024 * 1024
TOTAL_BYTES_MAX = 1024 * 1024 * 1024
BATCH_BYTES_MAX = 32 * 1024 * 1024
NAME_BYTES_MAX = 255
PATH_BYTES_MAX = 1_024
MODES = {"100644": 0o444, "100755": 0o555}
REFUSED_MODES = {"120000": "is a symbolic link", "160000": "is a submodule", "100664": "has an outdated mode"}
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """One file of a commit that has not been read yet."""

    path: str
    mode: int
    size: int
    object_id: str


class Content(NamedTuple):
    """One file of a commit, read."""

    blob: Blob
    data: bytes


def blobs_of(repository: Path, commit: str) -> tuple[Blob, ...]:
    """List the files of exactly this commit by path; raises for a name that is not one and for what it may not hold."""
    if not FULL_SHA.fullmatch(commit):
        raise BadRequest(
            "RUNTIME_COMMIT_NOT_FULL",
            f"{printable(commit)[:80]} is no full commit SHA in lower case",
            hint="git rev-parse HEAD",
        )
    kind = git(repository, "cat-file", "-t", commit, call=ANY_FAILURE)
    if kind.exit_code or kind.text != "commit":
        raise NotFound("RUNTIME_COMMIT_UNKNOWN", f"{commit} is no commit of {repository}", hint="fetch it first")
    listed = git(repository, "ls-tree", "-r", "-z", "-l", "--full-tree", commit).raw
    blobs = tuple(blob_of(row) for row in listed.split(b"\0") if row)
    refuse_together(blobs, commit)
    return tuple(sorted(blobs, key=lambda blob: blob.path.encode()))


def blob_of(row: bytes) -> Blob:
    """Read one row of git's list; raises Refusal for anything but a plain file with a plain name."""
    facts, _, name = row.partition(b"\t")
    mode, kind, object_id, size = facts.decode("ascii").split()
    path = os.fsdecode(name)
    if mode not in MODES or kind != "blob":
        raise refused(path, REFUSED_MODES.get(mode, f"has the mode {mode}"))
    if why := name_problem(name):
        raise refused(path, why)
    if int(size) > FILE_BYTES_MAX:
        raise refused(path, f"is larger than {FILE_BYTES_MAX} bytes")
    return Blob(path=path, mode=MODES[mode], size=int(size), object_id=object_id)


def name_problem(name: bytes) -> str:
    """Say what keeps a path out of a runtime; empty when nothing does."""
    try:
        path = name.decode("utf-8")
    except UnicodeDecodeError:
        return "has a name that is not UTF-8"
    if len(name) > PATH_BYTES_MAX:
        return f"has a path of more than {PATH_BYTES_MAX} bytes"
    for part in path.split("/"):
        if part in ("", ".", "..") or part.casefold() == ".git":
            return "has a name that stands for another place"
        if len(part.encode()) > NAME_BYTES_MAX:
            return f"has a name of more than {NAME_BYTES_MAX} bytes"
        if "\\" in part or any(unicodedata.category(character) in HIDDEN for character in part):
            return "has a name with a backslash or a character that cannot be seen"
    return ""


def refuse_together(blobs: tuple[Blob, ...], commit: str) -> None:
    """Refuse files that are fine one by one: none at all, too many, too large, or names that only look different."""
    if not blobs:
        raise Refusal("RUNTIME_REFUSED", f"{commit} holds no file", hint="build a commit that holds a harness")
    if len(blobs) > FILES_MAX or sum(blob.size for blob in blobs) > TOTAL_BYTES_MAX:
        raise Refusal(
            "RUNTIME_REFUSED",
            f"{commit} holds more than {FILES_MAX} files or {TOTAL_BYTES_MAX} bytes",
            hint="keep a harness in a repository of its own",
        )
    seen: dict[str, str] = {}
    for path in sorted({part for blob in blobs for part in (*parents_of(blob.path), blob.path)}):
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        if seen.setdefault(folded, path) != path:
            raise refused(path, f"differs from {printable(seen[folded])} only in case or composition")


def contents_of(repository: Path, blobs: tuple[Blob, ...]) -> Iterator[Content]:
    """Read files in bounded batches; raises IntegrityFault where the repository's object is not what its id says."""
    for batch in batches_of(blobs):
        asked = "".join(f"{blob.object_id}\n" for blob in batch).encode()
        answer = git(repository, "cat-file", "--batch", call=GitCall(stdin=asked)).raw
        at = 0
        for blob in batch:
            end_of_head = answer.index(b"\n", at)
            start = end_of_head + 1
            data = answer[start : start + blob.size]
            at = start + blob.size + 1
            if answer[at - 1 : at] != b"\n" or object_id_of(data, len(blob.object_id)) != blob.object_id:
                raise IntegrityFault(
                    "OBJECT_DAMAGED",
                    f"{printable(blob.path)} is not what its object id says",
                    hint="run git fsck in the repository",
                )
            yield Content(blob, data)


def batches_of(blobs: tuple[Blob, ...]) -> Iterator[list[Blob]]:
    """Cut a list of files into pieces that fit into memory."""
    batch: list[Blob] = []
    size = 0
    for blob in blobs:
        if batch and size + blob.size > BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
        batch.append(blob)
        size += blob.size
    if batch:
        yield batch


def object_id_of(data: bytes, digits: int) -> str:
    """Compute the id that git gives a file's bytes, in a repository of either hash."""
    framed = b"blob %d\0" % len(data) + data
    return (
        hashlib.sha256(framed).hexdigest() if digits == 64 else hashlib.sha1(framed, usedforsecurity=False).hexdigest()
    )


def refused(path: str, why: str) -> Refusal:
    """Say which file keeps a commit from being built, and why."""
    return Refusal(
        "RUNTIME_REFUSED",
        f"{printable(path)} {why}",
        hint="a runtime holds plain files with plain names; change the commit",
        path=printable(path),
    )
