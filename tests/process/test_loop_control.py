"""How the loop starts, waits and ends, as a child process that gets real signals."""

import signal
import subprocess

import pytest

from loop_bench import LoopBench, LoopProcess, NewBench, call, check, honest, rule, write


@pytest.fixture
def bench(new_bench: NewBench) -> LoopBench:
    return new_bench()


def start_held(bench: LoopBench, *arguments: str) -> LoopProcess:
    """Start a loop whose first session has begun and waits for the mark `go`."""
    up, go = {"touch": str(bench.mark("up"))}, {"wait_for": str(bench.mark("go"))}
    half = write("half.txt", "half\n")
    bench.rules(rule("a", half, up, go, *honest(), attempt=1), rule("*", *honest()))
    bench.add("a")
    bench.add("b")
    loop = bench.start(*arguments)
    loop.wait_for("agent", key="a", what="write ok")
    loop.wait_for("session", key="a")
    return loop


def test_first_interrupt_lets_the_session_finish_and_claims_nothing_more(bench: LoopBench) -> None:
    loop = start_held(bench)
    loop.send(signal.SIGINT)
    assert loop.wait_for("draining") == {"event": "draining", "live": 1, "forced": False}
    bench.mark("go").touch()
    code, report = loop.end()
    assert (code, report["reason"], report["sessions"]) == (0, "stopped", 1)
    assert bench.ends("a") == ["complete"]
    assert (bench.state("a"), bench.ends("b")) == ("candidate", [])


def test_second_interrupt_ends_the_session_and_the_next_loop_goes_on_from_what_it_left(bench: LoopBench) -> None:
    loop = start_held(bench)
    loop.send(signal.SIGINT)
    loop.wait_for("draining")
    loop.send(signal.SIGINT)
    code, _ = loop.end()
    assert (code, bench.ends("a"), bench.state("a")) == (130, ["infra"], "pending")
    assert bench.show("a")["infra"] == 1
    saved = f"refs/workloop/wip/{bench.show('a')['id']}/1"
    assert bench.repository.git("show", f"{saved}:half.txt") == "half"
    assert bench.run("--once")[0] == 0
    assert bench.ends("a") == ["infra", "complete"]


def test_termination_ends_the_session_at_once_with_its_own_exit_code(bench: LoopBench) -> None:
    loop = start_held(bench)
    loop.send(signal.SIGTERM)
    assert loop.end()[0] == 143
    assert (bench.ends("a"), bench.ends("b")) == (["infra"], [])


def test_second_loop_is_refused_and_told_which_one_runs(bench: LoopBench) -> None:
    first = bench.start()
    first.wait_for("serving")
    second = bench.start("--once")
    code, _ = second.end()
    (problem,) = [told for told in second.events if "code" in told]
    assert (code, problem["code"]) == (4, "LOOP_RUNNING")
    assert f"pid {first.popen.pid} " in problem["title"]
    first.send(signal.SIGINT)
    assert first.end()[0] == 0
    assert bench.run("--once")[0] == 3


def test_idle_loop_takes_up_what_is_added_promoted_answered_or_resumed(bench: LoopBench) -> None:
    """No poll falls due while this runs: only the change itself can wake the loop."""
    ask = call("defer", None, boundary="choose-colour", asks="Which?", resume_when="it is chosen")
    found = {"key": "found", "title": "Something else", "checks": [check()], "verification": "host"}
    propose = call("add_items", None, items=[found])
    bench.rules(rule("asks", {"say": "I ask"}, propose, ask, attempt=1), rule("*", *honest()))
    loop = bench.start()
    loop.wait_for("serving")
    bench.add("asks")
    loop.wait_for("claimed", key="asks")
    bench.wait_until(lambda: bench.state("asks") == "deferred")
    bench.client.call("answer", {"key": "asks", "text": "blue"})
    loop.wait_for("claimed", key="asks", attempt=2)
    loop.wait_for("checked", key="asks~v1")
    bench.client.call("pause", {"reason": "lunch"})
    bench.add("later")
    bench.client.call("resume", {})
    loop.wait_for("checked", key="later~v1")
    assert bench.state("found") == "proposed"
    bench.client.call("promote", {"keys": ["found"]})
    loop.wait_for("checked", key="found~v1")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0


def test_paused_campaign_hands_out_nothing(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    bench.add("a")
    bench.client.call("pause", {"reason": "lunch"})
    code, report, loop = bench.run("--once")
    assert (code, report["reason"], loop.named("claimed")) == (3, "nothing_claimable", [])
    bench.client.call("resume", {})
    assert bench.run("--once")[0] == 0
    assert bench.state("a") == "succeeded"


def test_number_of_sessions_is_kept(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    for key in ("a", "b", "c"):
        bench.add(key, verification="none")
    code, report, loop = bench.run("--sessions", "2", "--parallel", "2")
    assert (code, report["reason"], report["sessions"], len(loop.named("session"))) == (0, "sessions_spent", 2, 2)
    assert sorted(bench.states().values()) == ["pending", "succeeded", "succeeded"]


def test_dry_run_says_what_would_be_claimed_and_changes_nothing(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    bench.add("b")
    bench.add("a", priority=1)
    bench.add("blocked", depends_on=["a"])
    before = contents(bench)
    code, report, loop = bench.run("--dry-run")
    assert (code, report["reason"], report["detail"]) == (0, "dry_run", "2 items could be claimed now")
    assert [told["key"] for told in loop.named("would_claim")] == ["a", "b"]
    assert contents(bench) == before
    assert bench.ends("a") == []


def contents(bench: LoopBench) -> dict[str, bytes]:
    """Return every file of the project's private folder but SQLite's shared memory."""
    folder = bench.settings.place.folder
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_usage_limit_is_waited_out_and_the_same_loop_goes_on(bench: LoopBench) -> None:
    bench.rules(rule("a", {"say": "I begin"}, {"limit": 3}, attempt=1), rule("*", *honest()))
    bench.add("a")
    bench.add("b")
    loop = bench.start()
    until = loop.wait_for("limited")["until"]
    bench.wait_until(lambda: bench.show("a")["infra"] == 1)
    loop.wait_for("checked", key="a~v1")
    loop.wait_for("checked", key="b~v1")
    claimed = [claim["claimed_at"] for key in ("a", "b") for claim in bench.show(key)["claims"]]
    assert sum(at < until for at in claimed) == 1
    assert (bench.ends("a"), bench.show("a")["attempts"]) == (["infra", "complete"], 1)
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0


def test_the_last_words_of_a_run_say_what_became_of_the_work(bench: LoopBench) -> None:
    """Who looks in the morning reads one line, whatever the loop said during the night."""
    ask = call("defer", None, boundary="choose-colour", asks="Which?", resume_when="it is chosen")
    bench.rules(rule("good", *honest()), rule("ask", {"say": "hm"}, ask), rule("lie", *honest(text="still bad\n")))
    bench.add("good")
    bench.add("ask")
    bench.add("lie", rounds_max=1)
    bench.add("after", depends_on=["lie"])
    argv = [word for word in bench.argv("run", "--once", "--no-json") if word != "--json"]
    done = subprocess.run(argv, env=bench.environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done
    last = done.stdout.splitlines()[-1]
    told = "1 of 4 done; 1 failed: lie; 1 wait for an answer: ask; 1 blocked; workloop status says more"
    assert last == told, done
