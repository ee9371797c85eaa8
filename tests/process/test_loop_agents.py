"""Several agents for one project: the preferred one is limited, another goes on, and the first comes back."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loop_bench import Facts, LoopBench, NewBench, honest, rule

SECOND = """
[harness.second]
kind = "scripted"
script = "{script}"
"""


@pytest.fixture
def new_bench(tmp_path: Path) -> Iterator[NewBench]:
    made: list[LoopBench] = []

    def make(*second: Facts) -> LoopBench:
        script = tmp_path / "second.json"
        script.write_text(json.dumps(list(second)))
        agents = 'agents = ["scripted", "second"]'
        made.append(LoopBench(tmp_path, loop=agents, harnesses=SECOND.format(script=script)).open())
        return made[-1]

    yield make
    for bench in made:
        bench.close()


def workers(bench: LoopBench) -> list[tuple[str, str]]:
    """Return which agent worked on which item, oldest first."""
    return [(row["item"], row["harness"]) for row in reversed(bench.ask("sessions")["sessions"])]


def test_another_agent_goes_on_at_once_and_the_first_comes_back_after_its_reset(
    new_bench: NewBench, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    bench = new_bench(rule("a", {"say": "ready"}, {"wait_for": str(go)}, *honest()), rule("*", *honest()))
    bench.rules(rule("a", {"say": "I begin"}, {"limit": 15}, attempt=1), rule("*", *honest()))
    for key in ("a", "b"):
        bench.add(key, verification="none", checks=[])
    loop = bench.start("--sessions", "4")
    loop.wait_for("limited")
    reset = time.time() + 15.0
    loop.wait_for("agent", what="ready")
    (reason,) = bench.ask("why", "--target", bench.settings.targets[0].name)["reasons"]
    assert reason["message"].startswith("it is ready and waits for its turn with another agent: scripted is limited")
    go.touch()
    bench.wait_until(lambda: bench.states() == {"a": "succeeded", "b": "succeeded"})
    threading.Event().wait(max(0.0, reset - time.time()))
    bench.add("c", verification="none", checks=[])
    code, report = loop.end()
    assert (code, report["reason"]) == (0, "sessions_spent"), loop.events
    assert workers(bench) == [("a", "scripted"), ("a", "second"), ("b", "second"), ("c", "scripted")]
    assert bench.ends("a") == ["infra", "complete"]


def test_a_stopped_agent_asks_a_person_and_another_one_goes_on(new_bench: NewBench) -> None:
    bench = new_bench(rule("*", *honest()))
    bench.rules(rule("a", {"exit": 77}), rule("*", *honest()))
    for key in ("a", "b"):
        bench.add(key, verification="none", checks=[])
    code, report, loop = bench.run("--once")
    assert (code, report["reason"]) == (0, "drained"), loop.events
    assert loop.wait_for("stopped")["gate"].startswith("scripted/")
    assert workers(bench) == [("a", "scripted"), ("a", "second"), ("b", "second")]
    assert bench.states() == {"a": "succeeded", "b": "succeeded"}


def test_dry_run_names_the_agent_that_would_begin(new_bench: NewBench) -> None:
    bench = new_bench()
    bench.rules()
    bench.add("a")
    assert bench.run("--dry-run")[2].named("would_start")[0]["agent"] == "scripted"
