"""A person repairs a harness of files without writing a driver: real repositories, walls and programs, one command."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from walls import NEEDS_WALLS

from bundled_campaign import ASK, MANIFEST, RIGHT, WRONG, Campaign, tool
from loop_bench import wait_for_file
from workloop.testing.model.moves import Say
from workloop.testing.model_server import ModelServer

pytestmark = NEEDS_WALLS


@pytest.fixture
def model() -> Iterator[str]:
    """Serve a model that has nothing to say, and return where."""
    with ModelServer(lambda _: [Say("ok")]) as server:
        yield server.url


def test_defect_is_repaired_after_a_wrong_repair_was_refused_and_the_failed_task_is_then_accepted(
    tmp_path: Path, model: str
) -> None:
    campaign = Campaign(tmp_path, model, steps=[WRONG, RIGHT])
    code, said = campaign.run()
    assert (code, said["reason"], said["accepted"]) == (0, "queue-complete", ["one"]), said
    assert [data["kind"] for data in campaign.of("phase_start")] == [
        "task",
        "confirmation",
        "repair",
        "regression",
        "repair",
        "regression",
        "reproducer",
        "activation",
        "task",
        "acceptance",
    ]
    workers = [data["enforced_by"] for data in campaign.of("phase_end") if data["candidate"] or data["phase"] == "p1"]
    assert set(workers) == {"supervisor"}, campaign.of("note")
    (refused,) = campaign.of("repair_rejected")
    assert refused["reason"] == "regression-failed"
    (activated,) = campaign.of("activation")
    runtime = activated["harness"]["runtime_id"]
    assert campaign.cli("runtime", "list")[1]["current"] == runtime
    assert campaign.cli("ledger", "verify", str(campaign.ledger))[0] == 0
    assert [data["detail"] for data in campaign.of("verdict") if data["kind"] == "reproducer"] == [
        "passed 0 of 2 before, 2 of 2 after"
    ]
    notes = {data["topic"]: data["text"] for data in campaign.of("note")}
    assert notes["settings"] == f"{campaign.settings} {hashlib.sha256(campaign.settings.read_bytes()).hexdigest()}"
    assert notes["walls"] == "sessions bwrap:loopback, checks bwrap:none"
    names = [data["name"] for data in campaign.of("evidence")]
    assert "p1/session-1-events.jsonl" in names
    assert not list((tmp_path / "scratch" / "sessions").iterdir())


def rejected(campaign: Campaign) -> list[str]:
    """Return why repairs were refused, in order."""
    return [str(data["reason"]) for data in campaign.of("repair_rejected")]


def test_repair_that_grants_the_tool_more_is_refused_before_anything_of_it_runs(tmp_path: Path, model: str) -> None:
    manifest = json.dumps({**MANIFEST, "capabilities": ["write-tree", "run-programs"]})
    steps = [{**RIGHT, "tools/note/tool.json": manifest}]
    campaign = Campaign(tmp_path, model, steps=steps, changes={"maxRepairAttempts": 1})
    code, said = campaign.run()
    assert (code, said["failed"]) == (1, ["one"])
    assert rejected(campaign) == ["capability-widened"]
    assert {data["runs"] for data in campaign.of("verdict")} == {0}


def test_repair_of_a_protected_file_is_refused_before_anything_of_it_runs(tmp_path: Path, model: str) -> None:
    steps = [{**RIGHT, "tests/check.py": "pass\n"}, RIGHT]
    campaign = Campaign(tmp_path, model, steps=steps, driver={"protected": ["tests/**"]})
    assert campaign.run()[0] == 0
    assert rejected(campaign) == ["protected-path"]


def test_observation_that_nothing_reproduces_begins_no_repair(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model, driver={"reproducers": []})
    code, said = campaign.run()
    assert (code, said["failed"]) == (1, ["one"])
    (confirmation,) = campaign.of("confirmation")
    assert (confirmation["confirmed"], "no reproducer" in confirmation["reason"]) == (False, True)
    assert [data["kind"] for data in campaign.of("phase_start")] == ["task", "confirmation"]


def test_reproducer_that_passes_without_a_repair_is_vacuous(tmp_path: Path, model: str) -> None:
    probe = {"command": [sys.executable, "-c", "pass"]}
    campaign = Campaign(tmp_path, model, driver={"reproducers": [{"kind": "tool_error", "probe": probe}]})
    assert campaign.run()[0] == 1
    assert rejected(campaign) == ["reproducer-vacuous"]


def test_money_that_ends_with_the_first_worker_ends_the_run(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model, changes={"maxSpendUsd": 0.0001})
    code, said = campaign.run()
    assert (code, said["reason"], said["remaining"]) == (6, "spend-limit", ["one"])
    assert campaign.cli("ledger", "verify", str(campaign.ledger))[0] == 0


LOOKING = """
import sys
from pathlib import Path

found = []
for name in json.loads((Path(sys.argv[1]) / "places.json").read_text()):
    try:
        place = Path(name)
        found.append(f"{name}: {sorted(os.listdir(place)) if place.is_dir() else place.read_text()[:80]!r}")
    except OSError as error:
        found.append(f"{name}: {type(error).__name__}")
Path("looked.md").write_text("\\n".join(found))
who = ["-c", "user.name=worker", "-c", "user.email=worker@localhost"]
subprocess.run(["git", "add", "-A"], check=True)
subprocess.run(["git", *who, "commit", "-qm", "looked"], check=True)
"""


def test_repairer_sees_nothing_of_what_judges_it_nor_of_the_operator(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model, changes={"maxRepairAttempts": 1})
    places = [tmp_path / "reproducer", tmp_path / "reproducer" / "probe.py", campaign.ledger, campaign.settings]
    earlier = campaign.private("earlier.jsonl", "what an earlier run of the same campaign has on record")
    (campaign.operator / "earlier.jsonl.evidence").mkdir()
    (campaign.operator / "earlier.jsonl.evidence" / "output.log").write_text("what the reproducer printed")
    places += [earlier, campaign.operator / "earlier.jsonl.evidence", campaign.operator / "provider.key"]
    places += [
        campaign.operator / "campaign.json",
        campaign.ledger.with_name("run.jsonl.evidence"),
        tmp_path / "state/workloop/bench",
    ]
    (tmp_path / "repairers" / "repairer.py").write_text(ASK + LOOKING)
    seen = tmp_path / "open.txt"
    seen.write_text("for everybody")
    opened = (
        f"[sandbox]\nreadable = [{json.dumps(str(tmp_path))}]\n"  # else all of a folder for temporary files is shut
    )
    campaign.settings.write_text(f"{opened}\n{campaign.settings.read_text()}")
    (tmp_path / "memory" / "places.json").write_text(json.dumps([str(place) for place in (*places, seen)]))
    assert campaign.run()[0] == 1
    candidate = campaign.of("verdict")[0]["commit"]
    shown = subprocess.run(
        ["git", "-C", str(campaign.harness.path), "show", f"{candidate}:looked.md"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert "for everybody" in shown.pop(), "what is not hidden is seen"
    assert len(shown) == len(places)
    for place, line in zip(places, shown, strict=True):
        seen = line.removeprefix(f"{place}: ")
        assert seen in ("[]", "''", "FileNotFoundError", "PermissionError", "NotADirectoryError"), line


def test_runtime_under_which_a_task_fails_that_went_well_before_stops_the_run(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model, defect="")
    assert campaign.run()[0] == 0
    worse = {"tools/note/run.py": tool("asked['text'] = 'wrong'")}
    for path, text in worse.items():
        (campaign.harness.path / path).write_text(text)
    campaign.commit = campaign.committed()
    campaign.ledger = campaign.operator / "second.jsonl"
    code, said = campaign.run()
    assert said["reason"] == "harness-regressed", said
    assert "one@" in said["detail"]
    assert code != 0
    assert campaign.cli("ledger", "verify", str(campaign.ledger))[0] == 0


def test_two_runs_never_have_one_repository_and_the_second_says_so(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model)
    (tmp_path / "repairers" / "repairer.py").write_text(ASK + STUCK)
    with campaign.started() as running:
        wait_for_file(tmp_path / "memory" / "stuck")
        campaign.ledger = campaign.operator / "second.jsonl"
        code, said = campaign.run()
        running.terminate()
        assert running.wait(60) == 143
    assert (code, "another repair-run" in said["detail"]) == (2, True), said
    assert not campaign.ledger.exists()
    assert not list((tmp_path / "scratch" / "worktrees").glob("*/*-p*-1"))


def test_what_became_of_a_worker_is_kept_in_words(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model, steps=[RIGHT])
    assert campaign.run()[0] == 0
    told = (campaign.ledger.with_name("run.jsonl.evidence") / "p3" / "worker.txt").read_text()
    assert told.startswith("clean")
    assert "branch workloop/" in told


UNREADY = {
    "an agent nobody knows": ({"taskAgent": "nobody"}, "nobody"),
    "an agent without a meter": ({"taskAgent": "free"}, "would not be metered"),
    "a commit that is not there": ({"projectCommit": "a" * 40}, "is no commit of"),
    "a relative folder": ({"scratch": "scratch"}, "absolute"),
    "a task without a check": ({"acceptance": {}}, "nothing could accept the task"),
    "a check of a task that is not there": ({"acceptance": {"*": [{"command": ["true"]}], "two": []}}, "driver"),
    "no regression": ({"regression": []}, "regression"),
    "an unknown key": ({"speed": 9}, "speed"),
    "a probe without a program": ({"regression": [{"command": []}]}, "program"),
    "a probe as one text": ({"regression": [{"command": "python3 probe.py"}]}, "expected a list"),
    "a protected path of the machine": ({"protected": ["/srv/harness/tests/**"]}, "matches no path"),
    "a protected path with a dot": ({"projectProtected": ["./tests"]}, "matches no path"),
    "a probe where a worker is": ({"regression": [{"command": ["true"], "files": "{tmp}/scratch"}]}, "which a worker"),
    "scratch around the project": ({"scratch": "{tmp}"}, "driver"),
    "one run of a reproducer": ({"reproducerRuns": 1}, "reproducerRuns"),
}


@pytest.mark.parametrize("name", UNREADY)
def test_campaign_that_is_not_ready_is_refused_and_leaves_no_ledger(name: str, tmp_path: Path, model: str) -> None:
    text, told = UNREADY[name]
    driver = json.loads(json.dumps(text).replace("{tmp}", str(tmp_path)))
    campaign = Campaign(tmp_path, model, driver=driver)
    campaign.settings.write_text(
        f'{campaign.settings.read_text()}\n[harness.free]\nkind = "command"\ncommand = ["true"]\n'
    )
    code, said = campaign.run()
    assert code in (2, 7), said
    assert told in json.dumps(said), said
    assert not campaign.ledger.exists()


def test_runtime_of_another_commit_is_refused_with_the_command_that_builds_it(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model)
    campaign.changes = {"harness": {"commit": campaign.commit, "runtimeId": "0" * 64}}
    code, said = campaign.run()
    assert (code, f"workloop runtime build {campaign.harness.path}" in said["suggested_fix"]) == (2, True), said


STUCK = """
import signal

who = ["-c", "user.name=worker", "-c", "user.email=worker@localhost"]
Path("committed.md").write_text("committed")
subprocess.run(["git", "add", "-A"], check=True)
subprocess.run(["git", *who, "commit", "-qm", "half of it"], check=True)
Path("loose.md").write_text("not committed")
(Path(sys.argv[1]) / "stuck").write_text("")
while True:
    signal.pause()
"""


def test_what_a_killed_run_left_is_put_away_by_the_next_one_and_nothing_is_lost(tmp_path: Path, model: str) -> None:
    campaign = Campaign(tmp_path, model)
    repairer = tmp_path / "repairers" / "repairer.py"
    good = repairer.read_text()
    repairer.write_text(ASK + STUCK)
    with campaign.started() as running:
        wait_for_file(tmp_path / "memory" / "stuck")
        running.kill()
        running.wait(30)
    assert list((tmp_path / "scratch" / "worktrees").glob("*/*-p3-1"))
    repairer.write_text(good)
    campaign.ledger = campaign.operator / "second.jsonl"
    code, said = campaign.run()
    assert (code, said["accepted"]) == (0, ["one"]), said
    assert not list((tmp_path / "scratch" / "worktrees").glob("*/*-p*-1"))
    git = ["git", "-C", str(campaign.harness.path)]
    kept = subprocess.run([*git, "log", "--all", "--format=%s"], check=True, capture_output=True, text=True).stdout
    assert "half of it" in kept
    refs = [*git, "for-each-ref", "--format=%(refname)", "refs/workloop/wip"]
    (saved,) = subprocess.run(refs, check=True, capture_output=True, text=True).stdout.split()
    shown = subprocess.run([*git, "show", f"{saved}:loose.md"], check=True, capture_output=True, text=True).stdout
    assert shown == "not committed"
