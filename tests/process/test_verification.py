"""What a repair has to show before a worker gets it, with real git, real processes and real walls."""

import asyncio
import hashlib
import json
import threading
from pathlib import Path

import pytest
from verification_stage import BROKEN, MENDED, Stage, milliseconds
from walls import NEEDS_WALLS

from workloop.domain.errors import BadRequest, Refusal
from workloop.repair.checking import confirmation, verdict
from workloop.repair.ledger.records import RepairRefusal, VerdictKind
from workloop.repair.port import HarnessRevision, PhaseContext, PhaseKind, Verdict
from workloop.repair.supervisor.proof import regression_problem, reproducer_problem
from workloop.repair.verification.ground import Bounds
from workloop.repair.verification.guard import GuardRules
from workloop.repair.verification.hosted import hosted
from workloop.repair.verification.regression import NO_CHECKS, regression_verdict
from workloop.repair.verification.reproducer import digest_of
from workloop.runner.processtable import snapshot, variable_of
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Network, SandboxKind, find_enclosure

pytestmark = NEEDS_WALLS


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def results(said: Verdict, commit: str) -> list[bool]:
    return [run.passed for run in said.runs if run.commit == commit]


def test_a_repair_that_mends_and_breaks_nothing_passes_both_and_the_supervisor_takes_it(stage: Stage) -> None:
    candidate = stage.mended()
    first, second = stage.regression(candidate), stage.reproducer(candidate)
    assert (first.passed, first.why, second.passed, second.why) == (True, "", True, "")
    assert results(second, stage.base) == [False, False]
    assert results(second, candidate) == [True, True]
    assert regression_problem(verdict(first, VerdictKind.REGRESSION, candidate, stage.base), stage.base) is None
    assert reproducer_problem(verdict(second, VerdictKind.REPRODUCER, candidate, stage.base), stage.base) is None
    assert stage.left() == []


def test_only_the_commit_counts_whatever_the_work_tree_says(stage: Stage) -> None:
    """A work tree with the repair in it, staged or not, does not pass for a commit without it."""
    candidate = stage.mended(BROKEN + "# nothing\n")
    (stage.harness.path / "tool.sh").write_text(MENDED)
    stage.harness.git("add", "--all")
    said = stage.reproducer(candidate)
    assert not said.passed
    assert said.why.startswith("reproducer-failed: it passed in 0 of 2")
    assert reproducer_problem(said, stage.base) is RepairRefusal.REPRODUCER_FAILED


def test_every_run_is_of_the_full_commit_that_the_verdict_names(stage: Stage) -> None:
    good = stage.mended()
    bad = stage.mended(BROKEN + "# other\n")
    for candidate, passed in ((good, True), (bad, False)):
        said = stage.reproducer(candidate)
        assert (said.commit, said.passed) == (candidate, passed)
        assert {run.commit for run in said.runs} == {stage.base, candidate}
    short = stage.reproducer(good[:10])
    assert not short.passed
    assert short.runs == ()
    assert short.why.startswith("invalid-candidate")


def test_a_reproducer_that_passes_before_is_vacuous_and_the_candidate_is_not_run(stage: Stage) -> None:
    stage.write("reproducer", {"probe.sh": "exit 0\n"})
    candidate = stage.mended()
    said = stage.reproducer(candidate)
    assert said.why.startswith("reproducer-vacuous: it passed in 2 of 2")
    assert not said.passed
    assert results(said, candidate) == []
    assert reproducer_problem(said, stage.base) is RepairRefusal.REPRODUCER_VACUOUS
    assert not stage.confirmation().confirmed


def test_a_reproducer_that_sometimes_passes_is_flaky_on_either_side_with_counts(stage: Stage) -> None:
    by_seed = 'case "$PYTHONHASHSEED" in 2) exit 0 ;; *) exit 1 ;; esac\n'
    stage.write("reproducer", {"probe.sh": by_seed})
    before = stage.reproducer(stage.mended(), runs=3)
    assert before.why == "reproducer-flaky: it passed in 1 of 3 runs before the repair"
    assert reproducer_problem(before, stage.base) is RepairRefusal.REPRODUCER_FLAKY
    stage.write("reproducer", {"probe.sh": "sh tool.sh probe || exit 1\n" + by_seed})
    after = stage.reproducer(stage.mended(), runs=3)
    assert after.why == "reproducer-flaky: it passed in 1 of 3 runs after the repair"
    assert reproducer_problem(after, stage.base) is RepairRefusal.REPRODUCER_FLAKY


def test_a_reproducer_that_fails_otherwise_than_by_assertion_shows_nothing(stage: Stage) -> None:
    for text, outcome in (("exit 9\n", "error"), ("no-such-program\n", "absent"), ("kill -9 $$\n", "error")):
        stage.write("reproducer", {"probe.sh": f"sh tool.sh probe && exit 0\n{text}"})
        said = stage.reproducer(stage.mended())
        assert f"ended as {outcome} before" in said.why
        assert not stage.confirmation().confirmed


def test_a_regression_that_is_red_on_the_base_says_so_and_runs_nothing_of_the_candidate(stage: Stage) -> None:
    stage.write("regression", {"probe.sh": "sh tool.sh never\n"})
    candidate = stage.mended()
    said = stage.regression(candidate)
    assert said.why.startswith("baseline-broken: probe 1 ended as failed")
    assert [run.commit for run in said.runs] == [stage.base]
    assert regression_problem(said, stage.base) is RepairRefusal.BASELINE_BROKEN


def test_a_repair_that_breaks_what_always_passed_is_refused(stage: Stage) -> None:
    said = stage.regression(stage.mended("exit 1\n"))
    assert said.why.startswith("regression-failed")
    assert regression_problem(said, stage.base) is RepairRefusal.REGRESSION_FAILED


def test_nothing_to_check_is_nothing_verified(stage: Stage) -> None:
    said = regression_verdict(stage.ground(), stage.bounds(), (), (stage.base, stage.mended()), GuardRules())
    assert (said.passed, said.why) == (False, NO_CHECKS)


def test_a_refused_candidate_is_not_run_by_either_check(stage: Stage) -> None:
    stage.mended()
    candidate = stage.harness.commit({"tests/old.sh": "exit 1\n"})
    checks = ((stage.regression(candidate), regression_problem), (stage.reproducer(candidate), reproducer_problem))
    for said, problem_of in checks:
        assert not said.passed
        assert said.runs == ()
        assert said.why.startswith("protected-path: ")
        assert problem_of(verdict(said, said.kind, candidate, stage.base), stage.base) is RepairRefusal.PROTECTED_PATH


def test_the_operator_s_files_take_the_place_of_a_candidate_s_in_any_shape(stage: Stage) -> None:
    stage.mended()
    forged = stage.harness.commit({"tool.sh": BROKEN + "#\n", "probe.sh": "exit 0\n"})
    assert stage.reproducer(forged).why.startswith("reproducer-failed")
    stage.mended()
    folder = stage.harness.commit({"tool.sh": MENDED, "probe.sh/inner": "x\n", "Probe.sh/other": "y\n"})
    assert not stage.reproducer(folder).passed  # two names that differ only in case are no runtime
    stage.mended()
    assert stage.reproducer(stage.harness.commit({"probe.sh/inner": "x\n"})).passed


def test_a_candidate_can_neither_change_what_judges_it_nor_its_own_tree(stage: Stage) -> None:
    attack = 'echo "exit 0" > probe.sh && echo CHANGED; echo x > new.txt && echo NEW; exit 1\n'
    said = stage.reproducer(stage.mended(attack))
    assert not said.passed
    ground = stage.folder / f"evidence-{stage.count}"
    printed = "".join(path.read_text() for path in ground.glob("*.log"))
    assert "Read-only" in printed
    assert "CHANGED" not in printed
    assert "NEW" not in printed


def test_without_walls_a_changed_probe_is_seen_and_its_run_does_not_count(stage: Stage) -> None:
    candidate = stage.mended(
        'case "$1" in version) echo "exit 0" > probe.sh; exit 0 ;; probe) exit 0 ;; *) exit 1 ;; esac\n'
    )
    said = stage.regression(candidate, ground=stage.ground(enclosure=BARE, unwalled=True))
    assert not said.passed
    assert "ended as error" in said.why


def test_a_candidate_reads_neither_the_reproducer_nor_the_repository_nor_a_secret(stage: Stage) -> None:
    """While the regression runs the reproducer is out of sight; of its own probe it sees only what is laid over."""
    candidate = stage.mended(
        f'ls -A "{stage.folder}/operator/reproducer" && echo LISTED\n'
        f'cat "{stage.folder}/operator/reproducer/probe.sh" && echo SHOWN\n'
        f'git -C "{stage.harness.path}" log && echo HISTORY\ncat "{stage.harness.path}/tool.sh" && echo OTHER\n'
        'echo "TOKEN=$SOME_TOKEN"\n[ -d .git ] && echo REPOSITORY\nexit 0\n'
    )
    ground = stage.ground(hidden=(stage.folder / "operator" / "reproducer",), readable=(stage.folder,))
    assert stage.regression(candidate, ground=ground).passed
    printed = "".join(path.read_text() for path in ground.evidence.glob("*.log"))
    assert "TOKEN=\n" in printed
    assert [word for word in ("probe.sh\n", "SHOWN", "HISTORY", "OTHER", "REPOSITORY") if word in printed] == []


def test_probes_state_and_evidence_must_lie_where_no_worker_reads(stage: Stage, tmp_path: Path) -> None:
    candidate = stage.mended()
    for reachable in ("operator", "operator/regression", "operator/regression/deep", "state", "."):
        (tmp_path / reachable).mkdir(exist_ok=True)
        with pytest.raises(BadRequest, match="PLACEMENT_INVALID"):
            stage.regression(candidate, ground=stage.ground(worker_paths=(tmp_path / reachable,)))
    inside = stage.probe("regression", overlay=stage.harness.path / "tests")
    with pytest.raises(BadRequest, match="PLACEMENT_INVALID"):
        stage.regression(candidate, inside)


def test_a_probe_of_links_or_of_nothing_is_refused(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "probe.sh").symlink_to("/etc/passwd")
    for folder in (tmp_path / "empty", linked, tmp_path / "missing"):
        with pytest.raises(BadRequest, match="PROBE_UNUSABLE"):
            stage.regression(stage.mended(), stage.probe("regression", overlay=folder))


def test_code_of_a_candidate_runs_behind_walls_or_at_the_operator_s_word(stage: Stage) -> None:
    candidate = stage.mended()
    bare = Enclosure(kind=SandboxKind.NONE, network=Network.NONE)
    for walls in (BARE, bare, find_enclosure("bwrap", Network.OPEN)):
        with pytest.raises(Refusal, match="VERIFICATION_UNWALLED"):
            stage.regression(candidate, ground=stage.ground(enclosure=walls))
    ground = stage.ground(enclosure=BARE, unwalled=True)
    assert stage.regression(candidate, ground=ground).passed
    assert {row["sandbox"] for row in json.loads((ground.evidence / "runs.json").read_text())} == {"none"}


def test_another_reproducer_than_the_confirmed_one_proves_nothing(stage: Stage) -> None:
    said = confirmation(stage.confirmation())
    assert said.confirmed
    assert [run.passed for run in said.runs] == [False, False]
    assert said.reproducer == digest_of(stage.probe("reproducer"))
    candidate = stage.mended()
    assert stage.reproducer(candidate, stage.probe("reproducer", confirmed=said.reproducer)).passed
    stage.write("reproducer", {"probe.sh": "sh tool.sh probe || exit 1\n"})
    other = stage.reproducer(candidate, stage.probe("reproducer", confirmed=said.reproducer))
    assert not other.passed
    assert "was confirmed with" in other.why
    assert other.runs == ()


def test_a_harness_that_makes_everything_pass_is_found_by_the_control(stage: Stage) -> None:
    candidate = stage.mended("exit 0\n")
    probe = stage.probe("reproducer", control=("sh", "tool.sh", "never"))
    assert stage.reproducer(candidate).passed
    said = stage.reproducer(candidate, probe)
    assert not said.passed
    assert "the control ended as passed" in said.why
    assert stage.reproducer(stage.mended(), probe).passed


def test_a_run_that_hangs_ends_at_its_time_and_has_not_passed(stage: Stage) -> None:
    candidate = stage.mended('case "$1" in version) exec sleep 600 ;; *) exit 1 ;; esac\n')
    said = stage.regression(candidate, stage.probe("regression", timeout_seconds=1))
    assert not said.passed
    assert "ended as timeout" in said.why


def test_a_phase_that_is_over_says_nothing_about_base_or_candidate(stage: Stage) -> None:
    """A run that only the phase cut off is no run, so a base is not called broken for it."""
    stage.write("regression", {"probe.sh": "exec sleep 600\n"})
    stage.seconds = 1
    said = stage.regression(stage.mended())
    assert not said.passed
    assert said.runs == ()
    assert "the phase was over" in said.why
    stage.seconds = 0
    assert stage.regression(stage.mended()).runs == ()


def test_a_stop_ends_a_run_and_leaves_nothing(stage: Stage) -> None:
    stage.write("regression", {"probe.sh": "exec sleep 600\n"})
    candidate = stage.mended()
    said: list[Verdict] = []
    thread = threading.Thread(target=lambda: said.append(stage.regression(candidate)))
    thread.start()
    until = milliseconds() + 20_000
    while not (began := running(stage)) and milliseconds() < until:
        thread.join(0.02)
    assert began
    stage.stop.set()
    thread.join(20)
    assert not said[0].passed
    assert said[0].runs == ()
    assert running(stage) == []
    assert stage.left() == []


def test_a_process_that_leaves_the_family_is_ended_with_its_run(stage: Stage) -> None:
    daemon = "setsid sh -c 'trap \"\" TERM HUP; sleep 600; sleep 600' >/dev/null 2>&1 </dev/null &\nexit 0\n"
    assert stage.regression(stage.mended(daemon)).passed
    ground = stage.ground(enclosure=BARE, unwalled=True)
    assert stage.regression(stage.mended(daemon), ground=ground).passed
    assert running(stage) == []


def test_every_output_is_kept_under_its_digest(stage: Stage) -> None:
    ground = stage.ground()
    said = stage.regression(stage.mended(), ground=ground)
    rows = json.loads((ground.evidence / "runs.json").read_text())
    assert [row["outcome"] for row in rows] == ["passed", "passed"]
    named = {entry.path: entry.digest for entry in said.evidence}
    assert {f"{row['output']}.log" for row in rows} | {"runs.json"} == set(named)
    for path, digest in named.items():
        assert hashlib.sha256((ground.evidence / path).read_bytes()).hexdigest() == digest


def running(stage: Stage) -> list[int]:
    """Return the processes that a run of this stage has started and that live."""
    mark = str(stage.folder / "state")
    return [pid for pid in snapshot() if (variable_of(pid, "WORKLOOP_RUN") or "").startswith(mark)]


class Aborting:
    """An abort that a test sets."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def is_set(self) -> bool:
        return self.event.is_set()

    async def wait(self) -> None:
        await self.event.wait()


def test_a_callback_that_is_aborted_ends_its_verification(stage: Stage) -> None:
    stage.write("regression", {"probe.sh": "exec sleep 600\n"})
    candidate = stage.mended()

    async def verify() -> Verdict:
        abort = Aborting()
        context = PhaseContext(
            run_id="run-1",
            phase="p1",
            kind=PhaseKind.REGRESSION,
            harness=HarnessRevision(commit=stage.base, runtime_id="sha256:first"),
            deadline_ms=milliseconds() + 60_000,
            allowance_microusd=0,
            abort=abort,
            evidence_dir=stage.folder,
            task_id="one",
            task_attempt=1,
        )
        probes = (stage.probe("regression"),)
        commits = (stage.base, candidate)

        def work(bounds: Bounds) -> Verdict:
            return regression_verdict(stage.ground(), bounds, probes, commits, GuardRules())

        waiting = asyncio.ensure_future(hosted(context, milliseconds, work))
        async with asyncio.timeout(20):
            while not running(stage):
                await asyncio.wait((waiting,), timeout=0.02)
            abort.event.set()
            return await waiting

    said = asyncio.run(verify())
    assert (said.passed, said.runs) == (False, ())
    assert running(stage) == []
