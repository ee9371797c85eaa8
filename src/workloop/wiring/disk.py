"""What the loop's folders take on disk in each project, which of them may go, and what was saved."""

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from typing import Any

from workloop.config import Settings, TargetSettings
from workloop.domain.clock import to_text
from workloop.domain.errors import BadRequest, NotFound, StoreUnavailable
from workloop.domain.ids import ItemId, id_number
from workloop.driver.gittrees import keep_of, kept_mark
from workloop.runner.collecting import NOTHING, GcEntry, gc, prune_outputs
from workloop.runner.repository import Repository, open_repository
from workloop.runner.salvage import Salvaged, SalvageShown, read_salvage, salvages
from workloop.store.system import SystemClock
from workloop.wiring import open_store

Row = dict[str, Any]
KeyOf = Callable[[str], str]


def clear_up(settings: Settings, *, target: str, everything: bool, dry_run: bool) -> Row:
    """Remove the folders that are beyond the bounds, or all, and hold nothing; with dry_run only tell."""
    rows: list[Row] = []
    keep = NOTHING if everything else keep_of(settings.loop.disk)
    for one, repository in repositories(settings, target):
        entries = gc(repository, keep=keep, now=SystemClock().now(), dry_run=dry_run)
        for entry in entries:
            if entry.removed:
                kept_mark(entry.workspace).unlink(missing_ok=True)
        key_of = keys_of(one)
        rows += [folder_row(one.name, entry, key_of) for entry in entries]
    return {"dry_run": dry_run, "folders": rows, "bytes": sum(row["bytes"] for row in rows if row["goes"])}


def clear_outputs(settings: Settings, *, target: str, dry_run: bool) -> Row:
    """Remove the folders declared as outputs from trees that nobody works in; with dry_run only tell."""
    if not settings.loop.disk.outputs:
        hint = 'for example [disk] outputs = ["node_modules", "target"]'
        raise BadRequest("NO_OUTPUTS", "the settings declare no output folders", hint=hint)
    rows: list[Row] = [
        {"target": one.name, "path": str(pruned.path), "bytes": pruned.bytes_on_disk, "removed": pruned.removed}
        for one, repository in repositories(settings, target)
        for pruned in prune_outputs(repository, dry_run=dry_run)
    ]
    return {"dry_run": dry_run, "outputs": rows, "bytes": sum(row["bytes"] for row in rows)}


def list_salvages(settings: Settings, *, target: str) -> Row:
    """List what was saved of unfinished work, and the trees that hold what could not be saved."""
    saved: list[Row] = []
    trees: list[Row] = []
    for one, repository in repositories(settings, target):
        key_of = keys_of(one)
        saved += [salvage_row(one.name, held, key_of) for held in salvages(repository)]
        entries = gc(repository, keep=NOTHING)
        trees += [folder_row(one.name, entry, key_of) for entry in entries if not entry.safe and not entry.used]
    return {"salvages": saved, "trees": trees}


def show_salvage(settings: Settings, wanted: str, *, target: str) -> Row:
    """Show the newest salvage of an item's key, or the one that KEY/ATTEMPT or a reference names."""
    for one, repository in repositories(settings, target):
        key_of = keys_of(one)
        found = [held for held in salvages(repository) if wanted in names_of(held, key_of)]
        if found:
            shown = read_salvage(repository, found[-1])
            return {
                **salvage_row(one.name, found[-1], key_of),
                "stood_on": shown.stood_on,
                "said": shown.said,
                "files": [{"path": path, "change": change} for path, change in shown.files],
                "take": taking(repository, shown),
            }
    raise NotFound("NO_SALVAGE", f"nothing was saved of {wanted!r}", hint="see workloop salvage list")


def taking(repository: Repository, shown: SalvageShown) -> str:
    """Return the command that adds only what a salvage changed to the checkout, all of it or nothing.

    A plain apply looks at the files as they are, edited or not, and refuses where its lines are not found or where
    a new file is there already; with --3way it would want a clean index and could leave half of it behind.
    """
    there = f"git -C {shlex.quote(os.fspath(repository.path))}"
    commits = f"{shown.stood_on} {shown.salvaged.ref}" if shown.stood_on else f"--root {shown.salvaged.ref}"
    return f"{there} diff-tree -p -r --binary --full-index --no-ext-diff {commits} | {there} apply"


def repositories(settings: Settings, target: str) -> Iterator[tuple[TargetSettings, Repository]]:
    """Yield the targets, or the one of a name, with their repositories."""
    known = [one for one in settings.targets if target in ("", one.name)]
    if not known:
        names = ", ".join(one.name for one in settings.targets)
        raise BadRequest("BAD_REQUEST", f"there is no target {target!r}", hint=f"known: {names}", field="target")
    for one in known:
        branch = one.config.integration_branch or settings.loop.integration_branch or None
        opened = open_repository(one.place.repository, one.place.folder / "git", branch)
        yield one, replace(opened, outputs=settings.loop.disk.outputs)


def keys_of(target: TargetSettings) -> KeyOf:
    """Return what looks the key of an item up by its id, each id once."""
    return cache(partial(stored_key, target))


def stored_key(target: TargetSettings, item_id: str) -> str:
    """Ask the store for an item's key; without it, or without the item, the id itself is the answer."""
    try:
        number = ItemId(id_number(item_id))
        with closing(open_store(target.place, read_only=True)) as store, store.read() as tx:
            item = tx.item_get(number)
    except (ValueError, NotFound, StoreUnavailable):
        return item_id
    return item.key if item is not None else item_id


def names_of(held: Salvaged, key_of: KeyOf) -> tuple[str, ...]:
    """Return the words that a person may name a salvage by."""
    key = key_of(held.item_id)
    return key, held.item_id, f"{key}/{held.attempt}", f"{held.item_id}/{held.attempt}", held.ref


def salvage_row(target: str, held: Salvaged, key_of: KeyOf) -> Row:
    """Return what is told of one salvage."""
    return {
        "target": target,
        "key": key_of(held.item_id),
        "attempt": held.attempt,
        "saved_at": to_text(held.made),
        "ref": held.ref,
        "sha": held.sha,
        "title": held.title,
    }


def folder_row(target: str, entry: GcEntry, key_of: KeyOf) -> Row:
    """Return what is told of one folder."""
    workspace = entry.workspace
    return {
        "target": target,
        "key": key_of(workspace.item_id) if workspace.item_id else None,
        "attempt": workspace.attempt,
        "kind": workspace.kind.value,
        "created": to_text(workspace.created),
        "bytes": entry.bytes_on_disk,
        "goes": entry.safe,
        "removed": entry.removed,
        "reason": entry.reason,
        "path": os.fspath(workspace.path),
    }
