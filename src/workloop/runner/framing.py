"""How a byte stream becomes bounded lines, whatever the child prints."""

from dataclasses import dataclass

LINE_BYTES_MAX = 32 * 1024 * 1024
TAIL_BYTES_MAX = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class OverlongLine:
    """A line that was longer than the cap: its content is gone, its size is known."""

    size: int


Line = bytes | OverlongLine


class LineSplitter:
    """Cut a stream into lines; memory stays below the cap plus one chunk."""

    def __init__(self, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        self.line_bytes_max = line_bytes_max
        self._pending = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> list[Line]:
        """Take the next bytes and return the lines that they complete, without newlines."""
        complete = data.split(b"\n")
        rest = complete.pop()
        lines: list[Line] = []
        if complete and (self._pending or self._dropped):
            self._extend(complete[0])
            lines.append(self._take())
            del complete[0]
        if len(data) <= self.line_bytes_max:
            lines += complete
        else:
            lines += [line if len(line) <= self.line_bytes_max else OverlongLine(len(line)) for line in complete]
        if rest:
            self._extend(rest)
        return lines

    def finish(self) -> list[Line]:
        """Return what stands after the last newline, if anything does."""
        return [self._take()] if self._pending or self._dropped else []

    def _extend(self, piece: bytes) -> None:
        if not self._dropped and len(self._pending) + len(piece) <= self.line_bytes_max:
            self._pending += piece
            return
        self._dropped += len(self._pending) + len(piece)
        self._pending = bytearray()

    def _take(self) -> Line:
        line: Line = OverlongLine(self._dropped) if self._dropped else bytes(self._pending)
        self._pending = bytearray()
        self._dropped = 0
        return line


class TailBuffer:
    """Keep the last bytes of a stream."""

    def __init__(self, bytes_max: int = TAIL_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self._kept = bytearray()
        self.seen = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes and forget the oldest beyond the cap."""
        self.seen += len(data)
        self._kept += data[-self.bytes_max :]
        if len(self._kept) > self.bytes_max:
            del self._kept[: -self.bytes_max]

    def kept(self) -> bytes:
        """Return what is kept."""
        return bytes(self._kept)

    def text(self) -> str:
        """Return what is kept as text; a character cut at the front is replaced."""
        return self._kept.decode("utf-8", errors="replace")
