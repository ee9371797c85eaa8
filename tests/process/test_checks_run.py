"""The host runs the checks itself: real commands in real checkouts."""

import hashlib
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from check_bench import FAILED, PASSED, Bench, guards, proves
from loop_bench import gone
from workloop.domain.checks import CheckOutcome, JudgeReason
from workloop.domain.errors import Conflict
from workloop.runner.command import LOG_BYTES_MAX, TAIL_BYTES_MAX
from workloop.runner.registry import leftovers


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench in an empty folder."""
    return Bench(tmp_path)


def test_a_check_red_on_the_base_and_green_on_the_candidate_proves_it(bench: Bench) -> None:
    """Decision: both sides are run in clean checkouts of exactly those commits, and the receipt says so."""
    (bench.scratch.path / "value.txt").write_text("dirty\n")
    result = bench.one(proves('sh tests/check.sh value.txt && echo "it says $(cat value.txt)"'))
    assert (result.outcome_on_base, result.outcome_on_candidate) == (FAILED, PASSED)
    assert (result.green, result.reason, result.exit_code) == (True, JudgeReason.PROVEN, 0)
    assert result.output_tail == "it says new\n"
    assert result.output_digest == hashlib.sha256(b"it says new\n").hexdigest()
    assert Path(result.log_path).read_text() == "it says new\n"
    assert result.sandbox == "none"
    assert result.duration_us > 0


def test_e11_a_check_that_cannot_fail_is_vacuous(bench: Bench) -> None:
    """E11: a gate must have been seen red; one that passes on the base tells nothing."""
    assert bench.one(proves("true")).reason is JudgeReason.VACUOUS
    lenient = replace(proves("true"), red_on_base=False)
    assert bench.one(lenient).green


def test_m01_a_candidate_that_does_nothing_fails_every_proof(bench: Bench) -> None:
    """M01: the null agent's floor."""
    bench.candidate = bench.base
    assert not bench.one(proves("sh tests/check.sh value.txt")).green
    assert not bench.one(proves("true")).green


def test_e01_nothing_examined_is_not_green(bench: Bench) -> None:
    """E01: an empty set of checks passes nothing."""
    assert not bench.run(bench.plan()).green


def test_a_check_that_could_not_run_on_the_base_was_not_seen_red(bench: Bench) -> None:
    """Decision: a missing test file is no red assertion; the check's author may count its exit code as red."""
    bench.candidate = bench.scratch.commit({"tests/new.sh": "exit 0\n"})
    check = proves("test -f tests/new.sh || exit 4; sh tests/new.sh")
    result = bench.one(check)
    assert (result.outcome_on_base, result.reason) == (CheckOutcome.ERROR, JudgeReason.BASE_NOT_RED_BY_ASSERTION)
    assert not result.green
    assert bench.one(replace(check, red_exit_codes=(1, 4))).reason is JudgeReason.PROVEN


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        (("no-such-program-here",), CheckOutcome.ABSENT),
        (("./value.txt",), CheckOutcome.ABSENT),
        ("no-such-program-here", CheckOutcome.ABSENT),
        ("exit 5", CheckOutcome.ERROR),
        ("kill -9 $$", CheckOutcome.ERROR),
        (("sh", "-c", "exit 1"), FAILED),
        (("echo", "$HOME; exit 1"), PASSED),
    ],
)
def test_the_way_a_command_ends_is_read_by_the_rule(
    bench: Bench, command: str | tuple[str, ...], outcome: CheckOutcome
) -> None:
    """Decision: a list is never given to a shell; a text is, because the contract's author wrote it."""
    assert bench.one(guards(command)).outcome_on_candidate is outcome


def test_a_guard_is_run_on_the_base_only_when_the_candidate_fails_it(bench: Bench, tmp_path: Path) -> None:
    """Decision: red before the candidate is told, and costs nothing otherwise."""
    count = tmp_path / "count"
    passing = bench.one(guards(f"echo run >> '{count}'"))
    assert (passing.green, passing.outcome_on_base) == (True, None)
    assert count.read_text() == "run\n"
    failing = bench.one(guards("exit 1"))
    assert (failing.outcome_on_base, failing.reason) == (FAILED, JudgeReason.RED_BEFORE_CANDIDATE)
    caused = bench.one(guards("grep -q old value.txt"))
    assert (caused.outcome_on_base, caused.reason) == (PASSED, JudgeReason.FAILED)


def test_a_failure_that_passes_when_run_again_is_flaky(bench: Bench, tmp_path: Path) -> None:
    """Decision: one re-run, in a fresh checkout; flaky is neither green nor red."""
    mark = tmp_path / "mark"
    result = bench.one(guards(f"test -e here && exit 3; touch here; test -e '{mark}' || {{ touch '{mark}'; exit 1; }}"))
    assert (result.outcome_on_candidate, result.green, result.reason) == (
        CheckOutcome.FLAKY,
        False,
        JudgeReason.FLAKY,
    )


def test_a_check_does_not_run_outside_its_checkout(bench: Bench, tmp_path: Path) -> None:
    """Security: neither its own cwd nor a link of the candidate leads out."""
    (bench.scratch.path / "out").symlink_to(tmp_path)
    bench.candidate = bench.scratch.commit({})
    for cwd in ("out", "..", "/", "missing"):
        check = replace(guards(f"pwd >> '{tmp_path}/where'"), cwd=cwd)
        assert bench.one(check).outcome_on_candidate is CheckOutcome.ABSENT
    assert not (tmp_path / "where").exists()
    assert bench.one(replace(guards("test -f keep"), cwd="sub")).green


def test_what_a_check_does_to_git_stays_in_its_checkout(bench: Bench) -> None:
    """Decision: candidate code can't move a branch or plant a hook in the operator's repository."""
    before = bench.scratch.refs()
    command = "git branch mine && git update-ref refs/heads/main HEAD~1 && git config core.hooksPath /x"
    assert bench.one(guards(command)).green
    assert bench.scratch.refs() == before
    assert "hooksPath" not in (bench.scratch.path / ".git" / "config").read_text()


def test_each_run_starts_clean_whatever_the_one_before_left(bench: Bench) -> None:
    """Decision: a check can't prepare the ground for the next one."""
    spoil = guards("echo exit 0 > tests/check.sh; touch planted; chmod -R a-w .")
    look = guards("test ! -e planted && grep -q grep tests/check.sh")
    assert bench.run(bench.plan(spoil, look)).green


def test_n02_a_check_sees_only_allowed_variables_and_never_a_secret(bench: Bench) -> None:
    """N02: the environment is a list of what may pass; a secret's name is refused even when allowed."""
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "s1",
        "GITHUB_TOKEN": "s2",
        "AWS_SECRET_ACCESS_KEY": "s3",
        "GIT_DIR": "/x",
        "RUSTUP_HOME": "/rust",
        "OTHER": "s4",
    }
    plan = bench.plan(guards("env"))
    plan = replace(plan, environment=environment, allowed_variables=("RUSTUP_HOME", "GITHUB_TOKEN"))
    (result,) = bench.run(plan).results
    names = {line.partition("=")[0] for line in result.output_tail.splitlines()}
    assert {"PATH", "HOME", "RUSTUP_HOME"} <= names
    assert not names & {"OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "GIT_DIR", "OTHER"}
    (private,) = bench.run(replace(bench.plan(guards("echo $HOME")), home=bench.folder)).results
    assert private.output_tail.strip() == str(bench.folder)


def test_standard_input_is_empty(bench: Bench) -> None:
    """Decision: a check that asks a question ends instead of waiting, or reading what the loop's own input holds."""
    reading, writing = os.pipe()
    os.write(writing, b"an answer\n")
    os.close(writing)
    kept = os.dup(0)
    os.dup2(reading, 0)
    try:
        result = bench.one(guards('test -z "$(cat)"'))
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(reading)
    assert result.green


DETACHED = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
with open(sys.argv[1], "w") as out: out.write(str(os.getpid()))
os.rename(sys.argv[1], sys.argv[1] + ".pid")
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
"""


@pytest.mark.parametrize("ending", ["wait", "sleep 600"])
def test_every_process_of_a_check_is_dead_when_it_has_ended(bench: Bench, tmp_path: Path, ending: str) -> None:
    """Decision: also one that forked twice, made its own session, left the folder and ignores SIGTERM."""
    (tmp_path / "detach.py").write_text(DETACHED)
    mark = tmp_path / "daemon"
    command = (
        f"sleep 600 & echo $! > '{tmp_path}/child.pid'; python3 '{tmp_path}/detach.py' '{mark}'; "
        f"while ! test -e '{mark}.pid'; do sleep 0.05; done; {'exit 0' if ending == 'wait' else ending}"
    )
    result = bench.one(guards(command, timeout_seconds=3.0))
    expected = PASSED if ending == "wait" else CheckOutcome.TIMEOUT
    assert result.outcome_on_candidate is expected
    pids = [int((tmp_path / name).read_text()) for name in ("child.pid", "daemon.pid")]
    assert [gone(pid) for pid in pids] == [True, True]


def test_a_check_past_its_limit_is_a_timeout_and_keeps_its_output(bench: Bench) -> None:
    """Decision: neither red nor green; it is not run again."""
    result = bench.one(guards("echo started; sleep 600", timeout_seconds=1.0))
    assert (result.outcome_on_candidate, result.exit_code) == (CheckOutcome.TIMEOUT, None)
    assert result.output_tail == "started\n"


def test_output_is_bounded_in_memory_and_on_disk_and_hashed_whole(bench: Bench) -> None:
    """Decision: tail 64 KiB, log 16 MiB, digest over everything."""
    size = LOG_BYTES_MAX + 3_000_000
    result = bench.one(guards(f"head -c {size} /dev/zero | tr '\\0' x; echo end"))
    assert result.output_digest == hashlib.sha256(b"x" * size + b"end\n").hexdigest()
    assert len(result.output_tail) == TAIL_BYTES_MAX
    assert result.output_tail.endswith("xxend\n")
    assert Path(result.log_path).stat().st_size == LOG_BYTES_MAX


def test_terminal_control_sequences_do_not_reach_the_receipt(bench: Bench) -> None:
    """Security: what an agent's code prints is shown on a person's terminal later."""
    result = bench.one(guards("printf 'a\\033[31mred\\033]0;title\\007\\000\\bz\\377\\n'"))
    assert result.output_tail == "aredz�\n"


def test_a_stop_ends_the_running_check_and_its_checkout(bench: Bench, tmp_path: Path) -> None:
    """Decision: the operator's stop does not wait for a check's limit."""
    stop, seen = threading.Event(), tmp_path / "seen"
    os.mkfifo(seen)
    plan = bench.plan(guards(f"echo $$ > '{seen}'; sleep 600", timeout_seconds=60.0))
    pids: list[int] = []

    def press() -> None:
        pids.append(int(seen.read_text()))
        stop.set()

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(Conflict) as stopped:
        bench.run(plan, stop)
    presser.join(5)
    assert (stopped.value.code, stopped.value.retryable) == ("CHECKS_STOPPED", True)
    assert [gone(pid) for pid in pids] == [True]
    assert leftovers(bench.repository.state_dir) == ()


def test_checks_are_reported_in_the_contracts_order(bench: Bench) -> None:
    """Decision: one receipt for each check, whatever the others did."""
    checks = [replace(guards(f"exit {code}"), id=f"c{code}") for code in (0, 1, 5, 127)]
    report = bench.run(bench.plan(*checks))
    assert [result.check_id for result in report.results] == ["c0", "c1", "c5", "c127"]
    assert [result.green for result in report.results] == [True, False, False, False]
    assert not report.green
