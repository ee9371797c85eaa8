"""What queue tests share: a campaign on every backend, with time and chance under control."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from queue_bench import Bench, open_bench


@pytest.fixture(params=["memory", "sqlite"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """One campaign in a fresh store of each backend, on a clock that only the test moves."""
    made = open_bench(request.param, tmp_path)
    yield made
    assert made.broken() == []
    made.store.close()
