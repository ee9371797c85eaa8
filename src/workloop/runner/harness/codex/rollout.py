"""What Codex keeps of a thread on disk: the tokens it cost and the account's windows, as last written."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

import msgspec

from workloop.domain.session import Tokens
from workloop.runner.harness.codex.usage import bill_of
from workloop.runner.harness.codex.wire import Limits, SnakeCounts

TAIL_BYTES = 4 * 1024 * 1024
THREAD_ID = re.compile(r"[0-9a-fA-F-]{8,64}")


class Info(msgspec.Struct):
    """The tokens of a report."""

    total_token_usage: SnakeCounts | None = None


class Report(msgspec.Struct):
    """One event of the file, as far as a report of tokens has it."""

    type: str = ""
    info: Info | None = None
    rate_limits: Limits | None = None


class Record(msgspec.Struct):
    """One line of the file."""

    payload: Report | None = None


DECODER = msgspec.json.Decoder(Record)


@dataclass(frozen=True, slots=True)
class Rollout:
    """What the newest report in the file says."""

    total: Tokens | None = None
    limits: Limits | None = None


def read_rollout(home: Path, thread_id: str) -> Rollout:
    """Read the newest report of a thread; nothing where there is no such file or no report in it."""
    if not THREAD_ID.fullmatch(thread_id):
        return Rollout()
    path = newest_file(home / "sessions", f"-{thread_id}.jsonl", levels=3)
    for line in reversed(tail_lines(path)) if path else ():
        if b'"token_count"' not in line:
            continue
        report = report_in(line)
        if report is not None and report.info is not None and report.info.total_token_usage is not None:
            return Rollout(bill_of(report.info.total_token_usage), report.rate_limits)
    return Rollout()


def report_in(line: bytes) -> Report | None:
    """Read a line as a report; None for any other."""
    try:
        record = DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record.payload if record.payload is not None and record.payload.type == "token_count" else None


def newest_file(folder: Path, ending: str, *, levels: int) -> Path | None:
    """Find the file in the folders by year, month and day, the newest first."""
    try:
        entries = sorted(folder.iterdir(), reverse=True)
    except OSError:
        return None
    if levels == 0:
        return next((entry for entry in entries if entry.name.endswith(ending)), None)
    return next((found for entry in entries if (found := newest_file(entry, ending, levels=levels - 1))), None)


def tail_lines(path: Path) -> list[bytes]:
    """Return the lines at the end of a plain file; one that cannot be read has none."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return []
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - TAIL_BYTES))
            return stream.read(TAIL_BYTES).splitlines()
    except OSError:
        return []
