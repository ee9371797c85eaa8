"""The loop, its worker and its store fail at the worst moment; nothing is done twice, lost, or left running."""

import os
import select
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loop_bench import BOUND_SECONDS, LoopBench, LoopProcess, check, commit, gone, honest, rule, wait_for_file, write

TELL_PID = "echo $PPID > {mark}.new && mv {mark}.new {mark}"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LoopBench]:
    made = LoopBench(tmp_path).open()
    yield made
    made.close()


def telling_its_pid(bench: LoopBench, name: str = "pid") -> dict[str, Any]:
    """Return the step by which an agent writes down its own process."""
    return {"run": TELL_PID.replace("{mark}", str(bench.mark(name))), "expect": 0}


def pid_in(bench: LoopBench, loop: LoopProcess, name: str = "pid") -> int:
    """Return a process that was written down, once it says that it has begun."""
    loop.wait_for("agent", what="ready")
    return int(bench.mark(name).read_text())


def wait_for_death(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([handle], [], [], BOUND_SECONDS)
        assert ended, f"{pid} still runs"
    finally:
        os.close(handle)


def test_killed_loop_takes_its_agent_along_and_the_next_one_finishes_at_once(bench: LoopBench) -> None:
    """A35: at start the next loop proves death, saves the work and ends the claim; nobody waits for a lease."""
    first = (telling_its_pid(bench), write("half.txt", "half\n"), write("done-by-first.txt", "1\n"), commit("part one"))
    half = write("half.txt", "more than half\n")
    bench.rules(
        rule("a", *first, half, {"say": "ready"}, {"hang": True}, attempt=1),
        rule("a", {"run": "test -e done-by-first.txt", "expect": 0}, *honest(), attempt=2),
    )
    bench.add("a", lease_seconds=3600)
    loop = bench.start()
    agent = pid_in(bench, loop)
    loop.kill()
    wait_for_death(agent)
    assert bench.state("a") == "in_progress"

    code, report, again = bench.run("--once")
    assert (code, report["sessions"], bench.state("a")) == (0, 1, "succeeded"), again.events
    assert bench.ends("a") == ["infra", "complete"]
    assert [told["key"] for told in again.named("recovered")] == ["a"]
    assert bench.repository.git("show", f"{again.named('salvaged')[0]['ref']}:half.txt") == "more than half"
    candidate = bench.show("a")["candidate"]
    assert bench.repository.git("log", "--format=%s", f"main..{candidate}") == "work\npart one"
    assert len(bench.repository.git("worktree", "list").splitlines()) == 1
    assert (bench.show("a")["attempts"], bench.show("a")["infra"], bench.show("a")["expiries"]) == (1, 1, 0)


def test_check_of_a_killed_loop_is_ended_by_the_next_one(bench: LoopBench) -> None:
    bench.rules(rule("a", *honest()))
    mark, slow = bench.mark("check"), bench.mark("slow")
    slow.touch()
    hangs = (
        f"if [ -e {slow} ]; then echo $$ > {mark}.new; mv {mark}.new {mark}; sleep 3600; fi; grep -q fixed thing.txt"
    )
    bench.add("a", checks=[check(hangs, timeout_seconds=3600)])
    loop = bench.start()
    loop.wait_for("claimed", key="a~v1")
    wait_for_file(mark)
    checking = int(mark.read_text())
    loop.kill()
    slow.unlink()
    assert not gone(checking)
    code, report, again = bench.run("--once")
    assert (code, report["sessions"], bench.state("a")) == (0, 0, "succeeded"), again.events
    assert gone(checking)
    assert bench.ends("a~v1") == ["infra", "complete"]


def test_killed_worker_is_one_attempt_and_its_work_goes_to_a_side_reference(bench: LoopBench) -> None:
    killed = (telling_its_pid(bench), write("half.txt", "half\n"), {"say": "ready"}, {"hang": True})
    bench.rules(rule("a", *killed, attempt=1), rule("a", *honest(), attempt=2))
    bench.add("a")
    loop = bench.start("--once")
    os.kill(pid_in(bench, loop), signal.SIGKILL)
    code, _ = loop.end()
    assert (code, bench.state("a"), bench.ends("a")) == (0, "succeeded", ["retry", "complete"])
    assert loop.named("ended")[0]["class"] == "crashed"
    assert bench.repository.git("show", f"refs/workloop/wip/{bench.show('a')['id']}/1:half.txt") == "half"


@pytest.mark.parametrize("manner", ["polite", "deaf"])
def test_superseded_item_loses_its_session_at_once_and_the_loop_goes_on(bench: LoopBench, manner: str) -> None:
    """A06: the lease is an hour, but the session ends now, even one that ignores every polite signal."""
    deaf = ({"deaf": True},) if manner == "deaf" else ()
    hang = (telling_its_pid(bench), write("half.txt", "half\n"), *deaf, {"say": "ready"}, {"hang": True})
    bench.rules(rule("old", *hang), rule("new", *honest()))
    bench.add("old", lease_seconds=3600)
    loop = bench.start()
    agent = pid_in(bench, loop)
    bench.add("new")
    bench.client.call("supersede", {"key": "old", "replacement": "new", "reason": "the plan changed"})
    assert loop.wait_for("lost", key="old")["error"] == "the claim was ended by somebody else"
    assert gone(agent)
    assert loop.wait_for("ended", key="old")["class"] == "stopped"
    loop.wait_for("checked", key="new~v1")
    bench.wait_until(lambda: bench.state("new") == "succeeded")
    assert (bench.state("old"), bench.ends("old")) == ("superseded", ["superseded"])
    saved = f"refs/workloop/wip/{bench.show('old')['id']}/1"
    assert bench.repository.git("show", f"{saved}:half.txt") == "half"
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0


def test_cancelled_verifier_has_its_running_check_ended(bench: LoopBench) -> None:
    mark = bench.mark("check")
    bench.rules(rule("a", *honest()))
    bench.add("a", checks=[check(f"echo $$ > {mark}.new; mv {mark}.new {mark}; sleep 3600", timeout_seconds=3600)])
    loop = bench.start()
    wait_for_file(mark)
    bench.client.call("cancel", {"key": "a", "reason": "not wanted any more"})
    loop.wait_for("lost", key="a~v1")
    assert gone(int(mark.read_text()))
    assert bench.states() == {"a": "cancelled", "a~v1": "cancelled"}
    bench.rules(rule("b", *honest()))
    bench.add("b")
    loop.wait_for("checked", key="b~v1")
    assert loop.named("fault") == []


def test_settle_waits_for_a_store_that_is_busy_for_a_while(bench: LoopBench) -> None:
    """The session ends while another writer holds the store for longer than any call waits."""
    go = bench.mark("go")
    bench.rules(rule("a", {"say": "ready"}, {"wait_for": str(go)}, attempt=1), rule("a", *honest(), attempt=2))
    bench.add("a")
    loop = bench.start("--once")
    loop.wait_for("agent", what="ready")
    with bench.store.write():
        go.touch()
        loop.wait_for("store", key="a")
    code, _ = loop.end()
    assert (code, bench.state("a"), bench.ends("a")) == (0, "succeeded", ["retry", "complete"]), loop.events
    assert loop.named("fault") == []


def test_damaged_store_ends_the_loop_with_its_own_exit_code(bench: LoopBench) -> None:
    bench.rules(rule("a", *honest()))
    loop = bench.start()
    loop.wait_for("serving")
    with sqlite3.connect(bench.settings.place.store) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("DELETE FROM campaign")
        raw.commit()
    code, _ = loop.end()
    problems = [told for told in loop.events if "code" in told]
    assert (code, [problem["code"] for problem in problems]) == (7, ["CAMPAIGN_NOT_FOUND"]), loop.events


def test_item_whose_dependencies_do_not_merge_is_parked_and_the_rest_goes_on(bench: LoopBench) -> None:
    """One item that no session can mend must not stop the loop."""
    bench.rules(
        rule("a", *honest(text="fixed one way\n")), rule("b", *honest(text="fixed another way\n")), rule("*", *honest())
    )
    bench.add("a")
    bench.add("b")
    bench.add("both", depends_on=["a", "b"], priority=1)
    bench.add("free", priority=900)
    code, report, loop = bench.run("--once")
    assert (code, report["reason"]) == (0, "drained"), loop.events
    states = {key: state for key, state in bench.states().items() if "~" not in key}
    assert states == {"a": "succeeded", "b": "succeeded", "both": "deferred", "free": "succeeded"}
    assert "does not merge: thing.txt" in bench.client.call("why", {"key": "both"})["reasons"][0]["message"]


def test_loop_killed_with_eight_sessions_live_takes_up_every_one_of_them_once(tmp_path: Path) -> None:
    """Nothing is lost, nothing is doubled, and no process of the first loop is left."""
    bench = LoopBench(tmp_path, loop="sessions_max = 8", campaign="slots = 8").open()
    try:
        keys = [f"item-{number}" for number in range(8)]
        first = [
            rule(key, telling_its_pid(bench, key), write(f"{key}.txt"), {"say": "ready"}, {"hang": True}, attempt=1)
            for key in keys
        ]
        bench.rules(*first, rule("*", *honest()))
        for key in keys:
            bench.add(key, verification="none", checks=[], lease_seconds=3600)
        loop = bench.start()
        for key in keys:
            loop.wait_for("agent", key=key, what="ready")
        agents = [int(bench.mark(key).read_text()) for key in keys]
        loop.kill()
        code, report, again = bench.run("--once")
        assert (code, report["sessions"]) == (0, 8), again.events
        assert sorted(told["key"] for told in again.named("recovered")) == keys
        assert [bench.ends(key) for key in keys] == [["infra", "complete"]] * 8
        assert all(gone(agent) for agent in agents)
        assert len(bench.repository.git("worktree", "list").splitlines()) == 1
        rows = bench.ask("sessions", "--limit", "50")["sessions"]
        assert len(rows) == 16
        assert sum("killed" in (row.get("detail") or "") for row in rows) == 8
    finally:
        bench.close()
