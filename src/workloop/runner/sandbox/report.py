"""How it is known whether walls stood: what the program that builds them tells about the end of what ran inside."""

import json
import os
from typing import NamedTuple

from workloop.runner.sandbox.inside import plain_code

REPORT_BYTES_MAX = 65_536
WALLS_FAILED = 125


class Report(NamedTuple):
    """Both ends of the pipe on which it is told; nothing inside ever holds one."""

    source: int
    sink: int

    def asked(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command line with the wish to be told."""
        return (argv[0], "--json-status-fd", str(self.sink), *argv[1:])

    def exit_code(self) -> int:
        """Return how the command inside ended, WALLS_FAILED when it never ran; asked after the end of all."""
        os.set_blocking(self.source, False)
        try:
            told = os.read(self.source, REPORT_BYTES_MAX)
        except BlockingIOError:
            told = b""
        for line in told.splitlines():
            code = json.loads(line).get("exit-code")
            if code is not None:
                return plain_code(int(code))
        return WALLS_FAILED

    def close(self) -> None:
        """Give up both ends."""
        os.close(self.source)
        os.close(self.sink)


def open_report() -> Report:
    """Make the pipe."""
    return Report(*os.pipe())
