"""What is verified reaches the integration branch through the loop, or comes back as new work."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from loop_bench import LoopBench, check, commit, complete, honest, rule, write


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LoopBench]:
    made = LoopBench(tmp_path, campaign='landing = "local-merge"', poll=0.3).open()
    yield made
    made.close()


def facts(bench: LoopBench, key: str) -> list[str]:
    """Return the kinds of an item's facts."""
    return [fact["kind"] for fact in bench.show(key)["facts"]]


def test_verified_work_lands_and_only_then_lets_its_dependants_go(bench: LoopBench) -> None:
    look = {"run": "grep -q fixed thing.txt", "expect": 0}
    bench.rules(
        rule("a", *honest()), rule("b", {"say": "on"}, look, write("other.txt", "fixed\n"), commit(), complete())
    )
    bench.add("a")
    bench.add("b", depends_on=["a"], checks=[check("grep -q fixed other.txt")], priority=1)
    code, report, loop = bench.run("--once")
    assert (code, report["reason"], report["sessions"]) == (0, "drained", 2), loop.events
    assert [facts(bench, key)[-1] for key in ("a", "b")] == ["landed", "landed"]
    told = [(one["event"], one["key"]) for one in loop.events if one["event"] in ("landing", "claimed")]
    assert told.index(("landing", "a")) < told.index(("claimed", "b"))
    assert bench.repository.git("show", "main:thing.txt") == "fixed"
    assert (bench.repository.path / "other.txt").read_text() == "fixed\n"
    assert bench.repository.git("status", "--porcelain") == ""


def test_landing_that_conflicts_becomes_new_work_from_the_new_tip(bench: LoopBench) -> None:
    take, go = {"touch": str(bench.mark("up"))}, {"wait_for": str(bench.mark("go"))}
    bench.rules(rule("a", take, go, *honest()), rule("a~g1", *honest(text="fixed upon the other\n")))
    bench.add("a")
    loop = bench.start("--once")
    loop.wait_for("session", key="a")
    loop.wait_for("agent", key="a", kind="started")
    bench.repository.commit({"thing.txt": "changed by a person\n"})
    bench.mark("go").touch()
    code, _ = loop.end()
    assert code == 0, loop.events
    assert facts(bench, "a")[-2:] == ["landing_refused", "succeeded_by"]
    assert bench.state("a~g1") == "succeeded"
    assert facts(bench, "a~g1")[-1] == "landed"
    assert bench.repository.git("show", "main:thing.txt") == "fixed upon the other"


def test_uncommitted_change_of_the_operator_holds_a_landing_up_until_it_is_gone(bench: LoopBench) -> None:
    other = ({"say": "on"}, write("other.txt", "fixed\n"), commit(), complete())
    bench.rules(rule("a", *honest()), rule("b", *other))
    bench.add("a")
    (bench.repository.path / "thing.txt").write_text("the operator is at it\n")
    loop = bench.start()
    assert loop.wait_for("landing", key="a")["outcome"] == "checkout_dirty"
    assert (bench.state("a"), facts(bench, "a").count("landed")) == ("succeeded", 0)
    bench.add("b", verification="none", checks=[])
    assert loop.wait_for("landing", key="b")["outcome"] == "checkout_dirty"
    assert (bench.repository.path / "thing.txt").read_text() == "the operator is at it\n"
    bench.repository.git("checkout", "-q", "--", "thing.txt")
    bench.wait_until(lambda: "landed" in facts(bench, "a"))
    assert bench.repository.git("show", "main:thing.txt") == "fixed"
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0
    told = [(told["key"], told["outcome"]) for told in loop.named("landing")]
    assert sorted(told) == [(key, outcome) for key in ("a", "b") for outcome in ("checkout_dirty", "landed")]


def test_what_could_not_land_is_told_with_its_reason_after_the_loop_has_ended(bench: LoopBench) -> None:
    """A result that waits is no result that is done: why, status and the closing line say so until it landed."""
    bench.rules(rule("a", *honest()))
    bench.add("a")
    (bench.repository.path / "thing.txt").write_text("the operator is at it\n")
    bench.run("--once")
    told = bench.ask("why", "a")
    assert [reason["code"] for reason in told["reasons"]] == ["TO_LAND"]
    assert told["loop"]["decision"]["code"] == "checkout_dirty"
    assert "commit or stash in the checkout: thing.txt" in told["loop"]["decision"]["unblock"]
    assert bench.ask("status")["to_land"] == 1
    bench.repository.git("checkout", "-q", "--", "thing.txt")
    bench.run("--once")
    told = bench.ask("why", "a")
    assert [reason["code"] for reason in told["reasons"]] == ["SUCCEEDED"]
    assert "checkout_dirty" not in json.dumps(told)
    assert bench.ask("status")["to_land"] == 0


def test_run_that_only_landed_something_has_worked_and_says_so(bench: LoopBench) -> None:
    """Exit code 3 is for a run that had nothing to do, and this one moved the integration branch."""
    bench.rules(rule("a", *honest()))
    bench.add("a")
    mine = bench.repository.path / "thing.txt"
    mine.write_text("a person is at work\n")
    bench.run("--once")
    bench.repository.git("checkout", "--", "thing.txt")
    code, report, loop = bench.run("--once")
    assert facts(bench, "a")[-1] == "landed", loop.events
    assert (report["reason"], report["attended"], report["landings"]) == ("drained", 0, 1)
    assert code == 0
    code, report, _ = bench.run("--once")
    assert (code, report["reason"], report["landings"]) == (3, "nothing_claimable", 0), "now there is nothing to do"


def test_guard_that_is_red_on_the_merge_refuses_the_landing(bench: LoopBench) -> None:
    """Each side is green alone; only the merge shows that they do not go together."""
    take, go = {"touch": str(bench.mark("up"))}, {"wait_for": str(bench.mark("go"))}
    bench.rules(rule("a", take, go, *honest()), rule("a~g1", {"say": "I look at it"}))
    guard = {"id": "together", "command": "! grep -q fixed thing.txt || ! grep -q new other.txt"}
    bench.add("a", guards=[guard], attempts_max=1)
    loop = bench.start("--once")
    loop.wait_for("agent", key="a", kind="started")
    bench.repository.commit({"other.txt": "new\n"})
    bench.mark("go").touch()
    assert loop.end()[0] == 0
    assert loop.wait_for("landing", key="a")["outcome"] == "guards_not_green"
    assert (facts(bench, "a")[-2:], bench.state("a~g1")) == (["landing_refused", "succeeded_by"], "failed")
    assert bench.repository.git("show", "main:thing.txt") == "broken"
