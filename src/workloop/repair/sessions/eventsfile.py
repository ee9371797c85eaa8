"""How the typed events of a session become evidence: line by line as they come, in a file that only grows."""

import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from workloop.domain.session import SessionEvent
from workloop.repair.observations.lines import line_of
from workloop.repair.observations.reading import FILE_BYTES_MAX


class EventsFile:
    """One session's events; what would not be read again for its size is not written."""

    def __init__(self, path: Path) -> None:
        """Begin a new file, for its owner alone."""
        self.handle: Final = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self.left = FILE_BYTES_MAX

    async def take(self, event: SessionEvent) -> None:
        """Write one event."""
        line = line_of(event) + b"\n"
        if len(line) > self.left:
            self.left = 0
            return
        os.write(self.handle, line)
        self.left -= len(line)

    def __enter__(self) -> Self:
        """Keep the file open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        os.close(self.handle)
