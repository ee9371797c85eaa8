"""What a person's orders and an agent's account make of a running loop, as a child process over real projects."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loop_bench import LoopBench, LoopProcess, NewBench, honest, rule


@pytest.fixture
def new_bench(tmp_path: Path) -> Iterator[NewBench]:
    made: list[LoopBench] = []

    def make(name: str = "one", **fields: Any) -> LoopBench:
        folder = tmp_path / name
        folder.mkdir()
        environment = {"WORKLOOP_STATE": str(tmp_path / "state")}
        made.append(LoopBench(folder, environment=environment, **fields).open())
        return made[-1]

    yield make
    for bench in made:
        bench.close()


@pytest.fixture
def bench(new_bench: NewBench) -> LoopBench:
    return new_bench()


def clean(loop: LoopProcess, key: str) -> None:
    """Wait until a session of an item has ended well."""
    wanted: dict[str, Any] = {"key": key, "class": "clean"}
    loop.wait_for("ended", **wanted)


def held(bench: LoopBench) -> LoopProcess:
    """Start a loop whose first session has begun and waits for the mark `go`."""
    go = {"wait_for": str(bench.mark("go"))}
    bench.rules(rule("a", {"say": "ready"}, go, *honest(), attempt=1), rule("*", *honest()))
    bench.add("a", verification="none", checks=[])
    bench.add("b", verification="none", checks=[])
    loop = bench.start()
    loop.wait_for("agent", key="a", what="ready")
    return loop


def test_stop_order_lets_the_session_finish_and_is_used_up(bench: LoopBench) -> None:
    loop = held(bench)
    assert bench.ask("stop")["ordered"] == "stop"
    loop.wait_for("draining")
    bench.mark("go").touch()
    code, report = loop.end()
    assert (code, report["reason"], bench.ends("a"), bench.ends("b")) == (0, "stopped", ["complete"], [])
    assert bench.ask("stop", code=7)["code"] == "NO_LOOP"
    assert bench.run("--once")[1]["reason"] == "drained"


def test_stop_order_for_now_ends_the_session_and_gives_its_item_back(bench: LoopBench) -> None:
    loop = held(bench)
    bench.ask("stop", "--now")
    code, report = loop.end()
    assert (code, report["reason"], bench.ends("a"), bench.state("a")) == (0, "stopped", ["infra"], "pending")


def test_mistake_in_the_settings_keeps_nobody_from_stopping_the_loop(bench: LoopBench) -> None:
    loop = held(bench)
    with bench.settings.place.config.open("a") as settings:
        settings.write("\n[loop.typo]\n")
    assert bench.ask("stop", "--now")["ordered"] == "stop"
    assert loop.end()[1]["reason"] == "stopped"


def test_halted_loop_does_not_start_again_until_it_is_resumed(bench: LoopBench) -> None:
    loop = held(bench)
    bench.ask("stop", "--halt", "the disk is full")
    bench.mark("go").touch()
    code, report = loop.end()
    assert (code, report["reason"]) == (0, "halted")
    again = bench.run("--once")[1]
    assert (again["reason"], again["attended"]) == ("halted", 0)
    assert "the disk is full" in again["detail"]
    assert bench.ask("resume", "--halted") == {"was_halted": True}
    assert bench.run("--once")[1]["reason"] == "drained"


def test_a_paused_target_gets_nothing_until_it_is_resumed_whatever_its_queue_says(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    loop = bench.start()
    loop.wait_for("serving")
    name = bench.settings.targets[0].name
    assert bench.ask("pause", "lunch", "--target", name)["target"] == name
    why = bench.ask("why", "--target", name)
    bench.add("a", verification="none", checks=[])
    assert why
    assert bench.ask("resume", "--target", name)["was_paused"] is True
    loop.wait_for("ended", key="a")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0
    bench.add("b", verification="none", checks=[])
    bench.ask("pause", "dinner", "--target", name)
    code, report, second = bench.run("--once")
    assert (code, report["reason"], second.named("claimed")) == (3, "nothing_claimable", [])
    assert "dinner" in report["detail"]


def test_a_pause_that_cannot_be_read_is_a_pause(bench: LoopBench) -> None:
    """C30: an unreadable stop condition keeps the pause and says so."""
    bench.rules(rule("*", *honest()))
    bench.add("a", verification="none", checks=[])
    folder = bench.settings.folder / "control"
    folder.mkdir(mode=0o700)
    order = folder / f"pause-{bench.settings.targets[0].name}"
    for spoil in (lambda: order.write_text("{"), lambda: order.symlink_to("/dev/zero"), order.mkdir):
        spoil()
        code, report, _ = bench.run("--once")
        assert (code, report["attended"]) == (3, 0)
        assert "cannot be read" in report["detail"]
        order.rmdir() if order.is_dir() and not order.is_symlink() else order.unlink()
    assert bench.run("--once")[1]["reason"] == "drained"


def test_an_agent_that_lost_its_login_is_stopped_with_one_question_and_its_answer_opens_it(bench: LoopBench) -> None:
    bench.rules(rule("a", {"exit": 77}, attempt=1), rule("*", *honest()))
    bench.add("a", verification="none", checks=[], priority=1)
    bench.add("b", verification="none", checks=[])
    loop = bench.start()
    assert "log" in loop.wait_for("stopped")["remedy"]
    bench.wait_until(lambda: bench.state("a") == "deferred")
    assert (bench.ends("a"), bench.show("a")["attempts"], bench.ends("b")) == (["infra"], 0, [])
    (reason,) = bench.client.call("why", {"key": "a"})["reasons"]
    assert "log" in reason["message"]
    bench.client.call("answer", {"key": "a", "text": "I did"})
    loop.wait_for("reopened")
    clean(loop, "a")
    clean(loop, "b")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0


def test_a_stopped_agent_stays_stopped_over_a_restart_and_a_person_resumes_it(bench: LoopBench) -> None:
    bench.rules(rule("a", {"exit": 77}, attempt=1), rule("*", *honest()))
    bench.add("a", verification="none", checks=[])
    code, report, _ = bench.run("--once")
    assert (code, report["reason"]) == (6, "harness_stopped"), report
    code, report, second = bench.run("--once")
    assert (code, report["reason"], second.named("claimed")) == (6, "harness_stopped", [])
    loop = bench.start()
    loop.wait_for("serving")
    bench.ask("resume", "--agent", "scripted")
    clean(loop, "a")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0
    assert bench.state("a") == "succeeded"


SEVERAL = """
[loop]
harness = "scripted"
integration_branch = "main"
idle_poll_interval = 3600.0
keep_awake = false
{loop}
[harness.scripted]
script = "{script}"
[target.one]
work_dir = "{one}"
[target.two]
work_dir = "{two}"
"""


def several(one: LoopBench, two: LoopBench, loop: str = "") -> Path:
    """Write the settings of a loop over two projects."""
    path = one.folder / "loop.toml"
    text = SEVERAL.format(one=one.repository.path, two=two.repository.path, script=one.script, loop=loop)
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_one_loop_serves_two_projects_in_turn(new_bench: NewBench) -> None:
    one, two = new_bench("one"), new_bench("two")
    one.rules(rule("*", *honest()))
    for bench in (one, two):
        for key in ("a", "b", "c"):
            bench.add(key, verification="none", checks=[])
    path = several(one, two)
    loop = LoopProcess([*one.argv("--config", str(path), "run", "--once")], one.environment)
    one.loops.append(loop)
    code, report = loop.end()
    assert (code, report["reason"], report["sessions"]) == (0, "drained", 6), loop.events
    turns = [told["target"] for told in loop.named("claimed")]
    assert turns == ["one", "two"] * 3
    assert set(one.states().values()) | set(two.states().values()) == {"succeeded"}
    words = [word for word in one.argv("--config", str(path), "run", "--once", "--no-json") if word != "--json"]
    said = subprocess.run(words, env=one.environment, capture_output=True, text=True, check=False).stdout.splitlines()
    assert said[-3:] == ["one: 3 of 3 done", "two: 3 of 3 done", "workloop -C PROJECT status says more"]


def test_a_store_that_cannot_be_used_stops_its_own_target_only(new_bench: NewBench) -> None:
    import sqlite3

    one, two = new_bench("one"), new_bench("two")
    one.rules(rule("*", *honest()))
    loop = LoopProcess(one.argv("--config", str(several(one, two)), "run"), one.environment)
    one.loops.append(loop)
    loop.wait_for("serving", 2)
    with sqlite3.connect(one.settings.place.store) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("DELETE FROM campaign")
        raw.commit()
    two.add("a", verification="none", checks=[])
    loop.wait_for("ended", target="two", key="a")
    assert loop.wait_for("store", target="one")
    two.wait_until(lambda: two.state("a") == "succeeded")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0


def test_a_loop_over_several_is_refused_while_one_of_them_is_driven(new_bench: NewBench) -> None:
    one, two = new_bench("one"), new_bench("two")
    one.rules(rule("*", *honest()))
    first = two.start()
    first.wait_for("serving")
    loop = LoopProcess(one.argv("--config", str(several(one, two)), "run", "--once"), one.environment)
    one.loops.append(loop)
    code, _ = loop.end()
    assert (code, [told["code"] for told in loop.events if "code" in told]) == (4, ["LOOP_RUNNING"])
    first.send(signal.SIGINT)
    first.end()


def test_dry_run_over_several_says_what_the_scheduler_would_do(new_bench: NewBench) -> None:
    one, two = new_bench("one"), new_bench("two")
    one.rules(rule("*", *honest()))
    two.add("a")
    loop = LoopProcess(one.argv("--config", str(several(one, two)), "run", "--dry-run"), one.environment)
    one.loops.append(loop)
    code, report = loop.end()
    assert (code, report["reason"]) == (0, "dry_run"), loop.events
    assert loop.named("would_start")[0]["target"] == "two"
    assert (loop.named("would_wait")[0]["target"], loop.named("would_wait")[0]["code"]) == ("one", "idle")


def test_a_limit_of_one_project_lets_the_other_with_another_agent_go_on(new_bench: NewBench) -> None:
    """A limit pauses its own account and nothing else; the loop's time is not waited away."""
    one = new_bench("one", loop="run_seconds_max = 3600.0")
    one.rules(rule("a", {"say": "I begin"}, {"limit": 7200}, attempt=1), rule("*", *honest()))
    one.add("a", verification="none", checks=[])
    code, report, loop = one.run()
    assert (code, report["reason"]) == (75, "limited"), loop.events
    assert "the run ends at" in report["detail"]
    assert one.ends("a") == ["infra"]
