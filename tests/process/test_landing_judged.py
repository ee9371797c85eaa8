"""No result that lands is judged there by files it brought: not on the merge, and not while it is watched."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loop_bench import LoopBench, honest, rule, write

SUITE = {"id": "suite", "command": "make -s suite || exit 1"}
TOGETHER = "suite:\n\t! grep -q fixed thing.txt || ! grep -q new other.txt\n"
NOTHING = "suite:\n\t@true\n"
CONTRACT: dict[str, Any] = {"guards": [SUITE], "protected": ["tests/**"], "attempts_max": 1}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LoopBench]:
    """A loop that merges here and looks at the branch at its start, over a project whose Makefile runs its tests."""
    table = "[landing]\nwatch_every_seconds = 3600\n"
    made = LoopBench(tmp_path, campaign='landing = "local-merge"', poll=0.3, harnesses=table).open()
    made.repository.commit({"Makefile": TOGETHER})
    yield made
    made.close()


def while_working(bench: LoopBench, files: dict[str, str]) -> str:
    """Run the loop, commit files to the branch while the agent works, and return how the landing of `a` ended."""
    loop = bench.start("--once")
    loop.wait_for("agent", key="a", kind="started")
    bench.repository.commit(dict(files))
    bench.mark("go").touch()
    assert loop.end()[0] == 0
    return str(loop.wait_for("landing", key="a")["outcome"])


def waiting(bench: LoopBench, *steps: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return an agent that waits for a person before it does its work."""
    return {"touch": str(bench.mark("up"))}, {"wait_for": str(bench.mark("go"))}, *steps


def test_what_a_result_brings_for_the_test_runner_does_not_judge_its_merge(bench: LoopBench) -> None:
    """E01: each side is green alone; the runner's file of the candidate would hide what only the merge shows."""
    lie = (write("Makefile", NOTHING), *honest())
    bench.rules(rule("a", *waiting(bench, *lie)), rule("a~g1", {"say": "I look at it"}))
    bench.add("a", **CONTRACT)
    assert while_working(bench, {"other.txt": "new\n"}) == "guards_not_green"
    assert bench.repository.git("show", "main:thing.txt") == "broken"


def test_the_operators_own_tests_take_the_place_of_a_results_on_the_merge(tmp_path: Path) -> None:
    """E01: the overlay counts on the merge as it did at the verification."""
    own = tmp_path / "own" / "tests"
    own.mkdir(parents=True)
    (own / "suite.sh").write_text("! grep -q fixed thing.txt || ! grep -q new other.txt\n")
    overlay = f"checks_overlay = {json.dumps(str(own.parent))}"
    bench = LoopBench(tmp_path, campaign='landing = "local-merge"', poll=0.3, loop=overlay).open()
    lie = (write("tests/suite.sh", "true\n"), *honest())
    bench.rules(rule("a", *waiting(bench, *lie)), rule("a~g1", {"say": "I look at it"}))
    bench.add("a", guards=[{"id": "suite", "command": "sh tests/suite.sh"}], attempts_max=1)
    assert while_working(bench, {"other.txt": "new\n"}) == "guards_not_green"
    bench.close()


def test_an_honest_change_of_a_runners_file_lands(bench: LoopBench) -> None:
    """Decision: nobody is refused for having touched the Makefile; it only does not judge its own merge."""
    bench.rules(rule("a", write("Makefile", f"{TOGETHER}\nclean:\n\trm -f made\n"), *honest()))
    bench.add("a", **CONTRACT)
    assert bench.run("--once")[0] == 0
    assert [fact["kind"] for fact in bench.show("a")["facts"]][-1] == "landed"


@pytest.mark.parametrize(
    ("brought", "guard"), [("Makefile", SUITE), ("tests/suite.sh", {"id": "suite", "command": "sh tests/suite.sh"})]
)
def test_what_landed_later_does_not_keep_the_watch_green(bench: LoopBench, brought: str, guard: dict[str, str]) -> None:
    """E21: whoever guts a guard together with the break, the branch is not said to be still green by that."""
    bench.repository.commit({"tests/suite.sh": "! grep -q fixed thing.txt || ! grep -q new other.txt\n"})
    bench.rules(rule("a", *honest()))
    bench.add("a", **{**CONTRACT, "guards": [guard]})
    assert bench.run("--once")[0] == 0
    tip = bench.repository.commit({brought: NOTHING if brought == "Makefile" else "true\n", "other.txt": "new\n"})
    _, _, loop = bench.run("--once")
    facts = [(fact["kind"], fact["ref"]) for fact in bench.show("a")["facts"]]
    assert {kind for kind, _ in facts} == {"landed"}
    assert loop.wait_for("watch", tip=tip)["unclear"] == ["suite (green_by_later_files)"]
    assert [key for key in bench.states() if "~g" in key] == []
