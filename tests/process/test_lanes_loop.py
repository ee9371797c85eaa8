"""A lane changes hands in running loops: taken along with a claim, made ready, cleaned of what was recorded alone."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lane_bench import FETCH, Desk, lane_of, only_these, opens, records, said
from loop_bench import Facts, LoopBench, call, commit, complete, gone, honest, rule, wait_for_file, write

HANG: tuple[Facts, ...] = ({"say": "ready"}, {"hang": True})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def bench(desk: Desk) -> Iterator[LoopBench]:
    made = desk.open()
    yield made
    made.close()


def with_lane(bench: LoopBench, key: str, **fields: object) -> None:
    """Add an item whose sessions need the lane; nobody verifies it."""
    bench.add(key, **{"lane": "desk", "verification": "none", "checks": [], **fields})


def test_next_owner_after_a_killed_worker_finds_a_clean_lane_and_the_foreign_tab_lives(
    desk: Desk, bench: LoopBench
) -> None:
    desk.put("foreign")
    go = bench.mark("go")
    first = (*opens("one", "two", "three"), {"say": "ready"}, {"wait_for": str(go)}, {"die": "kill"})
    bench.rules(rule("a", *first, attempt=1), rule("a", only_these("foreign"), *opens("four"), *honest(), attempt=2))
    with_lane(bench, "a")
    loop = bench.start("--once")
    loop.wait_for("agent", what="ready")
    assert desk.there() == ["foreign", "one", "three", "two"]
    go.touch()
    code, _ = loop.end()
    assert (code, bench.ends("a")) == (0, ["retry", "complete"]), loop.events
    assert desk.closed() == [["one", "two", "three"], ["four"]]
    assert (desk.there(), lane_of(bench)["state"]) == (["foreign"], "free")
    assert [told["grant"] for told in said(loop, state="ready")] == [1, 2]


def test_loop_that_was_killed_in_the_middle_leaves_the_next_one_a_lane_to_clean(desk: Desk, bench: LoopBench) -> None:
    """What ran along is dead, what was recorded is closed, and what was there before is still there."""
    desk.put("foreign")
    tell_port = {"run": f"echo $WORKLOOP_PORT_PREVIEW > {bench.mark('port')}", "expect": 0}
    bench.rules(
        rule("a", tell_port, *opens("one", "two", "three"), *HANG, attempt=1),
        rule("a", only_these("foreign"), *honest(), attempt=2),
    )
    with_lane(bench, "a", lease_seconds=3600)
    loop = bench.start()
    loop.wait_for("agent", what="ready")
    served = processes_of("http.server", bench.mark("port").read_text().strip())
    assert len(served) == 1
    loop.kill()
    assert lane_of(bench)["state"] == "held"

    code, _, again = bench.run("--once")
    assert (code, bench.ends("a")) == (0, ["infra", "complete"]), again.events
    assert desk.closed() == [["one", "two", "three"]]
    assert (desk.there(), lane_of(bench)["state"]) == (["foreign"], "free")
    assert processes_of("http.server", bench.mark("port").read_text().strip()) == []


def processes_of(*words: str) -> list[int]:
    """Return the living processes whose command line has all these words."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if all(word in argv for word in words):
            found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize("step", ["prepare", "health", "clean", "stop"])
def test_loop_killed_within_one_of_the_commands_is_taken_up_where_it_stood(tmp_path: Path, step: str) -> None:
    mark, go = tmp_path / "reached", tmp_path / "go"
    hold = f"if [ ! -e {go} ]; then echo $$ > {mark}.new; mv {mark}.new {mark}; sleep 3600; fi; "
    desk = Desk(tmp_path)
    usual = desk.folder / "closer.py"
    then = f'exec "$0" {usual}' if step == "clean" else "exit 0"

    desk.commands[step] = ["sh", "-c", hold + then, sys.executable]
    bench = desk.open()
    try:
        desk.put("foreign")
        bench.rules(rule("a", *opens("one", "two"), *honest()))
        with_lane(bench, "a")
        loop = bench.start()
        wait_for_file(mark)
        held = int(mark.read_text())
        loop.kill()
        go.touch()
        code, _, again = bench.run("--once")
        assert (code in (0, 3), bench.state("a")) == (True, "succeeded"), again.events
        assert (desk.there(), lane_of(bench)["state"]) == (["foreign"], "free")
        assert gone(held)
        assert sorted(desk.closed()[0]) == ["one", "two"]
    finally:
        bench.close()


def test_preview_serves_the_checkout_of_the_claim_and_no_other(bench: LoopBench) -> None:
    seen = {"run": f'{sys.executable} -c "{FETCH}" | grep -qx "by a"', "expect": 0}
    bench.rules(
        rule("a", write(text="by a\n"), seen, commit(), complete()),
        rule("b", *honest()),
    )
    with_lane(bench, "a")
    with_lane(bench, "b")
    code, _, loop = bench.run("--once")
    assert (code, bench.states()) == (0, {"a": "succeeded", "b": "succeeded"}), loop.events


def test_work_without_the_lane_goes_first_while_another_holds_it(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    with_lane(bench, "mine", priority=1)
    taken = bench.client.call("claim", {"holder": "somebody", "key": "mine"})
    bench.client.call("lane_acquire", {"token": taken["token"]})
    with_lane(bench, "waits", priority=2)
    bench.add("free", verification="none", checks=[], priority=900)
    loop = bench.start()
    bench.wait_until(lambda: bench.state("free") == "succeeded")
    why = bench.client.call("why", {"key": "waits"})["reasons"]
    assert [reason["code"] for reason in why] == ["LANE"]
    assert "held by mine" in why[0]["message"]
    bench.client.call("release", {"token": taken["token"], "reason": "done with it"})
    bench.wait_until(lambda: bench.state("waits") == "succeeded" and bench.state("mine") == "succeeded")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0
    assert bench.ends("waits") == ["complete"]


def test_two_items_that_need_the_lane_never_have_it_at_once(tmp_path: Path) -> None:
    """Each session takes a file that must not be there, and puts it away again."""
    desk = Desk(tmp_path, loop="sessions_max = 3")
    bench = desk.open()
    try:
        alone = {"run": f"mkdir {bench.mark('alone')}", "expect": 0}
        done = {"run": f"rmdir {bench.mark('alone')}", "expect": 0}
        bench.rules(rule("free", *honest()), rule("*", alone, *opens("{key}"), done, *honest()))
        keys = ["a", "b", "c"]
        for key in keys:
            with_lane(bench, key)
        bench.add("free", verification="none", checks=[])
        code, _, loop = bench.run("--once")
        assert (code, set(bench.states().values())) == (0, {"succeeded"}), loop.events
        assert [bench.ends(key) for key in keys] == [["complete"]] * 3
        assert desk.there() == []
        assert [told["grant"] for told in said(loop, state="ready")] == [1, 2, 3]
    finally:
        bench.close()


def test_foreign_tab_that_a_session_records_is_not_closed(desk: Desk, bench: LoopBench) -> None:
    desk.put("foreign")
    bench.rules(rule("a", *opens("one"), *records("foreign", "never-there"), *honest()))
    with_lane(bench, "a")
    code, _, loop = bench.run("--once")
    assert (code, desk.closed(), desk.there()) == (0, [["one"]], ["foreign"]), loop.events
    assert lane_of(bench)["state"] == "free"


@pytest.mark.parametrize(("adopts", "left"), [(False, ["forgotten", "foreign"]), (True, ["foreign"])])
def test_tab_that_nobody_recorded_is_left_alone_unless_the_lane_adopts(
    tmp_path: Path, adopts: bool, left: list[str]
) -> None:
    desk = Desk(tmp_path, more="adopt = true" if adopts else "")
    bench = desk.open()
    try:
        desk.put("foreign")
        forgotten = {"run": 'touch "$TABS/forgotten"', "expect": 0}
        bench.rules(rule("a", forgotten, *honest()))
        with_lane(bench, "a")
        code, _, loop = bench.run("--once")
        assert (code, desk.there(), lane_of(bench)["state"]) == (0, sorted(left), "free"), loop.events
        assert [told["left"] for told in loop.named("lane") if "left" in told] == ([] if adopts else [["forgotten"]])
    finally:
        bench.close()


def test_cancelled_claim_leaves_a_clean_lane(desk: Desk, bench: LoopBench) -> None:
    bench.rules(rule("a", *opens("one"), *HANG), rule("b", only_these(), *honest()))
    with_lane(bench, "a", lease_seconds=3600)
    with_lane(bench, "b")
    loop = bench.start()
    loop.wait_for("agent", what="ready")
    bench.client.call("cancel", {"key": "a", "reason": "not wanted any more"})
    bench.wait_until(lambda: bench.state("b") == "succeeded")
    loop.send(signal.SIGINT)
    assert loop.end()[0] == 0
    assert (desk.closed(), desk.there(), lane_of(bench)["state"]) == ([["one"]], [], "free")


def test_lane_that_does_not_come_clean_is_asked_about_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    desk = Desk(tmp_path, more="tries = 2")
    desk.commands["clean"] = [
        "sh",
        "-c",
        f"test ! -e {broken} && rm {tmp_path}/tabs/one; echo the tab is stuck >&2; exit 3",
    ]
    bench = desk.open()
    try:
        broken.touch()
        bench.rules(rule("a", *opens("one"), *honest()), rule("b", only_these(), *honest()), rule("free", *honest()))
        with_lane(bench, "a", priority=1)
        with_lane(bench, "b", priority=500)
        bench.add("free", verification="none", checks=[], priority=900)
        loop = bench.start()
        bench.wait_until(lambda: bench.state("b") == "deferred" and bench.state("free") == "succeeded")
        assert said(loop, failures=2)
        reason = bench.client.call("why", {"key": "b"})["reasons"][0]
        assert (reason["code"], "lane desk: clean: it ended with 3" in reason["message"]) == ("BRAKE", True)
        assert (bench.state("a"), lane_of(bench)["state"], desk.there()) == ("succeeded", "dirty", ["one"])
        desk.forget()
        bench.client.call("answer", {"key": "b", "text": "I closed it"})
        bench.wait_until(lambda: bench.state("b") == "succeeded")
        loop.send(signal.SIGINT)
        assert loop.end()[0] == 0
    finally:
        bench.close()


def test_lane_that_cannot_be_made_ready_costs_no_attempt_and_is_asked_about(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    desk = Desk(tmp_path, more="tries = 1")
    desk.commands["prepare"] = ["sh", "-c", f"echo no display; test -e {ready}"]
    bench = desk.open()
    try:
        bench.rules(rule("*", *honest()))
        with_lane(bench, "a")
        bench.add("free", verification="none", checks=[])
        code, _, loop = bench.run("--once")
        assert (code, bench.states()) == (0, {"a": "deferred", "free": "succeeded"}), loop.events
        shown = bench.show("a")
        assert (shown["attempts"], bench.ends("a")) == (0, ["parked"])
        assert "prepare: it ended with 1" in bench.client.call("why", {"key": "a"})["reasons"][0]["message"]
        ready.touch()
        bench.client.call("answer", {"key": "a", "text": "there is a display now"})
        code, _, again = bench.run("--once")
        assert (code, bench.state("a"), lane_of(bench)["state"]) == (0, "succeeded", "free"), again.events
    finally:
        bench.close()


def rests(bench: LoopBench, key: str) -> list[str]:
    """Return the codes of what keeps an item, as far as they name the command that did not make the lane ready."""
    said = "lane desk: prepare: it ended with 1"
    return [one["code"] for one in bench.client.call("why", {"key": key})["reasons"] if said in one["message"]]


def test_good_cleaning_does_not_forget_that_the_lane_could_not_be_made_ready(tmp_path: Path) -> None:
    """It rests between the tries, which no other item cuts short, and then a person is asked."""
    ready = tmp_path / "ready"
    desk = Desk(tmp_path, more="tries = 3")
    desk.commands |= {"prepare": ["sh", "-c", f"echo no display; test -e {ready}"], "health": ["true"]}
    bench = desk.open()
    try:
        bench.rules(rule("*", *honest()))
        with_lane(bench, "a", priority=1)
        with_lane(bench, "b", priority=500)
        loop = bench.start()
        bench.wait_until(lambda: all("LANE" in rests(bench, key) for key in ("a", "b")))
        bench.wait_until(lambda: bench.state("a") == "deferred")
        failures = [told["failures"] for told in loop.named("lane") if "failures" in told]
        assert (failures, bench.ends("a"), bench.ends("b")) == ([1, 2, 3], ["infra", "infra", "parked"], [])
        ready.touch()
        bench.client.call("answer", {"key": "a", "text": "there is a display now"})
        bench.wait_until(lambda: bench.state("a") == bench.state("b") == "succeeded")
        loop.send(signal.SIGINT)
        assert loop.end()[0] == 0
    finally:
        bench.close()


def test_session_cannot_speak_for_the_loop_in_its_lane(bench: LoopBench) -> None:
    mark = "host:nobody"
    bench.rules(
        rule(
            "a",
            call("lane_record", "HOST_ONLY", resources=[mark]),
            call("lane_clean", "HOST_ONLY", resources=[mark]),
            *honest(),
        )
    )
    with_lane(bench, "a")
    code, _, loop = bench.run("--once")
    assert (code, bench.state("a")) == (0, "succeeded"), loop.events


def test_verifier_session_gets_the_lane_of_its_own_at_the_candidate(desk: Desk, bench: LoopBench) -> None:
    from loop_bench import verdict

    at_candidate = {"run": 'test "$(git rev-parse HEAD)" = "$WORKLOOP_CHECKOUT_SHA"', "expect": 0}
    bench.rules(
        rule("a", *opens("one"), *honest()),
        rule("a~v1", only_these(), at_candidate, *opens("two"), *verdict(), role="verify"),
    )
    bench.add("a", lane="desk", verification="both")
    code, _, loop = bench.run("--once")
    assert (code, bench.state("a")) == (0, "succeeded"), loop.events
    assert (desk.closed(), lane_of(bench)["state"]) == ([["one"], ["two"]], "free")


@pytest.mark.parametrize("network", ["open", "loopback"])
def test_behind_walls_the_lanes_sessions_reach_its_tabs_and_its_port(tmp_path: Path, network: str) -> None:
    """Where the network is cut, a session without the lane does not reach its port; nobody else sees its tabs."""
    desk = Desk(tmp_path, loop="sessions_max = 2", sandbox=f'kind = "bwrap"\nnetwork = "{network}"')
    bench = desk.open()
    try:
        asked = f"http://127.0.0.1:{desk.port}/thing.txt"
        strange = FETCH.replace("os.environ['PREVIEW']", f"'{asked}'")
        done = bench.mark("done")
        seen = {"run": f'{sys.executable} -c "{FETCH}" | grep -qx "by a"', "expect": 0}
        lane = (write(text="by a\n"), seen, *opens("one"), {"say": "ready"}, {"wait_for": str(done)})
        reached = {"run": f'{sys.executable} -c "{strange}"', "expect": 0 if network == "open" else 1}
        hidden = {"run": f"test ! -e {desk.tabs}", "expect": 0}
        bench.rules(rule("a", *lane, commit(), complete()), rule("free", {"say": "in"}, reached, hidden, *honest()))
        with_lane(bench, "a", priority=1)
        loop = bench.start()
        loop.wait_for("agent", what="ready")
        bench.add("free", verification="none", checks=[])
        bench.wait_until(lambda: bench.state("free") == "succeeded")
        done.touch()
        bench.wait_until(lambda: bench.state("a") == "succeeded" and lane_of(bench)["state"] == "free")
        loop.send(signal.SIGINT)
        assert loop.end()[0] == 0
        assert (bench.ends("free"), bench.ends("a"), desk.closed()) == (["complete"], ["complete"], [["one"]])
    finally:
        bench.close()
