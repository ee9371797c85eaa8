"""Which folders the loop made: a small record beside each, so that what a killed loop left behind can be listed."""

import json
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import cast

from workloop.domain.clock import Instant
from workloop.domain.errors import Refusal

RECORD_VERSION = 1
WIP_REFS = "refs/workloop/wip/"
ITEM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class WorkspaceKind(StrEnum):
    """What a folder of the loop is for; only an attempt can hold work that nothing else holds."""

    ATTEMPT = "attempt"
    CHECKOUT = "checkout"
    LANDING = "landing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """One folder the loop made: where, on which branch, from which base and start, for which attempt.

    It is ready once it was made to the end; before that nobody can have worked in it.
    """

    path: Path
    branch: str
    base_sha: str
    start_sha: str
    repo: Path
    common_dir: Path
    item_id: str
    attempt: int
    created: Instant
    kind: WorkspaceKind = WorkspaceKind.ATTEMPT
    ready: bool = True

    @property
    def record_path(self) -> Path:
        """Return where its record is kept."""
        return record_path(self.path)

    @property
    def salvage_ref(self) -> str:
        """Return the reference that holds what was saved from it."""
        return f"{WIP_REFS}{self.item_id}/{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A recorded folder: whether it is on disk, whether another process that made it runs, or this one made it."""

    workspace: Workspace
    present: bool
    maker_runs: bool = False
    made_here: bool = False


def record_path(path: Path) -> Path:
    """Return the record's place: beside the folder, never in it."""
    return path.with_name(path.name + ".json")


def write_record(workspace: Workspace) -> None:
    """Record a folder, durably and in one step."""
    values = {
        "version": RECORD_VERSION,
        "kind": workspace.kind.value,
        "path": str(workspace.path),
        "branch": workspace.branch,
        "base_sha": workspace.base_sha,
        "start_sha": workspace.start_sha,
        "repo": str(workspace.repo),
        "common_dir": str(workspace.common_dir),
        "item_id": workspace.item_id,
        "attempt": workspace.attempt,
        "created": workspace.created,
        "ready": workspace.ready,
        "maker": _this_process(),
    }
    target = workspace.record_path
    partial = target.with_name(target.name + ".partial")
    with partial.open("w", encoding="ascii") as stream:
        json.dump(values, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(target)


def read_record(path: Path) -> Workspace | None:
    """Return the record beside a folder, or None when the loop did not make it."""
    record = record_path(path)
    if record.is_symlink() or not record.is_file():
        return None
    try:
        values = cast("dict[str, str | int | bool]", json.loads(record.read_text(encoding="ascii")))
        found = _workspace(values)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if found.path == path else None


def drop_record(workspace: Workspace) -> None:
    """Forget a folder that is gone."""
    workspace.record_path.unlink(missing_ok=True)


def leftovers(state_dir: Path) -> tuple[Leftover, ...]:
    """List every folder the loop recorded below a state folder, oldest first."""
    records = sorted(Path(os.path.realpath(state_dir)).glob("*/*/*.json"))
    found = [read_record(record.with_suffix("")) for record in records]
    known = sorted((one for one in found if one), key=lambda one: (one.created, str(one.path)))
    return tuple(_leftover(one) for one in known)


def require_item_id(item_id: str) -> str:
    """Return an item id that is safe in a path and in a branch name."""
    if not ITEM_ID.fullmatch(item_id):
        raise Refusal("ITEM_ID_UNUSABLE", f"{item_id!r} cannot name a branch", hint="letters, digits, dash, underscore")
    return item_id


def _leftover(workspace: Workspace) -> Leftover:
    maker = _maker(workspace)
    return Leftover(
        workspace=workspace,
        present=os.path.lexists(workspace.path),
        maker_runs=_runs_elsewhere(maker),
        made_here=maker == _this_process(),
    )


def _maker(workspace: Workspace) -> str:
    try:
        values = cast("dict[str, str]", json.loads(workspace.record_path.read_text(encoding="ascii")))
        return values["maker"]
    except (OSError, ValueError, KeyError):
        return ""


def _this_process() -> str:
    return _process(os.getpid())


@cache
def _process(pid: int) -> str:
    import psutil

    return f"{pid}@{psutil.Process(pid).create_time()}"


def _runs_elsewhere(maker: str) -> bool:
    """Say whether the process that made a folder runs and is not this one, which knows by itself what it uses."""
    import psutil

    try:
        pid, _, started = maker.partition("@")
        return int(pid) != os.getpid() and str(psutil.Process(int(pid)).create_time()) == started
    except (ValueError, psutil.Error):
        return False


def _workspace(values: dict[str, str | int | bool]) -> Workspace:
    return Workspace(
        path=Path(str(values["path"])),
        branch=str(values["branch"]),
        base_sha=str(values["base_sha"]),
        start_sha=str(values["start_sha"]),
        repo=Path(str(values["repo"])),
        common_dir=Path(str(values["common_dir"])),
        item_id=str(values["item_id"]),
        attempt=int(values["attempt"]),
        created=Instant(int(values["created"])),
        kind=WorkspaceKind(str(values["kind"])),
        ready=bool(values["ready"]),
    )
