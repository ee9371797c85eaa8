"""Whose backlog besides ours a project takes its work from: where it is kept, and how far its people are trusted."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from workloop.config.paths import absolute
from workloop.domain.reader import Json, Reader, one_of


class TrackerKind(StrEnum):
    """The trackers that can be mirrored."""

    BACKLOG_MD = "backlog.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerConfig:
    """Another tracker's backlog: its folder, the statuses that nobody has begun, and the one that is over.

    trusted makes its entries claimable at once; otherwise a person promotes each.
    """

    path: Path
    kind: TrackerKind = TrackerKind.BACKLOG_MD
    trusted: bool = False
    open_status: tuple[str, ...] = ("To Do",)
    done: str = "Done"


def read_tracker(value: Json, path: str, work_dir: Path) -> TrackerConfig | None:
    """Read one project's tracker, whose folder is meant from the work dir; None when there is none."""
    if value is None:
        return None
    reader, usual = Reader(value, path), TrackerConfig(path=work_dir)
    kind = one_of(reader, "kind", TrackerKind, reader.text("kind", required=True))
    tracker = TrackerConfig(
        kind=kind,
        path=absolute(reader.text("path", default="backlog"), work_dir),
        trusted=reader.flag("trusted", default=usual.trusted),
        open_status=reader.texts("open_status") or usual.open_status,
        done=reader.text("done", default=usual.done),
    )
    reader.done()
    return tracker
