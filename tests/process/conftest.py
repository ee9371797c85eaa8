"""What tests with child processes run on: benches of a loop that are closed when the test is over."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loop_bench import LoopBench, NewBench


@pytest.fixture
def new_bench(tmp_path: Path) -> Iterator[NewBench]:
    """Return what opens a bench with the settings that a test wants."""
    made: list[LoopBench] = []

    def make(**fields: Any) -> LoopBench:
        made.append(LoopBench(tmp_path, **fields).open())
        return made[-1]

    yield make
    for bench in made:
        bench.close()
