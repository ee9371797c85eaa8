"""What ended sessions leave behind stays within the operator's bounds while a loop runs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from workloop.config import Retention
from workloop.testing.clocks import FakeClock
from workloop.wiring.keeping import keep_within

WAIT_SECONDS = 10.0


def test_a_running_loop_lets_go_of_what_is_older_than_the_operator_keeps(tmp_path: Path) -> None:
    """The notes of a session stay, its output goes."""
    session = tmp_path / "sessions" / "one"
    session.mkdir(parents=True)
    (session / "stream.jsonl.gz").write_bytes(b"x" * 1000)
    (session / "claim.json").write_text(json.dumps({"ended": True}))
    clock = FakeClock()
    clock.advance(100 * 86_400)
    told: list[Mapping[str, Any]] = []

    async def run() -> None:
        """Keep until the first word of it."""
        async with anyio.create_task_group() as group:

            def tell(kind: str, facts: Mapping[str, Any]) -> None:
                """Take the first word."""
                told.append({"kind": kind, **facts})
                group.cancel_scope.cancel()

            with anyio.fail_after(WAIT_SECONDS):
                await keep_within([tmp_path], Retention(kept_days=1.0), clock, tell)

    anyio.run(run)
    assert (told[0]["kind"], told[0]["sessions"]) == ("pruned", 1)
    assert not (session / "stream.jsonl.gz").exists()
