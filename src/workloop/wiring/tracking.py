"""Which reader each kind of tracker has, and how a foreign backlog is brought into a queue: for a run, or once."""

from collections.abc import Mapping, Sequence

from workloop.config import Settings
from workloop.config.trackers import TrackerConfig, TrackerKind
from workloop.domain.errors import NotFound
from workloop.service.call import Queue
from workloop.trackers.foreign import Tracker
from workloop.trackers.mirror import Mirror, Tell
from workloop.wiring import open_queue


def tracker_of(config: TrackerConfig) -> Tracker:
    """Return the reader of a backlog."""
    match config.kind:
        case TrackerKind.BACKLOG_MD:
            from workloop.trackers.backlog_md import BacklogMd

            return BacklogMd(config.path, open_status=config.open_status, done=config.done)


def mirror_of(config: TrackerConfig, queue: Queue, tell: Tell | None = None) -> Mirror:
    """Return what keeps a queue in step with a backlog."""
    return Mirror(queue, tracker_of(config), trusted=config.trusted, tell=tell)


def missing_folder(config: TrackerConfig) -> str:
    """Say that a backlog is not where the settings look for it, nothing when it is."""
    try:
        tracker_of(config).stamp()
    except NotFound as gone:
        return gone.message
    except OSError as gone:
        return f"{config.path} cannot be read: {gone.strerror}"
    return ""


def import_once(settings: Settings, config: TrackerConfig, *, dry_run: bool = False) -> Mapping[str, Sequence[str]]:
    """Bring a project's queue into step with a backlog; returns what was done, by kind. Raises NotFound without it."""
    queue = open_queue(settings)
    try:
        mirror = mirror_of(config, queue)
        listing = mirror.tracker.read()
        steps = mirror.outline(listing) if dry_run else mirror.step(listing)
        return steps.report()
    finally:
        queue.store.close()
