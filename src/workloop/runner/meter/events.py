"""How the events of a stream are found in the bytes that pass by, whatever pieces they come in."""

EVENT_BYTES_MAX = 32 * 1024 * 1024


class EventFeed:
    """Collects the data of server-sent events; an event that is too big is dropped and said so."""

    def __init__(self, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self.event_bytes_max = event_bytes_max
        self.pieces: list[bytes] = []
        self.held = 0
        self.data: list[bytes] = []
        self.data_bytes = 0
        self.lossy = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes and return the data of each event that they complete."""
        if b"\n" not in chunk:
            self.hold(chunk)
            return []
        *lines, rest = b"".join((*self.pieces, chunk)).split(b"\n")
        self.pieces, self.held = [], 0
        self.hold(rest)
        return [data for line in lines if (data := self.line(line)) is not None]

    def finish(self) -> list[bytes]:
        """Return the data of a last event that no empty line ended."""
        rest, self.pieces, self.held = b"".join(self.pieces), [], 0
        last = self.line(rest) if rest else None
        return [data for data in (last, self.line(b"")) if data is not None]

    def hold(self, rest: bytes) -> None:
        """Keep the beginning of a line, unless it has grown too long."""
        if not rest:
            return
        self.held += len(rest)
        if self.held > self.event_bytes_max:
            self.pieces, self.lossy = [], True
        else:
            self.pieces.append(rest)

    def line(self, line: bytes) -> bytes | None:
        """Take one line; return an event's data if this line ends it."""
        line = line.removesuffix(b"\r")
        if not line:
            if not self.data:
                return None
            data, self.data, self.data_bytes = b"\n".join(self.data), [], 0
            return data
        if line.startswith(b"data:"):
            value = line[5:].removeprefix(b" ")
            self.data_bytes += len(value)
            if self.data_bytes > self.event_bytes_max:
                self.data, self.lossy = [], True
            else:
                self.data.append(value)
        return None
