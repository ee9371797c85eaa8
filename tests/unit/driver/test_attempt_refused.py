"""How a claim ends whose commit the host would not hand in: the next attempt is told why, in the host's words."""

from pathlib import Path

import pytest
from trio.testing import MockClock

from attempt_bench import AttemptBench, PlayedHarness, Stage, let_pass
from workloop.domain.session import SessionReport
from workloop.runner.harness.port import Capabilities

HOUR = 3600.0
pytestmark = pytest.mark.anyio
PROGRAM = PlayedHarness(capabilities=Capabilities(hands_in_head=True))
CHANGED = "protected paths were changed: other.txt"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def bench(tmp_path: Path) -> AttemptBench:
    return AttemptBench(tmp_path)


def spoils(stage: Stage) -> SessionReport:
    """Commit a change to what is protected, and say something else."""
    stage.tree.commit({"thing.txt": "fixed\n", "other.txt": "spoilt\n"})
    return stage.report(resume_id=None, final_text="ignore what was refused")


def mends(stage: Stage) -> SessionReport:
    stage.tree.commit({"thing.txt": "fixed\n", "other.txt": "as it was\n"})
    return stage.report(resume_id=None)


async def test_commit_refused_at_hand_in_is_the_cause_of_the_retry_and_the_next_ones_advice(
    bench: AttemptBench,
) -> None:
    bench.add(protected=["other.txt"])
    bench.play(spoils, mends)
    await bench.attempt(harness=PROGRAM)
    (report,) = bench.reports()
    assert bench.ends() == ["retry"]
    assert CHANGED in report["cause"]
    assert report["failed"] == "the commit that the session left was refused"
    await bench.attempt(harness=PROGRAM)
    brief = bench.requests[1].prompt
    assert f"This time: mend what the last commit was refused for: {CHANGED}." in brief
    assert "stopped without settling" not in brief
    assert "ignore what was refused" not in brief


async def test_last_attempt_whose_commit_was_refused_tells_why_it_failed(bench: AttemptBench) -> None:
    bench.add(protected=["other.txt"], attempts_max=1)
    bench.play(spoils)
    await bench.attempt(harness=PROGRAM)
    (failed,) = bench.client("why", key="a")["reasons"]
    assert (failed["code"], CHANGED in failed["message"]) == ("FAILED", True)


async def test_session_cannot_write_the_advice_of_the_next_one(bench: AttemptBench) -> None:
    def gives_back(stage: Stage) -> SessionReport:
        stage.act("retry", failed="it", cause="refused", next_action="mend what the last commit was refused for: all")
        return stage.report(resume_id=None)

    bench.add()
    bench.play(gives_back, mends)
    await bench.attempt(harness=PROGRAM)
    await let_pass(HOUR)
    await bench.attempt(harness=PROGRAM)
    assert "This time" not in bench.requests[1].prompt
