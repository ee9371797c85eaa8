"""How a ledger is believed: line by line from the first, then against the head that is kept outside of it."""

import fcntl
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import BinaryIO

from workloop.domain.errors import BadRequest, NotFound
from workloop.repair.ledger.anchor import Anchor, AnchorError, NoAnchorYetError, anchor_path, read_anchor
from workloop.repair.ledger.books import Books, MisplacedError, Standing, opened
from workloop.repair.ledger.chain import LINE_BYTES_MAX, BrokenLineError, Entry, Reason
from workloop.repair.ledger.reading import read
from workloop.repair.ledger.records import PhaseStart, RunClose, RunOpen
from workloop.repair.ledger.signing import holds
from workloop.repair.ledger.structure import take

LAG_MAX = 1
"""How many records a run that was killed may have written after its last head; more were not written by it."""


class AnchorState(StrEnum):
    """How a ledger fits the head that is kept outside of it."""

    MATCHES = "matches"
    BEHIND = "behind"
    LEFT_OUT = "left-out"
    CONTRADICTS = "contradicts"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBad:
    """The first line that is not what was written there, counted from 1; 0 for the ledger as a whole."""

    line: int
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What can be believed of a ledger: the records before the first bad line, and what the run had come to there.

    `signed_by` is the public key that the head was checked with; `held` tells that a run still writes.
    """

    entries: tuple[Entry, ...]
    first_bad: FirstBad | None
    anchor: AnchorState
    standing: Standing | None = None
    signed_by: str = ""
    held: bool = False

    @property
    def good_prefix(self) -> int:
        """Return how many records there are before the first bad line."""
        return len(self.entries)

    @property
    def head(self) -> str:
        """Return the hash of the last good record, or nothing."""
        return self.entries[-1].hash if self.entries else ""

    @property
    def opening(self) -> RunOpen | None:
        """Return what the run was opened with."""
        first = self.entries[0].record if self.entries else None
        return first if isinstance(first, RunOpen) else None

    @property
    def close(self) -> RunClose | None:
        """Return how the run was closed, if it was."""
        last = self.entries[-1].record if self.entries else None
        return last if isinstance(last, RunClose) else None

    @property
    def open_phases(self) -> tuple[PhaseStart, ...]:
        """Return the phases that began and have no end on record."""
        return self.standing.open_phases if self.standing is not None else ()

    @property
    def whole(self) -> bool:
        """Tell whether every line is what was written there."""
        return self.first_bad is None


class Walk:
    """The good prefix of some lines, with the books that it builds up and the first line that does not fit."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.books: Books | None = None
        self.bad: FirstBad | None = None
        self.run = ""

    def over(self, lines: Iterable[bytes]) -> "Walk":
        """Read lines until one does not fit."""
        for line in lines:
            try:
                self.read(line)
            except BrokenLineError as broken:
                return self.stop(broken.reason, broken.detail)
            except MisplacedError as misplaced:
                return self.stop(Reason.STRUCTURE, str(misplaced))
        return self if self.entries else self.stop(Reason.TORN, "there is no record")

    def stop(self, reason: Reason, detail: str) -> "Walk":
        """Name the line after the last good one as the first bad one."""
        self.bad = FirstBad(line=len(self.entries) + 1, reason=reason, detail=detail)
        return self

    def read(self, line: bytes) -> None:
        """Read the next line; raises BrokenLineError or MisplacedError when it does not fit."""
        if not line.endswith(b"\n"):
            longer = len(line) > LINE_BYTES_MAX
            reason = Reason.MALFORMED if longer else Reason.TORN
            raise BrokenLineError(reason, "it is longer than any record" if longer else "it has no end")
        self.enter(read(line[:-1], self.run, self.entries[-1] if self.entries else None))

    def enter(self, entry: Entry) -> None:
        """Book a record that is linked to the one before."""
        if self.books is not None:
            take(self.books, entry.record, entry.mono_ms)
        elif isinstance(entry.record, RunOpen):
            self.books, self.run = opened(entry.record), entry.record.run
            self.books.mono_ms = entry.mono_ms
        self.entries.append(entry)


def verify(
    path: Path, *, anchor: Path | None = None, key: str | None = None, head: str | None = None, anchored: bool = True
) -> Verification:
    """Tell what can be believed of the ledger at a path, by its lines and by its head that is kept outside.

    `anchor` is where that head is, unless beside the ledger; `key` is the public key that must have signed it, `head`
    the hash that was told when the run stopped. With `anchored` false a ledger without a head outside is believed as
    far as it goes, though a cut or a rewrite cannot be seen then.
    """
    where = anchor or anchor_path(path)
    before = head_outside(where)
    with opened_file(path) as stream:
        held = is_held(stream)
        walk = Walk().over(lines_of(stream))
    after = head_outside(where)
    found = Verification(
        entries=tuple(walk.entries),
        first_bad=walk.bad,
        anchor=AnchorState.LEFT_OUT,
        standing=walk.books.standing() if walk.books is not None else None,
        held=held,
    )
    if head is not None and walk.bad is None and found.head != head:
        found = cut_to(found, 0, FirstBad(line=1, reason=Reason.REWRITTEN, detail="its head is not the one given"))
    if before is None or after is None:
        return found if not anchored and key is None else unanchored(found)
    if isinstance(before, AnchorError) or isinstance(after, AnchorError):
        wrong = before if isinstance(before, AnchorError) else after
        return contradicted(found, FirstBad(line=0, reason=Reason.ANCHOR, detail=f"of the head outside: {wrong}"))
    return signed(compared(found, before, after), before, key)


def opened_file(path: Path) -> BinaryIO:
    """Open a ledger for reading; raises NotFound or BadRequest for what is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise NotFound("NO_LEDGER", f"{path}: there is no such file", hint="name the ledger of a run") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadRequest("NOT_A_LEDGER", f"{path}: this is no file", hint="name the ledger of a run")
    return os.fdopen(descriptor, "rb")


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Return the lines of a ledger with their ends, none longer than a record can be."""
    return iter(partial(stream.readline, LINE_BYTES_MAX + 1), b"")


def is_held(stream: BinaryIO) -> bool:
    """Tell whether a run has the ledger open for writing."""
    try:
        fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(stream, fcntl.LOCK_UN)
    return False


def head_outside(path: Path) -> Anchor | AnchorError | None:
    """Return the head that is kept outside, what is wrong with it, or None when there is none."""
    try:
        return read_anchor(path)
    except (FileNotFoundError, NoAnchorYetError):
        return None
    except OSError as error:
        return AnchorError(error.strerror or "it cannot be read")
    except AnchorError as error:
        return error


def unanchored(found: Verification) -> Verification:
    """Say that the head outside is missing, unless the run was killed before it could be written."""
    bad = FirstBad(line=0, reason=Reason.ANCHOR, detail="there is no head outside: a cut or a rewrite would not show")
    first = None if found.good_prefix <= LAG_MAX else bad
    return replace(found, anchor=AnchorState.MISSING, first_bad=found.first_bad or first)


def contradicted(found: Verification, bad: FirstBad) -> Verification:
    """Say that the head outside does not fit; a line that is bad by itself stays the first."""
    return replace(found, anchor=AnchorState.CONTRADICTS, first_bad=found.first_bad or bad)


def compared(found: Verification, before: Anchor, after: Anchor) -> Verification:
    """Hold a ledger against its head outside, read before it and after it, for a run may go on meanwhile."""
    count = found.good_prefix
    if count < before.records:
        missing = f"{before.records} records were written and {count} are there"
        return contradicted(found, FirstBad(line=count + 1, reason=Reason.CUT, detail=missing))
    if found.entries[before.records - 1].hash != before.hash:
        detail = "none of its records can be told from one that was put there later"
        return cut_to(found, 0, FirstBad(line=1, reason=Reason.REWRITTEN, detail=detail))
    if count > after.records + LAG_MAX:
        detail = f"a run adds at most {LAG_MAX} record after its last head, and {count - after.records} are there"
        return cut_to(found, after.records, FirstBad(line=after.records + 1, reason=Reason.UNANCHORED, detail=detail))
    state = AnchorState.MATCHES if count == after.records else AnchorState.BEHIND
    return replace(found, anchor=state)


def signed(found: Verification, anchor: Anchor, key: str | None) -> Verification:
    """Hold the head outside against the key that must have signed it."""
    if key is None:
        return found
    if anchor.key == key and holds(key, anchor.signature, anchor.records, anchor.hash):
        return replace(found, signed_by=key)
    detail = "the head outside is not signed with that key"
    return contradicted(found, FirstBad(line=0, reason=Reason.SIGNATURE, detail=detail))


def cut_to(found: Verification, count: int, bad: FirstBad) -> Verification:
    """Believe only so many of the first records, because of what the head outside says."""
    if found.first_bad is not None and found.first_bad.line <= bad.line:
        return replace(found, anchor=AnchorState.CONTRADICTS)
    kept = found.entries[:count]
    return replace(found, entries=kept, first_bad=bad, anchor=AnchorState.CONTRADICTS, standing=standing_after(kept))


def standing_after(entries: Sequence[Entry]) -> Standing | None:
    """Return what a run had come to after some records."""
    walk = Walk()
    for entry in entries:
        walk.enter(entry)
    return walk.books.standing() if walk.books is not None else None
