"""What outlives a run however it ended, and what no run lets into its records or takes from a changed file."""

import hashlib
import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from repair_stage import LIMITS, QUICK, Seen, Stage, stopped
from workloop.repair.config import read_bench_config
from workloop.repair.ledger.records import StopReason, VerdictKind
from workloop.repair.ledger.verifying import verify
from workloop.repair.loading import load_driver_file
from workloop.repair.port import EvidenceFile, PhaseContext, Verdict, unknown
from workloop.repair.supervisor.bench import Surroundings, run_bench
from workloop.store.system import SystemClock
from workloop.testing.scripted_driver import commit_of, finding, hanging, raising, until_aborted, worked

FOUND = worked(candidate=commit_of(70), observations=(finding(),))
SECRETS = ("sk-scripted-0123456789abcdef", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "of no shape at all")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    tmp_path.chmod(0o700)
    return Stage(folder=tmp_path)


def leaves(then: object) -> Callable[..., object]:
    """Return an entry that leaves two files of evidence and goes on as it is told."""

    def work(context: PhaseContext, *more: object) -> object:
        """Leave what happened, deep and shallow."""
        (context.evidence_dir / "deep").mkdir()
        (context.evidence_dir / "deep" / "log.txt").write_text(f"what happened in {context.phase}")
        (context.evidence_dir / "empty").touch()
        return then(context, *more) if callable(then) else then

    return work


def signalled(context: PhaseContext, *_: object) -> object:
    """Have a signal come, and end by the abort."""
    os.kill(os.getpid(), signal.SIGTERM)
    return until_aborted(context)


def killed(*_: object) -> object:
    """Have both signals come, and hang until cancelled."""
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    return hanging()


ENDS: dict[str, tuple[object, StopReason]] = {
    "success": (worked(candidate=commit_of(71)), StopReason.QUEUE_COMPLETE),
    "failure": (raising, StopReason.DRIVER_ERROR),
    "wrong value": (None, StopReason.DRIVER_ERROR),
    "unknown charge": (
        replace(worked(candidate=commit_of(71)), charge=unknown("nobody says")),
        StopReason.UNKNOWN_CHARGE,
    ),
    "end of the time": (hanging, StopReason.RUNTIME_LIMIT),
    "signal": (signalled, StopReason.SIGTERM),
    "two signals": (killed, StopReason.SIGINT),
}


def resolved(stage: Stage, seen: Seen, phase: str) -> list[str]:
    """Hold that each file of a phase's evidence is there as its record says; returns their digests."""
    kept = [record for record in seen.of("evidence") if record["phase"] == phase]
    assert sorted(str(record["name"]) for record in kept) == [f"{phase}/deep/log.txt", f"{phase}/empty"]
    for record in kept:
        held = (stage.folder / "run.jsonl.evidence" / str(record["name"])).read_bytes()
        assert hashlib.sha256(held).hexdigest() == record["digest"]
        assert len(held) == record["size_bytes"]
    return sorted(str(record["digest"]) for record in kept)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", ["run_task", "run_repair"])
def test_evidence_of_a_worker_is_there_as_its_record_says_however_the_phase_ended(
    stage: Stage, name: str, end: str
) -> None:
    then, reason = ENDS[end]
    stage.limits = replace(LIMITS, max_runtime_ms=3_000 if end == "end of the time" else LIMITS.max_runtime_ms)
    stage.patience = replace(QUICK, grace_ms=50)
    if name == "run_repair" and end == "success":
        then = worked(candidate=commit_of(71), base=stage.harness.commit)
    seen = stage.see({"run_task": [FOUND] if name == "run_repair" else [], name: [leaves(then)]})
    stopped(seen, reason)
    (phase,) = [start["phase"] for start in seen.of("phase_start") if start["kind"] == name.removeprefix("run_")]
    digests = resolved(stage, seen, str(phase))
    (ended,) = [record for record in seen.of("phase_end") if record["phase"] == phase]
    assert ended["evidence"] == digests


def test_a_verdict_points_at_evidence_that_is_there(stage: Stage) -> None:
    def accepts(context: PhaseContext, _: object, candidate: str) -> Verdict:
        """Leave the output of the check and name it."""
        (context.evidence_dir / "output.txt").write_text("3 passed")
        named = EvidenceFile(path="output.txt", digest=hashlib.sha256(b"3 passed").hexdigest())
        return Verdict(kind=VerdictKind.ACCEPTANCE, commit=candidate, passed=True, evidence=(named,))

    seen = stage.see({"accept_task": [accepts]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    (kept,) = seen.of("evidence")
    assert seen.of("verdict")[0]["evidence"] == [kept["digest"]]
    assert (stage.folder / "run.jsonl.evidence" / str(kept["name"])).read_text() == "3 passed"


class Unshowable:
    """A value that cannot even be written down."""

    def __repr__(self) -> str:
        raise ValueError("no words for it")


ODD: dict[str, object] = {
    "long": "x" * 1_000_000,
    "without words": Unshowable(),
    "steering": ["\x1b[2J\x1b]0;title\x07"],
    "deep": {"deep": [[[]]] * 9_999},
}


@pytest.mark.parametrize("kind", ODD)
def test_a_value_that_a_driver_may_not_return_is_on_record_as_far_as_it_can_be_shown(stage: Stage, kind: str) -> None:
    def odd(*_: object) -> object:
        """Return what no driver may."""
        return ODD[kind]

    seen = stage.see({"run_task": [odd]})
    stopped(seen, StopReason.DRIVER_ERROR)
    told = str(seen.of("phase_end")[0]["detail"])
    assert "expected WorkerResult, got " in told
    assert len(told) < 1_000
    assert told.isprintable()
    assert b"\x1b" not in stage.ledger.read_bytes()


def telling(*_: object) -> object:
    """Fail with a message of a provider's that repeats the key."""
    raise RuntimeError(f"401 for key {SECRETS[0]} and https://user:{SECRETS[1]}@host/, and {SECRETS[2]}")


@pytest.mark.parametrize("name", ["run_task", "accept_task", "settle", "close"])
def test_a_secret_in_an_error_comes_into_no_record(stage: Stage, name: str) -> None:
    """Two look like keys, and one is known."""
    stage.secrets = SECRETS[2:]
    seen = stage.see({name: [telling]})
    held = stage.ledger.read_text("utf-8") + seen.ended.detail
    assert "401 for key " in held
    assert [secret for secret in SECRETS if secret in held] == []


@pytest.mark.parametrize("before", [2_900, 2_970, 2_990, 3_900, 3_990])
def test_half_a_secret_at_the_end_of_a_long_error_comes_into_no_record(stage: Stage, before: int) -> None:
    def long(*_: object) -> object:
        """Fail with a message in which a key stands where it will be cut."""
        raise RuntimeError("x" * before + stage.secrets[0] + "y" * 5_000)

    stage.secrets = ("hush-" + "0123456789" * 9,)
    seen = stage.see({"run_task": [long]})
    stopped(seen, StopReason.DRIVER_ERROR)
    held = stage.ledger.read_text("utf-8") + seen.ended.detail
    assert "xxx" in held
    assert "hush" not in held
    assert "0123456" not in held


DRIVER = """
from pathlib import Path
from workloop.testing.scripted_driver import ScriptedDriver, commit_of, finding, worked

HERE = Path(__file__).parent

def worker(context, *more):
    for name in ("driver.py", "campaign.json"):
        (HERE / name).write_text((HERE / f"later-{name}").read_text())
    return worked(candidate=None, observations=tuple(finding(name) for name in "abc"), transient="network")

def create_work_loop_driver(config):
    return ScriptedDriver(script={"run_task": [worker]}, reachable=(HERE / "worker",))
"""
CAMPAIGN = {
    "tasks": [{"id": "one", "prompt": "do it"}],
    "harness": {"commit": "a" * 40, "runtimeId": "sha256:first"},
    "maxTasks": 1,
    "maxTaskAttempts": 2,
    "maxRepairs": 1,
    "maxRepairAttempts": 1,
    "maxRuntimeMs": 60_000,
    "maxSpendUsd": 1,
}


def test_no_worker_replaces_what_is_in_charge_of_its_run(stage: Stage) -> None:
    """The files are changed as soon as the first worker begins: limits, driver and digests stay those of the start."""
    campaign = {**CAMPAIGN, "ledgerPath": str(stage.ledger)}
    looser = {**campaign, "maxRepairs": 9, "maxTaskAttempts": 9}
    files = {
        "driver.py": DRIVER,
        "campaign.json": json.dumps(campaign),
        "later-driver.py": "raise RuntimeError('another driver')",
        "later-campaign.json": json.dumps(looser),
    }
    for name, text in files.items():
        (stage.folder / name).write_text(text)
        (stage.folder / name).chmod(0o600)
    config = read_bench_config(stage.folder / "campaign.json")
    file = load_driver_file(stage.folder / "driver.py")
    around = Surroundings(
        clock=SystemClock(), monotonic=stage.monotonic, run_id="run-1", version="0", patience=stage.patience
    )
    ended = run_bench(config, file, around)
    assert (ended.reason, stage.folder.joinpath("driver.py").read_text()) == (
        StopReason.QUEUE_COMPLETE,
        files["later-driver.py"],
    )
    found = verify(stage.ledger)
    assert found.first_bad is None
    assert found.close is not None
    assert (found.close.accepted, found.close.repairs) == (("one",), 1)
    opened = json.loads(stage.ledger.read_text().splitlines()[0])["data"]
    assert opened["driver_digest"] == hashlib.sha256(DRIVER.encode()).hexdigest()
    assert opened["config_digest"] == hashlib.sha256(files["campaign.json"].encode()).hexdigest()
