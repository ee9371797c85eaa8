"""What the loop does with work, as a child process with the scripted agent in a real repository."""

import stat
from pathlib import Path

import pytest

from loop_bench import Facts, LoopBench, NewBench, call, check, commit, complete, honest, rule, verdict, write

NOTHING_SETTLED = "end with work_loop: the last session stopped without settling"


@pytest.fixture
def bench(new_bench: NewBench) -> LoopBench:
    return new_bench()


def test_host_verification_alone_spends_no_session_on_the_verdict(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    bench.add("a")
    bench.add("plain", verification="none", checks=[])
    code, report, _ = bench.run("--once")
    assert (code, report["reason"], report["sessions"], report["attended"]) == (0, "drained", 2, 3)
    assert bench.states() == {"a": "succeeded", "a~v1": "succeeded", "plain": "succeeded"}
    assert [verdict["executor"] for verdict in bench.show("a")["verdicts"]] == ["host"]
    assert bench.show("plain")["verdicts"] == []


def test_two_items_are_in_work_at_once(bench: LoopBench) -> None:
    """Each worker ends only after it has seen the other begin."""
    rules: list[Facts] = []
    for mine, other in (("a", "b"), ("b", "a")):
        meet = ({"touch": str(bench.mark(mine))}, {"wait_for": str(bench.mark(other))})
        rules.append(rule(mine, *honest(before=meet)))
        bench.add(mine)
    bench.rules(*rules)
    code, report, loop = bench.run("--once", "--parallel", "2")
    assert (code, report["sessions"]) == (0, 2), loop.events
    assert {bench.state("a"), bench.state("b")} == {"succeeded"}
    assert [bench.ends("a"), bench.ends("b")] == [["complete"], ["complete"]]


def test_item_is_built_on_the_verified_commit_it_depends_on(bench: LoopBench) -> None:
    look = {"run": "grep -q fixed thing.txt", "expect": 0}
    more = [look, {"say": "I go on"}, write("other.txt", "also fixed\n"), commit(), complete()]
    bench.rules(rule("a", *honest()), rule("b", *more))
    bench.add("a")
    bench.add("b", depends_on=["a"], checks=[check("grep -q fixed other.txt")], priority=1)
    code, _, loop = bench.run("--once")
    assert (code, bench.state("a"), bench.state("b")) == (0, "succeeded", "succeeded"), loop.events
    assert [told["key"] for told in loop.named("claimed")] == ["a", "a~v1", "b", "b~v1"]
    first, second = bench.show("a")["candidate"], bench.show("b")["candidate"]
    assert bench.repository.git("merge-base", first, second) == first
    assert bench.repository.git("diff", "--name-only", first, second) == "other.txt"
    assert bench.repository.git("show", "main:thing.txt") == "broken"


def test_check_that_cannot_tell_the_difference_parks_the_root_and_an_answer_resumes(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    bench.add("a", checks=[check("true", "vacuous")])
    loop = bench.start()
    assert loop.wait_for("checked", key="a~v1")["word"] == "unjudgeable"
    bench.wait_until(lambda: bench.state("a") == "deferred")
    question = bench.client.call("why", {"key": "a"})["reasons"][0]
    assert question["code"] == "BRAKE"
    first, *does = question["message"].splitlines()
    assert "Check vacuous cannot judge it: it passes without the work as well" in first
    assert first.endswith("Seen on the base: passed; on the candidate: passed.")
    sha = bench.show("a")["candidate"]
    wanted = (f"check prove a --commit {sha}", "answer a", "supersede a NEW", "cancel a")
    assert [f"workloop {words}" in said for words, said in zip(wanted, does, strict=True)] == [True] * 4
    bench.client.call("answer", {"key": "a", "text": "look again"})
    loop.wait_for("checked", key="a~v2")
    assert bench.ends("a") == ["complete"]


def test_candidate_that_changed_a_protected_path_is_rejected_before_anything_of_it_runs(bench: LoopBench) -> None:
    ran = bench.mark("ran")
    bench.rules()
    bench.add("a", checks=[check(f"touch {ran}; grep -q fixed thing.txt")], protected=["other.txt"], rounds_max=1)
    claimed = bench.client.call("claim", {"holder": "a-person"})
    bench.repository.git("checkout", "-q", "-b", "by-hand")
    sha = bench.repository.commit({"thing.txt": "fixed\n", "other.txt": "changed\n"})
    outcome = {"kind": "commit", "ref": sha}
    given = {"token": claimed["token"], "contract_hash": claimed["contract_hash"], "outcome": outcome}
    bench.client.call("complete", given)
    code, report, _ = bench.run("--once")
    assert (code, report["sessions"], bench.state("a")) == (0, 0, "failed")
    (verdict,) = bench.show("a")["verdicts"]
    assert (verdict["executor"], verdict["failed_checks"]) == ("host", ["protected"])
    assert "other.txt" in verdict["reproduction"]
    assert not ran.exists()


def test_check_that_hangs_on_the_candidate_alone_is_the_candidates_doing(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    hangs = check("grep -q fixed thing.txt || exit 1; sleep 600", "hangs", timeout_seconds=1)
    bench.add("a", checks=[hangs], rounds_max=1)
    code, report, _ = bench.run("--once")
    assert (code, report["sessions"], bench.state("a")) == (0, 1, "failed")
    assert "hangs: timeout" in bench.show("a")["verdicts"][0]["reproduction"]


def test_check_that_hangs_on_both_sides_is_nobodys_verdict_and_ends_with_a_person(bench: LoopBench) -> None:
    bench.rules(rule("*", *honest()))
    bench.add("a", checks=[check("sleep 600", "hangs", timeout_seconds=0.5)], attempts_max=2)
    code, _, loop = bench.run("--once")
    assert (code, bench.state("a"), bench.show("a")["verdicts"]) == (0, "deferred", [])
    assert [told["word"] for told in loop.named("checked")] == ["unclear", "unclear"]


REFUSALS = {
    "foreign": "NOT_ON_BRANCH",
    "tip": "EMPTY_DIFF",
    "short": "SHA_NOT_FULL",
    "unknown": "COMMIT_UNKNOWN",
    "empty": "EMPTY_DIFF",
    "own paths": "EMPTY_DIFF",
    "protected": "PROTECTED_CHANGED",
}


def test_what_is_no_result_is_refused_and_the_worker_still_holds_its_claim(bench: LoopBench) -> None:
    """E02, E03, E06, E07: nothing but a commit of one's own that changes something ends the work."""
    bench.repository.git("checkout", "-q", "-b", "foreign")
    foreign = bench.repository.commit({"thing.txt": "fixed\n"})
    bench.repository.git("checkout", "-q", "main")
    identity = "git -c user.name=A -c user.email=a@example.invalid"
    steps = [
        complete(foreign, REFUSALS["foreign"]),
        complete("{sha}", REFUSALS["tip"]),
        complete(foreign[:12], "COMMIT_NOT_FULL"),
        complete("0" * 40, REFUSALS["unknown"]),
        {"run": f"{identity} commit -q --allow-empty -m nothing", "expect": 0},
        complete("{sha}", REFUSALS["empty"]),
        write(".workloop/progress.json", "{}\n"),
        commit("all done"),
        complete("{sha}", REFUSALS["own paths"]),
        write("other.txt", "changed\n"),
        write(),
        commit(),
        complete("{sha}", REFUSALS["protected"]),
        {"run": "git checkout -q main -- other.txt", "expect": 0},
        commit("mended after all"),
        complete(),
    ]
    bench.rules(rule("a", *steps))
    bench.add("a", protected=["other.txt"])
    code, report, loop = bench.run("--once")
    assert (code, report["sessions"], bench.state("a")) == (0, 1, "succeeded"), loop.events
    assert bench.ends("a") == ["complete"]


def test_e01_three_claims_of_success_with_nothing_over_the_base_make_no_candidate(bench: LoopBench) -> None:
    """E01: every worker reports success, and once more when reminded, every branch has no commit; none is verified."""
    bench.rules(rule("*", {"say": "implemented, pushed, verified"}, complete("{sha}", "EMPTY_DIFF")))
    for key in ("a", "b", "c"):
        bench.add(key, attempts_max=1)
    code, report, _ = bench.run("--once")
    assert (code, report["sessions"]) == (0, 6)
    assert bench.states() == dict.fromkeys("abc", "failed")
    assert {bench.show(key)["claims"][0]["report"]["next_action"] for key in "abc"} == {NOTHING_SETTLED}


def test_e02_work_that_was_not_handed_in_is_neither_lost_nor_done(bench: LoopBench) -> None:
    """E02: a dirty tree, a commit off the branch, a commit that nobody claimed, and a crash."""
    take_up = {"run": "grep -q fixed thing.txt", "expect": 0}
    bench.rules(
        rule("dirty", {"say": "done"}, write(), complete("{sha}", "EMPTY_DIFF"), attempt=1),
        rule("off", {"run": "git checkout -q --detach", "expect": 0}, *honest()),
        rule("unclaimed", {"say": "done"}, write(), commit(), attempt=1),
        rule("unclaimed", {"say": "it is there already"}, take_up, complete(), attempt=2),
        rule("crash", {"say": "I begin"}, write(text="fixed, half\n"), {"die": "kill"}, attempt=1),
    )
    bench.add("dirty", attempts_max=1)
    bench.add("crash", attempts_max=1)
    bench.add("off")
    bench.add("unclaimed")
    code, _, loop = bench.run("--once")
    states = {key: state for key, state in bench.states().items() if "~" not in key}
    assert (code, states) == (
        0,
        {"dirty": "failed", "crash": "failed", "off": "succeeded", "unclaimed": "succeeded"},
    ), loop.events
    assert bench.ends("unclaimed") == ["retry", "complete"]
    for key, text in (("dirty", "fixed"), ("crash", "fixed, half")):
        assert bench.repository.git("show", f"refs/workloop/wip/{bench.show(key)['id']}/1:thing.txt") == text
    off = bench.show("off")["candidate"]
    assert bench.repository.git("for-each-ref", "--contains", off) != ""


PROGRAM = """#!/bin/sh
case $(grep '^key:' "$WORKLOOP_BRIEF") in
  *submits) echo fixed > thing.txt; git -c user.name=P -c user.email=p@example.invalid commit -qam mended; exit 0;;
  *limited) exit 75;;
  *fails) exit 1;;
  *nothing) exit 0;;
esac
"""


def test_any_program_is_a_harness_by_its_exit_code_and_its_commit(new_bench: NewBench, tmp_path: Path) -> None:
    program = tmp_path / "agent.sh"
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    bench = new_bench(harness="command", harnesses=f'[harness.command]\ncommand = ["{program}"]')
    for number, key in enumerate(("submits", "fails", "nothing", "limited")):
        bench.add(key, attempts_max=1, priority=number + 100)
    code, report, loop = bench.run("--once")
    assert (code, report["reason"]) == (75, "limited"), loop.events
    states = {key: state for key, state in bench.states().items() if "~" not in key}
    assert states == {"submits": "succeeded", "fails": "failed", "nothing": "failed", "limited": "pending"}
    assert [bench.ends(key) for key in states] == [["complete"], ["retry"], ["retry"], ["infra"]]
    assert "exit code 1" in bench.show("fails")["claims"][0]["report"]["cause"]


def test_session_that_hangs_is_an_expiry_and_what_it_left_is_saved(new_bench: NewBench) -> None:
    bench = new_bench(loop="silent_seconds = 2.0")
    bench.rules(rule("a", {"say": "I begin"}, write(text="half\n"), {"hang": True}))
    bench.add("a", expiries_max=1)
    code, _, loop = bench.run("--once")
    shown = bench.show("a")
    assert (code, shown["state"], shown["expiries"], shown["attempts"]) == (0, "failed", 1, 0), loop.events
    assert bench.ends("a") == ["expired"]
    assert loop.wait_for("ended", key="a")["class"] == "hung"
    assert bench.repository.git("show", f"refs/workloop/wip/{shown['id']}/1:thing.txt") == "half"


@pytest.mark.parametrize("manner", ["spins", "is silent"])
def test_busy_or_silent_session_keeps_its_lease_for_as_long_as_it_lives(bench: LoopBench, manner: str) -> None:
    """A14, A22: the lease is renewed by the loop, whatever the agent does or does not say."""
    go = bench.mark("go")
    waits = {"run": f"while ! [ -e {go} ]; do :; done", "expect": 0} if manner == "spins" else {"wait_for": str(go)}
    bench.rules(rule("a", *honest(before=(waits,))))
    bench.add("a", lease_seconds=3)
    loop = bench.start("--once")
    loop.wait_for("session", key="a")
    renewals = {bench.show("a")["lease_until"]}
    while len(renewals) < 6:
        renewals.add(bench.show("a")["lease_until"])
        assert bench.ends("a") == [None]
    go.touch()
    assert loop.end()[0] == 0
    assert (bench.ends("a"), bench.show("a")["expiries"]) == (["complete"], 0)


def test_a37_next_attempt_is_told_that_effects_of_an_earlier_one_may_exist(bench: LoopBench) -> None:
    """A37: a lost attempt was started, so the retry is a new one that must look first."""
    tell = {"run": f"cp $WORKLOOP_BRIEF {bench.folder}/brief-$(date +%N).md", "expect": 0}
    bench.rules(
        rule("a", tell, call("retry", failed="it", cause="SENTINEL-RETRY", next_action="look"), attempt=1),
        rule("a", *honest(before=(tell,))),
    )
    bench.add("a")
    assert bench.run("--once")[0] == 0
    first, second = sorted(path.read_text() for path in bench.folder.glob("brief-*.md"))
    assert "An earlier attempt ended without a result" not in first
    assert "An earlier attempt ended without a result" in second
    assert "SENTINEL-RETRY" not in second


def test_session_verifier_that_rejects_has_it_repaired(bench: LoopBench) -> None:
    reject = {"failed_checks": ["objective"], "reproduction": "look at it", "verdict": "rejected"}
    no = call("complete", None, contract_hash="{contract_hash}", **reject)
    bench.rules(
        rule("a", *honest()),
        rule("a~v1", {"say": "no"}, no, role="verify"),
        rule("a~r1", *honest(text="fixed better\n"), role="repair"),
        rule("a~v2", *verdict(), role="verify"),
    )
    bench.add("a", verification="both")
    code, report, loop = bench.run("--once")
    assert (code, report["sessions"], bench.state("a")) == (0, 4, "succeeded"), loop.events
    assert bench.repository.git("show", f"{bench.show('a')['candidate']}:thing.txt") == "fixed better"
