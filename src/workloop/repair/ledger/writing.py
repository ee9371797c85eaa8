"""How a ledger comes to be and grows: never over anything that is there, every record durable before the next step."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from workloop.domain.clock import Clock
from workloop.repair.ledger.anchor import anchor_bytes, anchored
from workloop.repair.ledger.books import Books, MisplacedError, Standing, opened
from workloop.repair.ledger.chain import Place, genesis, line_of
from workloop.repair.ledger.faults import LedgerFault, LedgerRefused
from workloop.repair.ledger.files import Files, refused
from workloop.repair.ledger.records import Record, RunClose, RunOpen, StopReason
from workloop.repair.ledger.schema import FieldError
from workloop.repair.ledger.signing import Signer
from workloop.repair.ledger.structure import take
from workloop.repair.ledger.verifying import Walk, lines_of, opened_file

NANOSECONDS_MS: Final = 1_000_000


class Ledger:
    """A ledger that this process writes; `head` is the hash of its last record, to be kept elsewhere at a stop."""

    def __init__(self, files: Files, books: Books, pen: "Pen") -> None:
        self.files = files
        self.books = books
        self.pen = pen
        self.ended = ""
        self.only_close = False

    @classmethod
    def create(
        cls,
        path: Path,
        opening: RunOpen,
        *,
        clock: Clock,
        signer: Signer | None = None,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> "Ledger":
        """Make a new ledger that holds its first record durably; raises LedgerRefused and leaves everything as it is.

        The parent folder must be the caller's own and writable by nobody else.
        """
        try:
            books = opened(opening)
            pen = Pen(opening, clock, monotonic_ns, signer)
            line, digest = pen.line(opening, 0)
        except (MisplacedError, FieldError) as error:
            raise LedgerRefused("LEDGER_OPENING_INVALID", f"run_open: {error}", hint="correct the config") from error
        files = Files.create(path)
        try:
            files.add(line)
            files.anchor(pen.head(1, digest))
            files.sync()
        except OSError as error:
            files.remove()
            raise refused("LEDGER_UNWRITABLE", path, error) from error
        pen.prev = digest
        return cls(files, books, pen)

    @property
    def path(self) -> Path:
        """Return where the ledger is."""
        return self.files.path

    @property
    def head(self) -> str:
        """Return the hash of the last record."""
        return self.pen.prev

    def standing(self) -> Standing:
        """Return what the run has come to by its records."""
        return self.books.standing()

    def append(self, record: Record) -> int:
        """Add a record durably and return its number; raises LedgerFault.

        A record that contradicts those before it is refused and leaves the ledger as it was. After a fault of the disk
        nothing can be added any more but, where the ledger could be put back in order, the record that closes it.
        """
        if self.ended or (self.only_close and not isinstance(record, RunClose)):
            raise LedgerFault("LEDGER_CLOSED", f"{self.path}: {self.ended or 'it takes its last record only'}")
        number = self.books.count
        line, digest, mono_ms = self.written_out(record, number)
        self.ended = "a write to it did not end"
        self.files.require_untouched()
        try:
            take(self.books, record, mono_ms)
            head = self.pen.head(number + 1, digest)
            self.files.add(line)
            self.files.anchor(head)
        except MisplacedError as error:
            self.ended = ""
            raise LedgerFault("LEDGER_CONTRADICTED", f"{self.path}: {type(record).__name__}: {error}") from error
        except OSError as error:
            self.recover(error)
        self.pen.prev = digest
        self.ended = ""
        return number

    def written_out(self, record: Record, number: int) -> tuple[bytes, str, int]:
        """Return the next line, its hash and its time."""
        try:
            mono_ms = self.pen.mono_ms()
            return (*self.pen.line(record, number, mono_ms), mono_ms)
        except FieldError as error:
            raise LedgerFault("LEDGER_RECORD_INVALID", f"{self.path}: {type(record).__name__}: {error}") from error

    def recover(self, error: OSError) -> NoReturn:
        """Take a half-written record back, so that what is there can be believed; raises LedgerFault."""
        self.ended = f"it could not be written: {error.strerror}"
        fault = LedgerFault(
            "LEDGER_WRITE_FAILED", f"{self.path}: {error.strerror}", hint="free space, or mend the disk"
        )
        try:
            self.files.take_back()
            with opened_file(self.path) as stream:
                walk = Walk().over(lines_of(stream))
        except OSError as again:
            raise fault from again
        if walk.bad is None and walk.books is not None and walk.entries[-1].hash == self.pen.prev:
            self.books, self.ended, self.only_close = walk.books, "", True
        raise fault from error

    def close(self, record: RunClose) -> int:
        """Add the record that ends the run, make its head durable, and let go of the ledger."""
        try:
            number = self.append(record)
            self.files.sync()
        except OSError as error:
            raise LedgerFault("LEDGER_WRITE_FAILED", f"{self.path}: {error.strerror}") from error
        finally:
            self.release()
        return number

    def stop(self, reason: StopReason, detail: str = "") -> RunClose:
        """Close the run for a reason, summed up by its own records; returns the record."""
        record = self.books.closing(reason, detail, self.pen.mono_ms())
        self.close(record)
        return record

    def release(self) -> None:
        """Let go of the ledger, closed or not; nothing can be added afterwards."""
        self.ended = self.ended or "it was let go of"
        self.files.release()


class Pen:
    """Spells lines: which run, after which hash, at what time, and with whose signature."""

    def __init__(self, opening: RunOpen, clock: Clock, monotonic_ns: Callable[[], int], signer: Signer | None) -> None:
        self.run = opening.run
        self.prev = genesis(opening)
        self.clock = clock
        self.monotonic_ns = monotonic_ns
        self.began_ns = monotonic_ns()
        self.signer = signer

    def mono_ms(self) -> int:
        """Return the time since the run began."""
        return (self.monotonic_ns() - self.began_ns) // NANOSECONDS_MS

    def line(self, record: Record, number: int, mono_ms: int = 0) -> tuple[bytes, str]:
        """Return a record as a whole line, and its hash."""
        line, digest = line_of(Place(number, self.run, self.prev), self.clock.now(), mono_ms, record)
        return line + b"\n", digest

    def head(self, records: int, digest: str) -> bytes:
        """Return a head as it is kept beside the ledger."""
        return anchor_bytes(anchored(records, digest, self.signer))
