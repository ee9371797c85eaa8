"""What the loop does with work, as a child process with the scripted agent in a real repository."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loop_bench import LoopBench, honest, rule


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LoopBench]:
    made = LoopBench(tmp_path).open()
    yield made
    made.close()


def test_run_once_does_the_work_verifies_by_the_host_alone_and_ends(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    bench.add("a")
    code, report, loop = bench.run("--once")
    assert (code, report["reason"], report["sessions"], report["attended"]) == (0, "drained", 1, 2), loop.events
    assert bench.states() == {"a": "succeeded", "a~v1": "succeeded"}
