"""How a session's raw output is kept: compressed, bounded, and readable though its writer was killed."""

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from workloop.domain.errors import Fault
from workloop.runner.framing import Line, LineSplitter, TailBuffer

STREAM_NAME = "stream.jsonl.gz"
STDERR_NAME = "stderr.log.gz"
STDERR_BYTES_MAX = 4 * 1024 * 1024
END_BYTES_MAX = 1024 * 1024
CHUNK_BYTES = 65_536
LEVEL = 1
GZIP = 16 + zlib.MAX_WBITS


class Archive:
    """One stream on disk: its beginning up to a cap, and beyond that a line that says what is missing, and its end.

    Every write reaches the system as whole blocks, so that only a write that was under way can be lost by a kill.
    """

    def __init__(self, path: Path, bytes_max: int, end_bytes_max: int = END_BYTES_MAX) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        try:
            self.stream = os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0)
        except OSError as error:
            raise self.unwritable(error) from error
        self.packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self.left = bytes_max
        self.in_line = False
        self.end = TailBuffer(end_bytes_max)

    def write(self, data: bytes) -> None:
        """Keep what still fits, and of the rest the end; raises Fault when the disk takes no more."""
        kept = data[: self.left]
        if kept:
            self.left -= len(kept)
            self.in_line = not kept.endswith(b"\n")
            self.put(self.packer.compress(kept) + self.packer.flush(zlib.Z_SYNC_FLUSH))
        if len(kept) < len(data):
            self.end.feed(data[len(kept) :])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def close(self) -> None:
        """End the file, with the mark and the last lines when something is missing."""
        if self.stream.closed:
            return
        with self.stream:
            rest = self.remainder() if self.end.seen else b""
            self.put(self.packer.compress(rest) + self.packer.flush(zlib.Z_FINISH))

    def remainder(self) -> bytes:
        """Return the mark and the whole lines that stood last, or all that came after the cap when it was little."""
        last = self.end.kept()
        if len(last) < self.end.seen:
            _cut, _newline, last = last.partition(b"\n")
        dropped = self.end.seen - len(last)
        if not dropped:
            return last
        mark = {"type": "workloop_cut", "dropped_bytes": dropped}
        return (b"\n" if self.in_line else b"") + json.dumps(mark).encode() + b"\n" + last

    def put(self, packed: bytes) -> None:
        """Write compressed bytes."""
        view = memoryview(packed)
        try:
            while view:
                view = view[self.stream.write(view) :]
        except OSError as error:
            raise self.unwritable(error) from error

    def unwritable(self, error: OSError) -> Fault:
        """Say why the output cannot be kept."""
        message = f"a session's output cannot be kept: {error}"
        return Fault("ARCHIVE_UNWRITABLE", message, hint=f"see the disk of {self.path.parent}")


def replay(path: Path) -> Iterator[Line]:
    """Yield the kept lines, in bounded memory; what a kill cut off is missing, the line it fell into is told as it is.

    Raises Fault when the file was damaged, after the lines before the damage.
    """
    splitter = LineSplitter()
    for data in unpacked(path):
        yield from splitter.feed(data)
    yield from splitter.finish()


def unpacked(path: Path) -> Iterator[bytes]:
    """Yield the kept bytes in bounded pieces, to the end or to where the file was cut."""
    unpacker = zlib.decompressobj(GZIP)
    with path.open("rb") as stream:
        packed = stream.read(CHUNK_BYTES)
        while packed and not unpacker.eof:
            try:
                yield unpacker.decompress(packed, CHUNK_BYTES)
            except zlib.error as error:
                hint = "what stands before the damage was read"
                raise Fault("ARCHIVE_DAMAGED", f"{path.name} is damaged: {error}", hint=hint) from error
            packed = unpacker.unconsumed_tail or stream.read(CHUNK_BYTES)
    yield unpacker.flush()
