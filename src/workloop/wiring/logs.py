"""How a session's kept output is read again: as it was printed, or as the events that its harness makes of it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from workloop.config import Settings
from workloop.domain.errors import NotFound
from workloop.domain.journal import SessionRow
from workloop.domain.session import SessionEvent, kind_of
from workloop.driver.attempt.events import gist
from workloop.runner.archive import STREAM_NAME, replay
from workloop.runner.framing import Line, OverlongLine
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.wiring.harnesses import make_harness


def kept_lines(row: SessionRow) -> Iterator[Line]:
    """Yield what a session printed, line by line, in bounded memory; raises NotFound when it is not kept any more."""
    path = stream_of(row)
    if path is None:
        raise NotFound(
            "LOG_GONE",
            f"the output of session {row.session_id} is not kept: {row.log_path or 'it had none'}",
            hint="old sessions give up their output and keep their facts: workloop sessions",
        )
    return replay(path)


def stream_of(row: SessionRow) -> Path | None:
    """Return the file that holds a session's output."""
    if not row.log_path:
        return None
    named = Path(row.log_path)
    return next((path for path in (named, named.with_name(STREAM_NAME)) if path.is_file()), None)


def told_events(settings: Settings, row: SessionRow) -> Iterator[dict[str, str]]:
    """Yield the events of a session's kept output, each with its kind and what it says, as its harness reads it."""
    for event in kept_events(settings, row):
        yield {"kind": kind_of(event), "what": gist(event)}


def kept_events(settings: Settings, row: SessionRow) -> Iterator[SessionEvent]:
    """Read a session's kept output once more with its harness."""
    return events_in(kept_lines(row), make_harness(settings.loop, row.harness, settings.folder), row)


def events_in(lines: Iterable[Line], harness: Harness, row: SessionRow) -> Iterator[SessionEvent]:
    """Yield what a harness makes of a session's output, what it says at its end included."""
    folder = Path(row.log_path).parent
    reader = harness.reader(
        LaunchRequest(prompt="", cwd=Path(row.cwd), session_dir=folder, session_id=row.session_id, environment={})
    )
    reader.replies()
    for number, line in enumerate(lines):
        yield from reader.overlong(line.size, number) if isinstance(line, OverlongLine) else reader.feed(line, number)
        reader.replies()
    yield from reader.finish(row.exit_code, row.signal, "").events
