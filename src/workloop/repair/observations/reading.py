"""How a file of events is believed: whole, in order, of the session it should be, or not at all."""

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from workloop.domain.session import SessionEvent
from workloop.repair.observations.finding import Observation
from workloop.repair.observations.from_events import NO_THRESHOLDS, observations_from_events
from workloop.repair.observations.lines import event_of
from workloop.repair.observations.taking import Malformed
from workloop.repair.observations.thresholds import Thresholds

FILE_BYTES_MAX = 64 * 1024 * 1024
LINE_BYTES_MAX = 2 * 1024 * 1024
CHUNK_BYTES = 1024 * 1024


class EvidenceState(StrEnum):
    """What a file of events is worth: no file and no line are no evidence, which is not the same as no findings."""

    SOUND = "sound"
    TORN = "torn"
    NONE = "none"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A file of events as it was found; line and reason say what is wrong with it, digest is that of its bytes."""

    state: EvidenceState
    events: tuple[SessionEvent, ...] = ()
    digest: str = ""
    line: int | None = None
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Say whether something can be concluded from the events; a torn last line takes nothing from the others."""
        return self.state in (EvidenceState.SOUND, EvidenceState.TORN)

    def observations(self, thresholds: Thresholds = NO_THRESHOLDS) -> tuple[Observation, ...] | None:
        """Return the findings; None where there is no evidence, or none to be believed."""
        return observations_from_events(self.events, thresholds) if self.usable else None


def read_events(path: Path, session_id: str, *, bytes_max: int = FILE_BYTES_MAX) -> Reading:
    """Read the events that one session left in a file; never follows a link, never raises for what it finds."""
    try:
        data = bounded_bytes(path, bytes_max)
    except FileNotFoundError:
        return Reading(state=EvidenceState.NONE, reason="there is no such file")
    except (OSError, Malformed) as failed:
        why = "is a symbolic link" if isinstance(failed, OSError) and failed.errno == errno.ELOOP else str(failed)
        return Reading(state=EvidenceState.INVALID, reason=why)
    if not data:
        return Reading(state=EvidenceState.NONE, reason="the file is empty")
    return parsed(data, session_id)


def bounded_bytes(path: Path, bytes_max: int) -> bytes:
    """Read a plain file of bounded size; raises OSError, or Malformed for what is none or too big."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Malformed("is not a plain file")
        pieces: list[bytes] = []
        left = bytes_max + 1
        while left and (piece := os.read(handle, min(left, CHUNK_BYTES))):
            pieces.append(piece)
            left -= len(piece)
    finally:
        os.close(handle)
    if not left:
        raise Malformed(f"is larger than {bytes_max} bytes")
    return b"".join(pieces)


def parsed(data: bytes, session_id: str) -> Reading:
    """Read the lines of one session; the first bad one makes all of it worthless, but for one that was cut off."""
    digest = hashlib.sha256(data).hexdigest()
    *lines, rest = data.split(b"\n")
    events: list[SessionEvent] = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(following(line, number, events, session_id))
        except Malformed as wrong:
            return Reading(state=EvidenceState.INVALID, digest=digest, line=number, reason=str(wrong))
    if not rest:
        return Reading(state=EvidenceState.SOUND, events=tuple(events), digest=digest)
    state = EvidenceState.TORN if events else EvidenceState.NONE
    torn = "the last line is cut off, and is not counted"
    return Reading(state=state, events=tuple(events), digest=digest, line=len(lines) + 1, reason=torn)


def following(line: bytes, number: int, before: list[SessionEvent], session_id: str) -> SessionEvent:
    """Read the event that comes next; raises Malformed when it is malformed, repeated, out of order or not next."""
    if len(line) > LINE_BYTES_MAX:
        raise Malformed(f"is longer than {LINE_BYTES_MAX} bytes")
    event = event_of(line, session_id)
    if event.seq != number:
        what = "repeats" if event.seq < number else "comes before"
        raise Malformed(f"is event {event.seq} where {number} belongs: it {what} another")
    if before and event.arrival_us < before[-1].arrival_us:
        raise Malformed("is earlier than the event before it")
    return event
