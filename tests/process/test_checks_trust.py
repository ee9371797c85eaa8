"""What keeps a check from being fooled: fresh places, base's files, controls, and what is remembered."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from check_bench import FAILED, Bench, guards, proves
from workloop.domain.checks import CheckOutcome, JudgeReason
from workloop.domain.clock import Instant
from workloop.runner.checks.outputs import OutputRetention, prune_outputs


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench in an empty folder."""
    return Bench(tmp_path)


def test_a_check_that_was_moody_once_is_run_several_times_ever_after(bench: Bench, tmp_path: Path) -> None:
    """Decision: what is remembered of a check can only lead to more runs of it."""
    log = tmp_path / "log"
    check = guards(f"echo run >> '{log}'; test -e '{tmp_path}/calm' || test $(wc -l < '{log}') != 1")
    assert bench.one(check).outcome_on_candidate is CheckOutcome.FLAKY
    (tmp_path / "calm").touch()
    log.write_text("")
    result = bench.one(check)
    assert (result.green, result.runs, log.read_text().count("run")) == (True, 3, 3)
    assert bench.one(replace(guards("true"), runs=4)).runs == 4


def test_a_control_is_red_on_the_candidate_or_the_check_proves_nothing(bench: Bench) -> None:
    """Decision: whoever keeps tests from failing is found by one that must fail."""
    honest = replace(
        proves("sh tests/check.sh value.txt"), control="sh tests/check.sh value.txt && grep -q never value.txt"
    )
    assert bench.one(honest).reason is JudgeReason.PROVEN
    bench.candidate = bench.scratch.commit({"value.txt": "new never\n"})
    assert bench.one(honest).reason is JudgeReason.CONTROL_NOT_RED
    assert bench.one(replace(honest, control="true")).reason is JudgeReason.CONTROL_CANNOT_FAIL


def test_each_run_has_a_home_and_a_scratch_folder_of_its_own(bench: Bench, tmp_path: Path) -> None:
    """Decision: nothing that anybody left in a shared folder decides a check."""
    for name in ("home", "scratch"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "left").touch()
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "scratch")}
    look = guards('test -z "$(ls -A "$HOME" "$TMPDIR" | grep left)" && touch "$HOME/left" "$TMPDIR/left"')
    report = bench.run(replace(bench.plan(look, look), environment=environment))
    assert report.green


def test_programs_are_not_looked_for_inside_the_checkout(bench: Bench) -> None:
    """Security: a relative folder on the search path would be the candidate's own."""
    (bench.scratch.path / "bin").mkdir()
    (bench.scratch.path / "bin" / "grep").write_text("#!/bin/sh\nexit 0\n")
    (bench.scratch.path / "bin" / "grep").chmod(0o755)
    bench.candidate = bench.scratch.commit({"value.txt": "old\n"})
    environment = {**os.environ, "PATH": f"bin::.:{os.environ['PATH']}"}
    report = bench.run(replace(bench.plan(proves("grep -q new value.txt")), environment=environment))
    assert report.results[0].outcome_on_candidate is FAILED


def test_the_same_output_is_kept_once_under_its_digest(bench: Bench) -> None:
    """Decision: a receipt names its output by content; old outputs go, the newest stay."""
    first, second = (bench.one(guards("echo same")) for _ in range(2))
    other = bench.one(guards("echo other"))
    assert first.log_path == second.log_path
    assert Path(first.log_path).name == f"{first.output_digest}.log"
    assert list(bench.repository.folder("checks").iterdir()) == []
    os.utime(first.log_path, (1, 1))
    day = Instant(86_400_000_000)
    assert prune_outputs(bench.repository, OutputRetention(age_seconds_max=60.0), day) == (Path(first.log_path),)
    assert prune_outputs(bench.repository, OutputRetention(bytes_max=0), day) == (Path(other.log_path),)


def test_e09_the_digest_of_a_verdict_is_that_of_the_bytes_which_the_host_holds(bench: Bench) -> None:
    """E09: a check that prints a digest and calls itself passed has said nothing; the host reads what it kept."""
    made_up = "0" * 64
    result = bench.one(guards(f"echo 'result: passed, sha256: {made_up}'; exit 1"))
    kept = Path(result.log_path).read_bytes()
    assert made_up in kept.decode()
    assert result.output_digest == hashlib.sha256(kept).hexdigest()
    assert (result.green, result.outcome_on_candidate) == (False, FAILED)


def test_the_operators_own_tests_replace_what_the_candidate_has(bench: Bench, tmp_path: Path) -> None:
    """Decision: an operator's folder is laid over both sides; a changed test is another cache entry."""
    folder = tmp_path / "operator"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "hidden.sh").write_text('grep -q new "$1" || exit 1\n')
    check = proves("sh tests/hidden.sh value.txt")
    report = bench.run(replace(bench.plan(check), overlay_dir=folder))
    assert report.results[0].reason is JudgeReason.PROVEN
    (folder / "tests" / "hidden.sh").write_text("exit 0\n")
    report = bench.run(replace(bench.plan(check), overlay_dir=folder))
    assert report.results[0].reason is JudgeReason.VACUOUS


def test_a_link_the_candidate_planted_does_not_lead_the_overlay_outside(bench: Bench, tmp_path: Path) -> None:
    """Security: files are placed inside the checkout, whatever the candidate made of the path."""
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "operator"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "hidden.sh").write_text("exit 0\n")
    (folder / "value.txt").write_text("operator\n")
    bench.scratch.git("rm", "-r", "--quiet", "tests", "value.txt")
    (bench.scratch.path / "tests").symlink_to(outside)
    (bench.scratch.path / "value.txt").symlink_to(outside / "victim")
    bench.candidate = bench.scratch.commit({})
    plan = replace(bench.plan(guards("sh tests/hidden.sh && grep operator value.txt")), overlay_dir=folder)
    assert bench.run(plan).green
    assert list(outside.iterdir()) == []


def test_m02_a_candidate_that_changed_a_protected_path_is_named_and_nothing_runs(bench: Bench, tmp_path: Path) -> None:
    """M02: decided before any of its code is run."""
    bench.candidate = bench.scratch.commit({"tests/check.sh": "exit 0\n", "tests/conftest.py": "x\n"})
    plan = replace(bench.plan(guards(f"touch '{tmp_path}/ran'")), protected=("tests",))
    report = bench.run(plan)
    assert report.violations == ("tests/check.sh", "tests/conftest.py")
    assert (report.results, report.green) == ((), False)
    assert not (tmp_path / "ran").exists()


def test_the_base_is_looked_at_anew_for_each_candidate_but_only_once_more(bench: Bench, tmp_path: Path) -> None:
    """Decision: red is seen in the same round and place as green; twice at first, for chance, then once."""
    log = tmp_path / "log"
    command = f"cat value.txt >> '{log}'; grep -q new value.txt"
    seen: list[int] = []
    for name in ("other.txt", "another.txt", "last.txt"):
        bench.candidate = bench.scratch.commit({name: "x\n"})
        assert bench.one(proves(command)).green
        seen.append(log.read_text().count("old"))
    assert seen == [2, 3, 4]
    bench.base = bench.candidate
    assert bench.one(proves(command)).reason is JudgeReason.VACUOUS
