"""As an operator: whether a ledger can be believed, what its run came to, and what is left for the next."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_project import Done

from ledger_story import NEW, OPENING, attempt, new_ledger, story, whole_ledger
from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.records import Record, StopReason
from workloop.repair.ledger.writing import Ledger

CAMPAIGN: dict[str, Any] = {
    "tasks": [{"id": "one", "prompt": "mend $(it)"}, {"id": "two", "prompt": 'and "that"\n'}],
    "harness": {"commit": OPENING.harness.commit, "runtimeId": OPENING.harness.runtime_id},
    "ledgerPath": "set below",
    "maxTasks": 2,
    "maxTaskAttempts": 2,
    "maxRepairs": 1,
    "maxRepairAttempts": 2,
    "maxRuntimeMs": 60_000,
    "maxSpendUsd": 1.25,
    "driver": {"repository": "somewhere"},
}


def workloop(folder: Path, *words: str) -> Done:
    """Run the command."""
    argv = [sys.executable, "-m", "workloop", *words]
    environment = {**os.environ, "WORKLOOP_STATE": str(folder / "state")}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, timeout=60, check=False)
    ended = Done(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in ended.err, ended.err
    return ended


def campaign(folder: Path) -> Path:
    """Write a campaign's file."""
    path = folder / "campaign.json"
    path.write_text(json.dumps({**CAMPAIGN, "ledgerPath": str(folder / "run" / "run.jsonl")}))
    return path


def started(folder: Path, records: list[Record]) -> Ledger:
    """Make the ledger of a run of that campaign, so far."""
    config = campaign(folder)
    bound = hashlib.sha256(config.read_bytes()).hexdigest()
    opening = replace(OPENING, config_path=str(config), config_digest=bound)
    ledger = new_ledger(folder / "run" / "run.jsonl", opening=opening)
    for record in records:
        ledger.append(record)
    return ledger


def test_a_whole_ledger_of_a_finished_run_verifies_with_0(tmp_path: Path) -> None:
    whole_ledger(tmp_path / "run" / "run.jsonl")
    done = workloop(tmp_path, "ledger", "verify", "run/run.jsonl")
    assert done.code == 0
    assert (done.answer["whole"], done.answer["closed"], done.answer["stopped"]) == (True, True, "queue-complete")
    assert workloop(tmp_path, "ledger", "verify", "run/run.jsonl", "--head", done.answer["head"]).code == 0
    assert workloop(tmp_path, "ledger", "verify", "run/run.jsonl", "--head", "0" * 64).code == 9


def test_a_changed_ledger_verifies_with_9_and_its_line(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.jsonl"
    whole_ledger(path)
    path.write_bytes(path.read_bytes().replace(b'"passed":false', b'"passed":true'))
    done = workloop(tmp_path, "ledger", "verify", "run/run.jsonl")
    assert (done.code, done.answer["first_bad_line"], done.answer["good_records"]) == (9, 7, 6)
    shown = workloop(tmp_path, "ledger", "show", "run/run.jsonl")
    assert (shown.code, len(shown.out.splitlines())) == (9, 6)
    assert "line 7 is bad" in shown.err
    assert workloop(tmp_path, "ledger", "report", "run/run.jsonl").code == 9
    assert workloop(tmp_path, "repair", "remaining", "run/run.jsonl").code == 9
    assert "first bad line: 7" in workloop(tmp_path, "ledger", "verify", "run/run.jsonl", "--no-json").out


def test_a_copy_without_its_head_verifies_only_when_one_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.jsonl"
    whole_ledger(path)
    anchor_path(path).rename(tmp_path / "kept")
    assert workloop(tmp_path, "ledger", "verify", "run/run.jsonl").code == 9
    assert workloop(tmp_path, "ledger", "verify", "run/run.jsonl", "--anchor", "kept").code == 0
    assert workloop(tmp_path, "ledger", "verify", "run/run.jsonl", "--no-anchor").code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("ledger", "verify", "none"), 7),
        (("ledger", "report", "."), 2),
        (("ledger", "verify"), 2),
        (("ledger", "show", "one", "two"), 2),
        (("repair", "remaining", "none"), 7),
        (("ledger", "verify", "none", "--key", "none"), 2),
    ],
)
def test_what_is_no_ledger_is_told_as_such(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    assert workloop(tmp_path, *words).code == code


def test_a_killed_run_is_told_with_its_open_phase_and_leaves_all_its_tasks(tmp_path: Path) -> None:
    """M24: no run is resumed; what is left becomes a campaign that its operator looks at first."""
    ledger = started(tmp_path, [attempt("p1", "one")])
    held = workloop(tmp_path, "repair", "remaining", str(ledger.path))
    assert (held.code, held.problem["code"]) == (4, "LEDGER_HELD")
    ledger.release()
    done = workloop(tmp_path, "ledger", "verify", str(ledger.path))
    assert (done.code, done.answer["open_phases"]) == (1, ["p1 (task of one)"])
    report = workloop(tmp_path, "ledger", "report", str(ledger.path))
    assert (report.code, [task["uncertain"] for task in report.answer["tasks"]]) == (1, [True, False])
    left = workloop(tmp_path, "repair", "remaining", str(ledger.path))
    assert left.code == 0
    assert left.answer == {**CAMPAIGN, "ledgerPath": str(tmp_path / "run" / "run.2.jsonl")}
    assert "uncertain: one" in left.err
    assert "nobody knows what 1 phases cost" in left.err
    with ledger.path.open("ab") as stream:
        stream.write(b'{"v":1')
    assert workloop(tmp_path, "ledger", "verify", str(ledger.path)).code == 9
    assert workloop(tmp_path, "repair", "remaining", str(ledger.path)).answer == left.answer


def test_what_is_left_is_taken_up_with_the_last_harness_and_a_new_ledger(tmp_path: Path) -> None:
    ledger = started(tmp_path, list(story())[:-5])
    ledger.stop(StopReason.SPEND_LIMIT)
    (tmp_path / "run" / "run.2.jsonl").touch()
    left = workloop(tmp_path, "repair", "remaining", str(ledger.path))
    assert left.answer["tasks"] == CAMPAIGN["tasks"][1:]
    assert left.answer["harness"] == {"commit": NEW.commit, "runtimeId": NEW.runtime_id}
    assert left.answer["ledgerPath"] == str(tmp_path / "run" / "run.3.jsonl")
    assert workloop(tmp_path, "ledger", "report", str(ledger.path)).code == 1
    campaign(tmp_path).rename(tmp_path / "moved.json")
    assert workloop(tmp_path, "repair", "remaining", str(ledger.path)).code == 7
    moved = workloop(tmp_path, "repair", "remaining", str(ledger.path), "--config", "moved.json")
    assert moved.answer == left.answer
    with (tmp_path / "moved.json").open("a") as stream:
        stream.write(" ")
    changed = workloop(tmp_path, "repair", "remaining", str(ledger.path), "--config", "moved.json")
    assert (changed.code, changed.problem["code"]) == (4, "CAMPAIGN_CHANGED")


def test_a_run_that_left_nothing_leaves_no_campaign(tmp_path: Path) -> None:
    ledger = started(tmp_path, list(story()))
    ledger.stop(StopReason.QUEUE_COMPLETE)
    done = workloop(tmp_path, "repair", "remaining", str(ledger.path))
    assert (done.code, done.out) == (3, "")


def test_what_people_read_cannot_steer_their_terminal(tmp_path: Path) -> None:
    whole_ledger(tmp_path / "run" / "run.jsonl")
    for command in ("show", "report"):
        text = workloop(tmp_path, "ledger", command, "run/run.jsonl", "--no-json").out
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
        assert "regression" in text
