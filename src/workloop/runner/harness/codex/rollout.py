"""What Codex keeps of a thread on disk: the tokens it cost and the account's windows, as last written."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.session import Tokens
from workloop.runner.harness.codex.usage import bill_of
from workloop.runner.harness.fields import Fields, parse

TAIL_BYTES = 4 * 1024 * 1024
NO_LIMITS = Fields(None)
THREAD_ID = re.compile(r"[0-9a-fA-F-]{8,64}")


@dataclass(frozen=True, slots=True)
class Rollout:
    """What the newest report in the file says."""

    total: Tokens | None = None
    limits: Fields = NO_LIMITS


def read_rollout(home: Path, thread_id: str) -> Rollout:
    """Read the newest report of a thread; nothing where there is no such file or no report in it."""
    if not THREAD_ID.fullmatch(thread_id):
        return Rollout()
    paths = sorted((home / "sessions").glob(f"*/*/*/rollout-*-{thread_id}.jsonl"))
    for line in reversed(tail_lines(paths[-1])) if paths else ():
        if b'"token_count"' not in line:
            continue
        payload = (parse(line) or Fields(None)).inner("payload")
        total = payload.inner("info").inner("total_token_usage")
        if payload.text("type") == "token_count" and total:
            return Rollout(bill_of(total), payload.inner("rate_limits"))
    return Rollout()


def tail_lines(path: Path) -> list[bytes]:
    """Return the lines at the end of a file; one that cannot be read has none."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - TAIL_BYTES))
            return stream.read(TAIL_BYTES).splitlines()
    except OSError:
        return []
