"""What queue tests share: a campaign on every backend, with time and chance under control."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from queue_bench import Bench, open_bench

settings.register_profile("untimed", deadline=None)  # a busy machine is no finding
settings.load_profile("untimed")


def pytest_sessionstart() -> None:
    """Let children hear Ctrl-C even when the tests run behind a shell that ignores it, as in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["memory", "sqlite"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """One campaign in a fresh store of each backend, on a clock that only the test moves."""
    made = open_bench(request.param, tmp_path)
    yield made
    assert made.broken() == []
    made.store.close()
