"""How each bad call or lost race comes about."""

from collections.abc import Callable
from typing import Any

from queue_bench import Answer, Bench, sha

DETAIL: Answer = {"failed": "f", "cause": "c", "next_action": "n"}
Case = tuple[str, str, str, Callable[[Bench], Answer]]


def held(bench: Bench, **fields: Any) -> Answer:
    """Return a claim of a fresh item."""
    bench.add("x", **fields)
    return bench.claim("x")


def of(taken: Answer, **more: Any) -> Answer:
    """Return a completion with a change."""
    usual: Answer = {
        "token": taken["token"],
        "contract_hash": taken["contract_hash"],
        "outcome": {"kind": "commit", "ref": sha(1)},
    }
    return {**usual, **more}


def judging(bench: Bench, **more: Any) -> Answer:
    """Return a verdict with a change."""
    bench.candidate("x", checks=[{"id": "suite", "command": "make test"}])
    taken = bench.claim("x~v1", "checker")
    said: Answer = {"token": taken["token"], "contract_hash": taken["contract_hash"], "verdict": "rejected"}
    return {**said, "failed_checks": ["objective"], "reproduction": "look", **more}


def adding(*items: Answer) -> Callable[[Bench], Answer]:
    """Return a case that adds items, the title being of no concern."""
    return lambda bench: {"items": [{"title": "t", **item} for item in items]}


def after(prepare: Callable[[Bench], object], **arguments: Any) -> Callable[[Bench], Answer]:
    """Return a case that first prepares something."""

    def run(bench: Bench) -> Answer:
        prepare(bench)
        return arguments

    return run


def lapsed(bench: Bench) -> Answer:
    """Return a claim whose lease ends at this very instant."""
    taken = held(bench)
    bench.clock.advance(1800)
    return taken


def taken_over(bench: Bench) -> Answer:
    """Return an old claim of an item that another holds by now."""
    taken = lapsed(bench)
    bench.claim("x", "another")
    return taken


def settled(bench: Bench) -> Answer:
    """Return a claim that was completed."""
    taken = held(bench)
    bench.finish(taken)
    return taken


def in_lane(bench: Bench, **more: Any) -> Answer:
    """Return live evidence with a change, under a claim that holds its lane."""
    taken = held(bench, lane="browser")
    grant = bench.do("lane_acquire", token=taken["token"])["grant"]
    bench.do("lane_record", token=taken["token"], resources=["http://localhost:3000"], checkout_sha=sha(9))
    piece = {"kind": "url", "ref": "http://localhost:3000/a", "grant": grant, "checkout_sha": sha(9), **more}
    return {"token": taken["token"], "evidence": [piece]}


def supersede(key: str, replacement: str, prepare: Callable[[Bench], object]) -> Callable[[Bench], Answer]:
    """Return a case that supersedes."""
    return after(prepare, key=key, replacement=replacement, reason="newer")


def pair(bench: Bench) -> None:
    """Add two items."""
    bench.add("x")
    bench.add("y")


def chain(bench: Bench) -> None:
    """Add a replacement that waits for what it would replace."""
    bench.add("x")
    bench.add("middle", depends_on=["x"])
    bench.add("y", depends_on=["middle"])


def cancelled(bench: Bench) -> None:
    """Add a pair of which the second is over."""
    pair(bench)
    bench.do("cancel", key="y", reason="no")


def full(bench: Bench) -> None:
    """Take every slot."""
    for number in range(4):
        bench.add(f"k{number}")
    for number in range(3):
        bench.claim(f"k{number}", f"h{number}")


def busy_lane(bench: Bench) -> Answer:
    """Let another hold the lane."""
    bench.add("owner", lane="browser")
    bench.do("lane_acquire", token=bench.claim("owner", "first")["token"])
    return {"token": held(bench, lane="browser")["token"]}


def dirty_lane(bench: Bench) -> Answer:
    """Let another leave something in the lane."""
    bench.add("owner", lane="browser")
    taken = bench.claim("owner", "first")
    bench.do("lane_acquire", token=taken["token"])
    bench.do("lane_record", token=taken["token"], resources=["tab"])
    bench.finish(taken)
    return {"token": held(bench, lane="browser")["token"]}


def foreign_tab(bench: Bench) -> Answer:
    """Name a tab that nobody recorded."""
    taken = held(bench, lane="browser")
    bench.do("lane_acquire", token=taken["token"])
    return {"token": taken["token"], "resources": ["somebody's tab"]}


def same_plan(bench: Bench) -> Answer:
    """Retry twice with the same words."""
    bench.do("retry", token=held(bench)["token"], **DETAIL)
    return {"token": bench.claim("x")["token"], **DETAIL}


def stale_verdict(bench: Bench) -> Answer:
    """Judge under a claim whose candidate is over."""
    said = judging(bench)
    bench.do("cancel", key="x", reason="no")
    return said


def own_evidence(bench: Bench) -> Answer:
    """Bring the builder's artifact as the verifier's."""
    taken = held(bench)
    shot = {"kind": "artifact", "ref": "shot.png"}
    bench.finish(taken, evidence=[shot])
    judge = bench.claim("x~v1", "checker")
    return {"token": judge["token"], "contract_hash": judge["contract_hash"], "verdict": "passed", "evidence": [shot]}


def evidence(kind: str, ref: str, **more: Any) -> Callable[[Bench], Answer]:
    """Return a case that attaches one piece."""
    return lambda bench: {"token": held(bench)["token"], "evidence": [{"kind": kind, "ref": ref, **more}]}


def closed_page(bench: Bench) -> Answer:
    """Take live evidence without holding the lane any more."""
    said = in_lane(bench)
    bench.do("lane_release", token=said["token"])
    return said
