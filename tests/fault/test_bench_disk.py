"""A disk that fills up at any record of a run, or between two: nothing more begins, and the run says so with exit 9."""

import itertools
import json
import os
import resource
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from repair_stage import Stage, records_of, stopped
from workloop.domain.clock import Instant
from workloop.repair.ledger.records import EXIT_CODES, StopReason, VerdictKind, exit_code
from workloop.repair.ledger.verifying import verify
from workloop.repair.port import PhaseContext, Task, Verdict
from workloop.repair.supervisor.bench import Ended
from workloop.repair.supervisor.points import Point
from workloop.store.system import SystemClock
from workloop.testing.scripted_driver import ScriptedDriver, commit_of, finding, runs, worked

RECORDS_MAX = 200
ROOM = 20
"""So many bytes more can be written: a part of a record, and no whole one."""
PHASES = {
    "run_task": "task",
    "accept_task": "acceptance",
    "confirm_observation": "confirmation",
    "run_repair": "repair",
    "verify_regression": "regression",
    "verify_reproducer": "reproducer",
    "activate_harness": "activation",
}


class FillingClock(SystemClock):
    """A clock that leaves no room once a ledger has so many lines; it is asked before each record is written."""

    def __init__(self, ledger: Path, lines: int) -> None:
        self.ledger = ledger
        self.lines = lines
        self.full = False

    def now(self) -> Instant:
        """Return the real time."""
        if not self.full and self.ledger.exists() and self.ledger.read_bytes().count(b"\n") == self.lines:
            self.full = True
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.ledger.stat().st_size + ROOM, hard))
        return super().now()


def room() -> None:
    """Have room again."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def small_files() -> Generator[None]:
    """Have room again afterwards, whatever happened."""
    try:
        yield
    finally:
        room()


def driver(stage: Stage, *, room_again: bool) -> ScriptedDriver:
    """Return a driver of a story with every type of record but a roll-back; closing it may make room."""
    found = worked(candidate=commit_of(70), observations=(finding(),), transient="network")
    refused = worked(candidate=None, base=stage.harness.commit)
    script: dict[str, list[object]] = {
        "run_task": [replace(found, wait_ms=1)],
        "run_repair": [refused],
        "accept_task": [leaving],
        "close": [lambda: room() if room_again else None],
    }
    return ScriptedDriver(script=script, reachable=(stage.folder / "worker",))


def leaving(context: PhaseContext, task: Task, commit: str) -> Verdict:
    """Leave evidence, and a verdict that is refused."""
    (context.evidence_dir / "log.txt").write_bytes(b"x")
    return Verdict(kind=VerdictKind.ACCEPTANCE, commit=commit, passed=False, runs=runs(commit, False))


@pytest.mark.parametrize("room_again", [False, True])
def test_a_disk_that_is_full_at_any_record_ends_the_run_as_a_failure_of_its_ledger(
    tmp_path: Path, *, room_again: bool
) -> None:
    kinds: list[str] = []
    for lines in range(1, RECORDS_MAX):
        folder = tmp_path / str(lines)
        folder.mkdir(mode=0o700)
        clock = FillingClock(folder / "run.jsonl", lines)
        stage = Stage(folder=folder, clock=clock)
        played = driver(stage, room_again=room_again)
        with small_files():
            ended = stage.run(played)
        records = records_of(stage.ledger)
        if not clock.full:
            kinds = [kind for kind, _ in records]
            break
        refused_to_go_on(ended, stage, played, lines, room_again=room_again)
    assert set(kinds) == {"run_open", "phase_start", "phase_end", "charge", "evidence", "note", "observation"} | {
        "confirmation",
        "verdict",
        "repair_rejected",
        "activation",
        "task_outcome",
        "run_close",
    }


def refused_to_go_on(ended: Ended, stage: Stage, played: ScriptedDriver, lines: int, *, room_again: bool) -> None:
    """Hold that nothing happened which is not on record, and that what is on record can be believed."""
    assert ended.reason is StopReason.LEDGER_FAILURE, ended
    assert EXIT_CODES[ended.reason] == 9
    found = verify(stage.ledger)
    assert found.first_bad is None, found.first_bad
    closed = room_again and ended.close is not None
    assert found.good_prefix == lines + closed
    assert found.close == (ended.close if closed else None)
    if ended.close is not None:
        assert exit_code(ended.close) == 9
    began = [data["kind"] for kind, data in records_of(stage.ledger) if kind == "phase_start"]
    asked = [PHASES[name] for name, _ in played.calls if name in PHASES]
    assert asked == began[: len(asked)], "nobody is asked for what is not on record"
    assert len(began) - len(asked) <= 1
    assert [name for name, _ in played.calls][-1] == "close"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of its own that holds few files."""
    place = tmp_path / "disk"
    place.mkdir(mode=0o700)
    words = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=40,mode=700", "tmpfs", str(place)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)  # a test that failed may hold a file there


def fill(place: Path) -> None:
    """Leave no room for another file or folder."""

    def more() -> None:
        """Make files for ever."""
        for number in itertools.count():
            (place / f"filler-{number}").touch()

    with pytest.raises(OSError, match="No space left"):
        more()


@pytest.mark.parametrize("point", [Point.RUN_OPENED, Point.PHASE_STARTED])
def test_a_disk_without_room_for_evidence_ends_the_run_before_anybody_works(small_disk: Path, point: Point) -> None:
    """There is room in the ledger's own last block, so that the run is closed in its own words."""

    def at(here: Point) -> None:
        """Fill the disk at one point."""
        if here is point:
            fill(small_disk)

    seen = Stage(folder=small_disk, at=at).see()
    stopped(seen, StopReason.LEDGER_FAILURE)
    assert "No space left" in seen.ended.detail
    assert seen.ended.close is not None
    assert exit_code(seen.ended.close) == 9
    assert seen.asked == ["worker_paths", "close"]
    assert [start.phase for start in seen.verification.open_phases] == (
        ["p1"] if point is Point.PHASE_STARTED else []
    ), "and not silent about how far it came"


DRIVER = """
import resource
from pathlib import Path
from workloop.testing.scripted_driver import ScriptedDriver

def create_work_loop_driver(config):
    def full(context, task):
        size = config.ledger_path.stat().st_size + 20
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return ScriptedDriver(script={"run_task": [full]}, reachable=(Path("/worker"),))
"""


def test_the_command_says_that_its_ledger_failed_and_ends_with_nine(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    campaign = {
        "tasks": [{"id": "one", "prompt": "do it"}],
        "harness": {"commit": "a" * 40, "runtimeId": "sha256:first"},
        "ledgerPath": str(tmp_path / "run.jsonl"),
        "maxTasks": 1,
        "maxTaskAttempts": 1,
        "maxRepairs": 0,
        "maxRepairAttempts": 1,
        "maxRuntimeMs": 60_000,
        "maxSpendUsd": 1,
        "driver": {},
    }
    for name, text in (("campaign.json", json.dumps(campaign)), ("driver.py", DRIVER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    files = ("--config", str(tmp_path / "campaign.json"), "--driver", str(tmp_path / "driver.py"))
    words = (sys.executable, "-m", "workloop", "repair", *files)
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 9, done
    told = json.loads(done.stdout)
    assert told["reason"] == "ledger-failure"
    assert told["spent_microusd"] is None, "it was not summed up"
    assert "Traceback" not in done.stderr
    found = verify(tmp_path / "run.jsonl")
    assert found.first_bad is None
    assert [start.phase for start in found.open_phases] == ["p1"]
