"""Which folders of the loop may go by age, number and room, why that is safe, and which builds in them may go alone."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from workloop.domain.clock import Instant
from workloop.domain.errors import WorkloopError
from workloop.runner.contents import contents_of
from workloop.runner.nested import is_output
from workloop.runner.registry import Leftover, Workspace, WorkspaceKind, leftovers
from workloop.runner.removal import look_into, remove
from workloop.runner.repository import Repository, confined
from workloop.runner.workspace import require_workspace

BLOCK_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How old, how many and how big in all the trees may be that stay; what breaks one bound is due; None is none."""

    age_us: int | None = None
    count: int | None = None
    bytes: int | None = None


NOTHING = Keep(count=0)
BEGINNING = Instant(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcEntry:
    """What would happen to one recorded folder, and why; `used` when somebody works in it."""

    workspace: Workspace
    safe: bool
    reason: str
    bytes_on_disk: int
    removed: bool = False
    used: bool = False


class Pruned(NamedTuple):
    """One declared output folder in a tree, what it takes on disk, and whether it is gone."""

    path: Path
    bytes_on_disk: int
    removed: bool


def gc(
    repository: Repository,
    *,
    keep: Keep = NOTHING,
    now: Instant = BEGINNING,
    live: frozenset[Path] = frozenset(),
    running: bool = False,
    dry_run: bool = True,
) -> tuple[GcEntry, ...]:
    """List this repository's folders, oldest first, and remove those that are due and safe, unless it is a dry run.

    Live folders and those of another running loop are never due; called by a `running` loop, neither is what it made
    itself for checks and merges, or is about to make. What holds work stays, whatever the bounds say.
    """
    known = recorded(repository)
    sizes = {one.workspace.path: size_on_disk(one.workspace.path) for one in known}
    entries: list[GcEntry] = []
    for one, stays in zip(known, kept(known, sizes, keep, now), strict=True):
        size = sizes[one.workspace.path]
        used = in_use(one, live, running=running)
        if used or stays:
            entry = _entry(one.workspace, used or stays, size, safe=False, used=bool(used))
        else:
            entry = _judged(repository, one, size)
        entries.append(entry if dry_run or not entry.safe else _removed(repository, entry))
    return tuple(entries)


def recorded(repository: Repository) -> list[Leftover]:
    """Return the folders that the loop recorded for one repository, oldest first."""
    return [one for one in leftovers(repository.state_dir) if one.workspace.common_dir == repository.common_dir]


def kept(known: Sequence[Leftover], sizes: dict[Path, int], keep: Keep, now: Instant) -> list[str]:
    """Say of each folder, oldest first, why the bounds let it stay; nothing when it is due. Only attempts may stay."""
    said: list[str] = []
    count, total = 0, 0
    for one in reversed(known):
        workspace = one.workspace
        if workspace.kind is not WorkspaceKind.ATTEMPT or not workspace.ready or not one.present:
            said.append("")
            continue
        count, total = count + 1, total + sizes[workspace.path]
        old = keep.age_us is not None and now - workspace.created >= keep.age_us
        many = keep.count is not None and count > keep.count
        much = keep.bytes is not None and total > keep.bytes
        said.append("" if old or many or much else "it is within the bounds of age, number and room")
    return said[::-1]


def in_use(one: Leftover, live: frozenset[Path], *, running: bool) -> str:
    """Say that somebody works in a folder, as far as can be known."""
    is_own = one.workspace.kind is not WorkspaceKind.ATTEMPT or not one.workspace.ready
    if one.maker_runs:
        return "the loop that made it is running"
    if one.workspace.path in live or (running and one.made_here and is_own):
        return "a session or a check works in it"
    return ""


def prune_outputs(
    repository: Repository, *, live: frozenset[Path] = frozenset(), dry_run: bool = True
) -> tuple[Pruned, ...]:
    """Remove the declared output folders that git ignores as a whole from trees nobody works in; sources stay."""
    found: list[Pruned] = []
    for one in recorded(repository):
        workspace = one.workspace
        ours = workspace.kind is WorkspaceKind.ATTEMPT and workspace.ready and one.present
        if ours and not one.maker_runs and workspace.path not in live:
            found += [_pruned(path, dry_run=dry_run) for path in outputs_in(repository, workspace)]
    return tuple(found)


def outputs_in(repository: Repository, workspace: Workspace) -> list[Path]:
    """Return the ignored folders of a tree that were declared as outputs; a link is none."""
    require_workspace(workspace)
    root = confined(repository, workspace.path)
    ignored = contents_of(root).ignored if repository.outputs else ()
    named = [root / path for path in ignored if is_output(path, repository.outputs)]
    return [path for path in named if path.is_dir() and Path(os.path.realpath(path)) == path]


def size_on_disk(path: Path) -> int:
    """Return what a folder takes on disk, following no link."""
    if path.is_symlink() or not path.is_dir():
        return 0
    inside = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(one.lstat().st_blocks * BLOCK_BYTES for one in inside if os.path.lexists(one))


def _pruned(path: Path, *, dry_run: bool) -> Pruned:
    size = size_on_disk(path)
    if not dry_run:
        shutil.rmtree(path)
    return Pruned(path, size, removed=not dry_run)


def _judged(repository: Repository, one: Leftover, size: int) -> GcEntry:
    workspace = one.workspace
    if not one.present:
        return _entry(workspace, "the folder is gone already", size, safe=True)
    if not workspace.ready:
        return _entry(workspace, "it was never made to the end, so nobody worked in it", size, safe=True)
    if workspace.kind is not WorkspaceKind.ATTEMPT:
        return _entry(workspace, "the host made it for checks or a merge; it holds no work", size, safe=True)
    try:
        found = look_into(workspace, repository.outputs)
    except WorkloopError as unknown:
        return _entry(workspace, f"what it holds cannot be told: {unknown.message}", size, safe=False)
    if found.losses:
        told = "; ".join(f"{loss.what} ({len(loss.paths)})" for loss in found.losses)
        return _entry(workspace, f"would lose {told}", size, safe=False)
    files = f"its files are saved in {workspace.salvage_ref}" if found.held is not None else "it is clean"
    return _entry(workspace, f"{files}, and every commit is on a reference", size, safe=True)


def _removed(repository: Repository, entry: GcEntry) -> GcEntry:
    try:
        remove(repository, entry.workspace)
    except WorkloopError as refused:
        return replace(entry, safe=False, reason=refused.message)
    return replace(entry, removed=True)


def _entry(workspace: Workspace, reason: str, size: int, *, safe: bool, used: bool = False) -> GcEntry:
    return GcEntry(workspace=workspace, safe=safe, reason=reason, bytes_on_disk=size, used=used)
