"""What a store that is away does to the log and to the loop: little."""

from pathlib import Path

import anyio
import pytest
from trio.testing import MockClock

from attempt_bench import AttemptBench
from workloop.domain.errors import StoreUnavailable
from workloop.driver.attempt.holding import Held, Lease
from workloop.driver.attempt.insisting import insist
from workloop.driver.seam import INLINE

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


async def test_store_that_is_away_is_told_once_and_asked_at_growing_distances(tmp_path: Path) -> None:
    INLINE.set(True)
    bench = AttemptBench(tmp_path)
    bench.add("a")
    answer = bench.client("claim", holder="h", executor="e")
    lease = Lease(held=Held.from_answer(answer, "e"))
    asked: list[float] = []

    def away() -> str:
        asked.append(round(anyio.current_time()))
        if len(asked) < 8:
            raise StoreUnavailable("STORE_UNREACHABLE", "no way to the store", hint="wait", retryable=True)
        return "back"

    assert await insist(bench.project, lease, away) == "back"
    assert asked == [0, 1, 3, 7, 15, 31, 61, 91]
    assert len(bench.named("store")) == 1
