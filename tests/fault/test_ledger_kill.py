"""A run killed between any two steps of its ledger leaves a good prefix, and an open phase is named, never silent."""

from pathlib import Path

from killing import killer

from ledger_story import story, write
from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.chain import Reason
from workloop.repair.ledger.records import PhaseEnd, PhaseStart, Record, RunClose
from workloop.repair.ledger.verifying import AnchorState, verify

HERE = Path(__file__).parents[1]
# Killed just before a call of the operating system's that writes, makes, locks or syncs something.
CHILD = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from killing import Steps, serve
from ledger_story import story, write
from workloop.repair.ledger.records import StopReason

STEPS = {"open", "pwrite", "fsync", "flock", "fchmod", "close"}
records = list(story())[:4]

def run(last, path):
    steps = Steps(last)

    def called(frame, event, argument):
        if event == "c_call" and argument.__module__ in ("posix", "fcntl") and argument.__name__ in STEPS:
            steps.step()

    sys.setprofile(called)
    write(Path(path), records).stop(StopReason.SIGTERM)
    sys.setprofile(None)

serve(run)
"""


def test_a_run_killed_before_any_step_of_its_ledger_leaves_a_good_prefix(tmp_path: Path) -> None:
    """M18, M24: whatever began is on record before it began, and what has no end is named."""
    step, going = 1, True
    seen: set[tuple[int, bool]] = set()
    with killer("-c", CHILD, str(HERE)) as killed_at:
        while going:
            path = tmp_path / f"{step}" / "run.jsonl"
            going = killed_at(step, str(path))
            if path.exists() and path.stat().st_size:
                seen.add(left(path))
            elif path.exists():
                assert [bad.reason for bad in (verify(path).first_bad,) if bad] == [Reason.TORN]
            else:
                assert not anchor_path(path).exists()
            step += 1
    assert step > 25
    assert {count for count, _ in seen} == {1, 2, 3, 4, 5, 6}
    assert {phase for count, phase in seen if count in (2, 3)} == {True}
    assert {phase for count, phase in seen if count not in (2, 3)} == {False}


def left(path: Path) -> tuple[int, bool]:
    """See what a killed run left be believed; returns how many records it has and whether a phase is open."""
    found = verify(path)
    assert found.first_bad is None
    assert found.anchor in (AnchorState.MATCHES, AnchorState.BEHIND, AnchorState.MISSING)
    written: list[Record] = [entry.record for entry in found.entries]
    began = {record.phase for record in written if isinstance(record, PhaseStart)}
    ends = {record.phase for record in written if isinstance(record, PhaseEnd)}
    assert {start.phase for start in found.open_phases} == began - ends
    assert (found.close is None) is not isinstance(written[-1], RunClose)
    assert not found.held
    return len(written), bool(found.open_phases)


def test_a_torn_last_record_leaves_the_good_prefix_and_names_the_open_phase(tmp_path: Path) -> None:
    """Power that fails in the middle of a write: the torn line is named, and what came before it is believed."""
    path = tmp_path / "torn" / "run.jsonl"
    records = list(story())[:2]
    write(path, records).release()
    size = path.stat().st_size
    with path.open("ab") as stream:
        stream.write(b'{"v":1,"seq":3')
    found = verify(path)
    assert found.first_bad is not None
    assert (found.first_bad.line, found.first_bad.reason) == (4, Reason.TORN)
    assert found.good_prefix == 3
    assert [start.phase for start in found.open_phases] == ["p1"]
    assert path.stat().st_size > size
