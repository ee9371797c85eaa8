"""Whatever is seen of a check on a commit, by however many verifiers, it has one verdict there, in every store."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_bench import ANN, HOST, Bench, open_bench
from workloop.domain.evidence import NO_VERDICT, PASSED
from workloop.service.proving import checks_seen

CHECK = {"id": "suite", "command": "make test"}
PIECE = {"kind": "check", "ref": "log", "slot": "suite"}
ANSWER = "answer"
NEXT = "next"
RESULTS = [PASSED, "failed: red", "flaky: flaky", "error: no_result", "timeout: no_result", "absent", "passed: vacuous"]
STEPS = st.lists(st.one_of(st.just(ANSWER), st.just(NEXT), st.lists(st.sampled_from(RESULTS), min_size=1)), max_size=9)


def follow(bench: Bench, steps: list[Any]) -> tuple[dict[str, Any], list[str]]:
    """Take the steps; returns the claim of the last verifier and what was seen since the last answer."""
    key, number, since = bench.candidate("x", checks=[CHECK], attempts_max=5), 1, list[str]()
    taken = bench.claim(key, "judge-1")
    for step in (*steps, NEXT):
        bench.clock.advance(1)
        number += 1
        match step:
            case "answer":
                bench.park("x")
                key, since = bench.do("answer", key="x", text="look again")["follow_up"]["key"], []
                taken = bench.claim(key, f"judge-{number}", executor=f"judge-{number}")
            case "next":
                bench.do("release", HOST, token=taken["token"], infra=True, reason="another")
                taken = bench.claim(key, f"judge-{number}", executor=f"judge-{number}")
            case _:
                pieces = [{**PIECE, "result": result} for result in step]
                bench.do("attach", HOST, token=taken["token"], evidence=pieces)
                since += step
    return taken, since


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_a_check_that_failed_on_a_commit_never_passes_there(backend: str, steps: list[Any]) -> None:
    """DESIGN 3.4, 5: the order of receipts, their number and who brought them change nothing; an answer does."""
    place = Path(tempfile.mkdtemp())
    bench = open_bench(backend, place)
    try:
        taken, since = follow(bench, steps)
        conclusive = [result for result in since if result.partition(":")[0] not in NO_VERDICT]
        expected = next((result for result in conclusive if result != PASSED), PASSED) if conclusive else None
        with bench.store.read() as tx:
            root = bench.item("x")
            seen = checks_seen(tx, root.id, root.candidate_sha or "")
        assert [one.result for one in seen] == ([] if expected is None else [expected])
        bench.do("attach", HOST, token=taken["token"], evidence=[{**PIECE, "result": PASSED}])
        said = {"token": taken["token"], "contract_hash": taken["contract_hash"], "verdict": "passed"}
        if expected in (None, PASSED):
            assert bench.do("complete", ANN, **said)["root"]["state"] == "succeeded"
        else:
            bench.refused("RECEIPT_MISSING", "complete", ANN, **said)
        assert bench.broken() == []
    finally:
        bench.store.close()
        shutil.rmtree(place)
