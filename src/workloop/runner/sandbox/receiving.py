"""How what a session brought into its stand-in becomes part of the repository: each object only under its true name."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from workloop.runner.git import ANY_FAILURE, YES_OR_NO, GitCall, GitError, git
from workloop.runner.gitfacts import HEADS, NO_COMMIT, SHA, commit_of, move_ref
from workloop.runner.sandbox.objects import take_large, take_loose, take_packs
from workloop.runner.sandbox.quarantine import RECORD, STAND_IN, read_record, refs_in, write_record
from workloop.runner.sandbox.untrusted import read_below, walk_below
from workloop.runner.sandbox.worktreeplace import LinkedPlace, line_of, linked_place

REF_BYTES_MAX = 512
PACKED_BYTES_MAX = 64 * 1024 * 1024
REFS_MAX = 1_000
KEPT = "refs/workloop/side/"


class Received(NamedTuple):
    """What came in: how many objects, where the branch is now if it moved, and what was refused and why."""

    objects: int = 0
    tip: str | None = None
    refused: tuple[str, ...] = ()


def receive(worktree: Path, *, ended: bool = False) -> Received:
    """Take over what the sessions of a work tree brought into git so far; cheap where there is nothing.

    With ended, which needs their proven death, references beside the item's branch are kept on the side and a HEAD that
    stands on one of them is put on its commit. Raises RefMovedError when the branch was moved by somebody else.
    """
    place = linked_place(worktree)
    return Received() if place is None else received_at(place, ended=ended)


def received_at(place: LinkedPlace, *, ended: bool) -> Received:
    """Do so for a place that was looked up, of which the work tree itself may be gone."""
    stand_in = place.quarantine / STAND_IN
    if not stand_in.is_dir():
        return Received()
    branch, known = read_record(place)
    count, refused = take_loose(stand_in / "objects", place.common / "objects")
    more, bad_packs = take_packs(stand_in / "objects", place)
    refused += bad_packs
    refused += take_large(stand_in, place.common)
    refs = refs_of(stand_in)
    tip = None
    if branch is not None:
        tip = take_branch(place, branch, refs.get(HEADS + branch), known, refused)
    if ended:
        refused += links_taken_away(place.own)
        keep_others(place, branch, refs, known, refused)
    return Received(count + more, tip, tuple(refused))


def clear_gone(common: Path) -> None:
    """Drop the stand-ins whose work trees are gone, when what is in them was received; another one stays."""
    for quarantine in (common / "workloop").glob("*"):
        own = common / "worktrees" / quarantine.name
        if own.exists() or not (quarantine / RECORD).is_file():
            continue
        try:
            received_at(LinkedPlace(quarantine, own, common), ended=True)
            shutil.rmtree(quarantine)
        except GitError:  # somebody else moved the branch: what is there may be the only copy
            continue
        except FileNotFoundError:  # somebody else has received it a moment ago and takes it away
            continue


def refs_of(stand_in: Path) -> dict[str, str]:
    """Read the stand-in's references, without git: a reference that is none by its form is left out."""
    found = refs_in(read_below(stand_in, "packed-refs", PACKED_BYTES_MAX) or b"")
    for name in walk_below(stand_in, "refs", REFS_MAX):
        found[name] = os.fsdecode(read_below(stand_in, name, REF_BYTES_MAX) or b"").strip()
    return {name: sha for name, sha in found.items() if SHA.fullmatch(sha)}


def take_branch(
    place: LinkedPlace, branch: str, new: str | None, known: dict[str, str], refused: list[str]
) -> str | None:
    """Move the item's branch to where the session put it, when all that it stands for is there."""
    ref = HEADS + branch
    old = known.get(ref, NO_COMMIT)
    if new is None or new == old:
        return None
    if commit_of(place.common, ref) == new:  # an earlier call was ended between moving it and writing that down
        write_record(place, branch, {**known, ref: new})
        return new
    if not is_whole(place, new, old):
        refused.append(f"{ref}: {new} is no commit with all that it stands for")
        return None
    move_ref(place.common, ref, new, old)
    write_record(place, branch, {**known, ref: new})
    known[ref] = new
    return new


def is_whole(place: LinkedPlace, new: str, old: str) -> bool:
    """Say whether a commit is there with everything that it stands for, read from our own objects alone."""
    limits = () if old == NO_COMMIT else (f"^{old}",)
    asked = git(place.common, "rev-list", "--objects", "--quiet", f"{new}^{{commit}}", *limits, call=ANY_FAILURE)
    return asked.exit_code == 0


def keep_others(
    place: LinkedPlace, branch: str | None, refs: dict[str, str], known: dict[str, str], refused: list[str]
) -> None:
    """Keep what the session put on references of its own, where nobody takes it for anything else."""
    own = f"{HEADS}{branch}"
    for name, sha in sorted(refs.items()):
        if name == own or known.get(name) == sha:
            continue
        kept = f"{KEPT}{place.own.name}/{name.removeprefix('refs/')}"
        if git(place.common, "check-ref-format", kept, call=YES_OR_NO).exit_code != 0 or not is_whole(
            place, sha, NO_COMMIT
        ):
            refused.append(f"{name}: {sha} is no commit with all that it stands for")
            continue
        line = GitCall(stdin=os.fsencode(f"update {kept}\0{sha}\0\0"))
        git(place.common, "update-ref", "--stdin", "-z", call=line)
    if not place.own.is_dir():
        return
    head = line_of(place.own / "HEAD").removeprefix("ref: ")
    if head != own and head in refs and commit_of(place.common, head) is None:
        git(place.worktree, "update-ref", "--no-deref", "HEAD", refs[head])


def links_taken_away(own: Path) -> list[str]:
    """Remove every link from a work tree's own folder: git would write through it, and makes none there itself."""
    return [f"a link was removed: {name}" for name in unlinked(own)] if own.is_dir() else []


def unlinked(own: Path) -> Iterator[str]:
    """Remove the links of a folder and of all folders in it, and yield their names."""
    for folder, folders, files, at in os.fwalk(own):
        for path in (Path(folder) / name for name in (*folders, *files)):
            if path.is_symlink():
                os.unlink(path.name, dir_fd=at)
                yield str(path.relative_to(own))
