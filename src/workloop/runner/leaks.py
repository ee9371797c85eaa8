"""Which versions of files a history would bring along that must not leave: secrets by name or content, and too much."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from workloop.runner.git import GitCall, git, printable
from workloop.runner.gitfacts import tree_paths
from workloop.runner.repository import Repository
from workloop.runner.snapshot import FILE_BYTES_MAX, SECRET_CONTENT, TOTAL_BYTES_MAX, looks_secret

SHOWN_MAX = 10
READ_BYTES_MAX = 32 * 1024 * 1024
IN_ALL = "its files are too big in all"


class Version(NamedTuple):
    """One version of a file that is new in a history."""

    blob: str
    path: str
    size: int


def leaks(repository: Repository, sha: str, *known: str) -> tuple[str, ...]:
    """Return what must not leave of a history: each path with what is wrong, its content never.

    Every commit counts that none of the known ones contains, as taking a file out later leaves it in the history; a
    name counts only where it is new against the first of them.
    """
    versions = list(_new_versions(repository, sha, known))
    named = {one.path for one in versions if looks_secret(PurePosixPath(one.path).name)}
    named -= set(tree_paths(repository.path, known[0])) if named else set()
    wrong = {one: reason for one in versions if (reason := _wrong_outside(one, named))}
    readable = [one for one in versions if one not in wrong]
    wrong |= dict.fromkeys(_secret_inside(repository, readable), "looks like a secret by its content")
    found = sorted({f"{printable(one.path)} {reason}" for one, reason in wrong.items()})
    if found:
        return tuple(found)
    return (IN_ALL,) if sum(one.size for one in versions) > TOTAL_BYTES_MAX else ()


def shown(found: Sequence[str]) -> tuple[str, ...]:
    """Return the first findings, and how many more there are."""
    more = len(found) - SHOWN_MAX
    return (*found[:SHOWN_MAX], *([f"{more} more"] if more > 0 else []))


def _new_versions(repository: Repository, sha: str, known: Sequence[str]) -> Iterator[Version]:
    listed = git(repository.path, "rev-list", "--objects", sha, "--not", *known).text.split("\n")
    paths = {name: path for name, _, path in (line.partition(" ") for line in listed) if path}
    if not paths:
        return
    asked = GitCall(stdin="".join(f"{name}\n" for name in paths).encode("ascii"))
    for line in git(repository.path, "cat-file", "--batch-check", call=asked).text.splitlines():
        name, kind, *size = line.split(" ")
        if kind == "blob":
            yield Version(name, paths[name], int(size[0]))


def _wrong_outside(one: Version, named: set[str]) -> str:
    if one.size > FILE_BYTES_MAX:
        return "is too big"
    if one.path in named:
        return "looks like a secret by its name"
    return ""


def _secret_inside(repository: Repository, versions: Sequence[Version]) -> list[Version]:
    """Return the versions whose content looks secret; they are read together, and apart only where one does."""
    found: list[Version] = []
    batch: list[Version] = []
    for one in versions:
        if batch and sum(known.size for known in batch) + one.size > READ_BYTES_MAX:
            found += _secret_in_batch(repository, batch)
            batch = []
        batch.append(one)
    return found + (_secret_in_batch(repository, batch) if batch else [])


def _secret_in_batch(repository: Repository, batch: Sequence[Version]) -> list[Version]:
    asked = GitCall(stdin="".join(f"{one.blob}\n" for one in batch).encode("ascii"))
    if not SECRET_CONTENT.search(git(repository.path, "cat-file", "--batch", call=asked).raw):
        return []
    return [one for one in batch if SECRET_CONTENT.search(git(repository.path, "cat-file", "blob", one.blob).raw)]
