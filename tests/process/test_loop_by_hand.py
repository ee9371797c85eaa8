"""A person lets the host check a candidate, without a loop and without a session."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loop_bench import Facts, LoopBench, check


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LoopBench]:
    made = LoopBench(tmp_path).open()
    yield made
    made.close()


def hand_in(bench: LoopBench, text: str, **fields: object) -> str:
    """Complete an item as a person would, with a commit of that text; returns its SHA."""
    bench.add("a", **fields)
    claimed = bench.client.call("claim", {"holder": "a-person"})
    bench.repository.git("checkout", "-q", "-b", "by-hand")
    sha = bench.repository.commit({"thing.txt": text})
    bench.repository.git("checkout", "-q", "main")
    outcome = {"kind": "commit", "ref": sha}
    given: Facts = {"token": claimed["token"], "contract_hash": claimed["contract_hash"], "outcome": outcome}
    bench.client.call("complete", given)
    return sha


def verify(bench: LoopBench) -> Facts:
    """Run `workloop verify` on the item."""
    return bench.ask("verify", "a")


def test_green_checks_settle_what_is_left_to_the_host(bench: LoopBench) -> None:
    hand_in(bench, "fixed\n")
    assert verify(bench) == {
        "key": "a~v1",
        "root": "a",
        "word": "green",
        "reproduction": "",
        "next": "workloop show a",
    }
    assert (bench.state("a"), bench.show("a")["verdicts"][0]["executor"]) == ("succeeded", "host")


def test_red_check_rejects_and_makes_the_repair(bench: LoopBench) -> None:
    hand_in(bench, "still broken\n")
    assert verify(bench)["word"] == "rejected"
    assert bench.states() == {"a": "repairing", "a~v1": "succeeded", "a~r1": "pending"}


def test_receipts_stay_for_the_session_whose_verdict_is_still_needed(bench: LoopBench) -> None:
    sha = hand_in(bench, "fixed\n", verification="both")
    answer = verify(bench)
    assert (answer["word"], answer["next"]) == ("green", "claim a~v1 and complete it with a verdict")
    assert (bench.state("a"), bench.ends("a~v1")) == ("candidate", ["infra"])
    claimed = bench.client.call("verify", {"key": "a", "holder": "another-person"})
    given: Facts = {
        "token": claimed["token"],
        "contract_hash": claimed["contract_hash"],
        "verdict": "passed",
        "evidence": [{"kind": "commit", "ref": sha}],
    }
    assert bench.client.call("complete", given)["root"] == {"key": "a", "state": "succeeded"}


def test_check_that_proves_nothing_is_a_question_for_a_person(bench: LoopBench) -> None:
    hand_in(bench, "fixed\n", checks=[check("true", "vacuous")])
    assert verify(bench)["word"] == "unjudgeable"
    assert bench.state("a") == "deferred"


def test_loop_that_starts_meanwhile_leaves_a_check_by_hand_alone(bench: LoopBench) -> None:
    """Neither the claim nor the checkout of a person's running check belongs to the loop's recovery."""
    up, go = bench.mark("up"), bench.mark("go")
    slow = f"touch {up}; while ! [ -e {go} ]; do sleep 0.05; done; grep -q fixed thing.txt"
    hand_in(bench, "fixed\n", checks=[check(slow)])
    by_hand = subprocess.Popen(bench.argv("verify", "a"), env=bench.environment, stdout=subprocess.PIPE, text=True)
    bench.wait_until(lambda: bench.ends("a~v1") == [None])
    bench.rules()
    code, _, loop = bench.run("--once")
    assert (code, loop.named("kept"), loop.named("recovered")) == (3, [], [])
    go.touch()
    out, _ = by_hand.communicate(timeout=60)
    assert (json.loads(out)["word"], bench.state("a"), bench.ends("a~v1")) == ("green", "succeeded", ["complete"])
