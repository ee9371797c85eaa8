"""A loop that keeps lanes takes them along with its claims, and nobody gets one before the loop has cleaned it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from queue_bench import HOST, Answer, Bench, open_bench
from workloop.domain.errors import WorkloopError
from workloop.domain.grants import Actor, Grant
from workloop.domain.lane import LaneKeeper
from workloop.service.perform import perform

MARK = "host:box:shop"


@pytest.fixture(params=["memory", "sqlite"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made = open_bench(request.param, tmp_path)
    yield made
    made.store.close()


def loop(bench: Bench, holder: str = "slot", *, shut: frozenset[str] = frozenset(), **more: str) -> Answer:
    """Claim as a loop that keeps the browser."""
    keeper = LaneKeeper(mark=MARK, names=frozenset({"browser"}), shut=shut)
    said = {"holder": holder, "executor": holder, **more}
    return perform(replace(bench.queue, keeper=keeper), HOST, "claim", said)


def worker(taken: Answer) -> Actor:
    """Return the session of a claim."""
    return Actor(principal="session:one", grant=Grant.SESSION, token=taken["token"])


def lane(bench: Bench, name: str = "browser") -> str:
    """Return a lane's state."""
    return next(row["state"] for row in bench.do("status")["lanes"] if row["lane"] == name)


def test_claim_takes_its_lane_along_and_leaves_it_dirty_however_it_ends(bench: Bench) -> None:
    bench.add("x", lane="browser", priority=1)
    bench.add("y", lane="browser", priority=2)
    taken = loop(bench)
    assert (taken["item"]["key"], lane(bench)) == ("x", "held")
    assert bench.do("lane_acquire", worker(taken)) == {
        "lane": "browser",
        "state": "held",
        "grant": 1,
        "resources": [],
    }
    bench.do("release", HOST, token=taken["token"], reason="it was killed", infra=True)
    assert lane(bench) == "dirty"
    assert loop(bench, "other")["item"] is None
    bench.do("lane_clean", HOST, lane="browser", resources=[MARK])
    assert lane(bench) == "free"
    assert loop(bench, "other")["item"]["key"] in ("x", "y")
    assert bench.broken() == []


def test_loop_is_given_other_work_while_the_lane_is_taken_and_waits_when_there_is_none(bench: Bench) -> None:
    bench.add("first", lane="browser", priority=1)
    bench.add("second", lane="browser", priority=2)
    bench.add("free", priority=900)
    assert loop(bench, "one")["item"]["key"] == "first"
    assert loop(bench, "two")["item"]["key"] == "free"
    assert loop(bench, "three")["item"] is None
    why = bench.do("why", key="second")
    assert [reason["code"] for reason in why["reasons"]] == ["LANE"]
    assert "held by first" in why["reasons"][0]["message"]


def test_coordinator_is_given_other_work_first_and_then_what_waits_for_the_lane(bench: Bench) -> None:
    bench.add("first", lane="browser", priority=1)
    bench.add("second", lane="browser", priority=2)
    bench.add("free", priority=900)
    bench.do("lane_acquire", token=bench.claim("first", "a")["token"])
    assert bench.claim(None, "b")["item"]["key"] == "free"
    assert bench.claim(None, "c")["item"]["key"] == "second"


def test_lane_that_the_loop_shut_is_handed_out_to_nobody(bench: Bench) -> None:
    bench.add("x", lane="browser")
    assert loop(bench, shut=frozenset({"browser"}))["item"] is None
    assert loop(bench)["item"]["key"] == "x"


def test_lane_that_the_loop_does_not_keep_stays_its_sessions_affair(bench: Bench) -> None:
    bench.add("x", lane="db")
    taken = loop(bench)
    assert lane(bench, "db") == "free"
    bench.do("lane_acquire", worker(taken))
    bench.do("release", HOST, token=taken["token"], reason="done", infra=True)
    assert lane(bench, "db") == "free"


def test_named_item_whose_lane_is_taken_is_refused_and_nothing_is_claimed(bench: Bench) -> None:
    bench.add("x", lane="browser")
    bench.add("y", lane="browser")
    loop(bench, key="x")
    with pytest.raises(WorkloopError, match="LANE_BUSY"):
        loop(bench, "other", key="y")
    assert bench.state("y") == "pending"


def test_only_the_loop_or_a_person_without_a_claim_speaks_for_the_mark(bench: Bench) -> None:
    bench.add("x", lane="browser")
    taken = loop(bench)
    session = worker(taken)
    bench.refused("HOST_ONLY", "lane_record", session, resources=["host:somebody"])
    bench.refused("HOST_ONLY", "lane_clean", session, resources=[MARK])
    bench.do("lane_record", session, resources=["tab"])
    bench.do("release", session, reason="I give up")
    bench.do("lane_clean", lane="browser", resources=["tab", MARK])
    assert lane(bench) == "free"


def test_lane_that_a_session_gave_back_early_is_dirty_until_the_loop_has_seen_to_it(bench: Bench) -> None:
    bench.add("x", lane="browser")
    session = worker(loop(bench))
    bench.do("lane_release", session)
    assert lane(bench) == "dirty"
    bench.refused("LANE_DIRTY", "lane_acquire", session)
