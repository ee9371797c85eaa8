"""What is verified reaches a remote through the loop, is watched there, and a break is repaired once."""

import fcntl
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loop_bench import LoopBench, LoopProcess, commit, complete, honest, rule, write
from workloop.testing.gitrepo import ScratchRepository

FORGE = Path(__file__).with_name("fake_forge.py")
PASSED = {"__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS"}
SUITE = {"id": "suite", "command": "! grep -q bad other.txt"}


class RemoteLoop(LoopBench):
    """A loop whose work lands on a bare remote that a colleague pushes to as well."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.origin = ScratchRepository(path=self.folder / "origin.git")
        self.repository.git("clone", "--quiet", "--bare", str(self.repository.path), str(self.origin.path))
        self.repository.git("remote", "add", "origin", f"file://{self.origin.path}")

    def colleague(self, files: dict[str, str]) -> str:
        """Push a commit to the remote's main."""
        path = self.folder / "colleague"
        if not path.exists():
            self.origin.git("clone", "--quiet", f"file://{self.origin.path}", str(path))
        person = ScratchRepository(path=path)
        person.git("pull", "--quiet", "--ff-only")
        sha = person.commit(dict(files), "by a colleague")
        person.git("push", "--quiet", "origin", "HEAD:main")
        return sha

    def delivered(self, key: str) -> dict[str, str]:
        """Return how the four statements stand."""
        return {row["fact"]: row["known"] for row in self.show(key)["delivery"]}

    def facts(self, key: str) -> list[str]:
        """Return the kinds of an item's facts."""
        return [fact["kind"] for fact in self.show(key)["facts"]]

    @property
    def forge(self) -> Path:
        """Return where the stand-in for a forge keeps its pull requests."""
        return self.folder / "forge.json"

    def stop(self, loop: LoopProcess) -> None:
        """End a loop in good order."""
        loop.send(signal.SIGINT)
        assert loop.end()[0] == 0


def opened(folder: Path, landing: str, table: str = "") -> RemoteLoop:
    """Make a loop with a way to land."""
    words = {
        "find": ["pr", "list", "--head", "{branch}", "--json", "number,url,state,headRefOid,baseRefName,mergeable"],
        "open": ["pr", "create", "--head", "{branch}", "--base", "{base}", "--title", "{title}", "--body", "{body}"],
        "merge": ["pr", "merge", "{number}", "--match-head-commit", "{sha}"],
    }
    words["find"][-1] += ",mergeStateStatus,isDraft,mergeCommit,statusCheckRollup"
    pulls = "\n".join(f"{name} = {json.dumps([sys.executable, str(FORGE), *rest])}" for name, rest in words.items())
    tables = (
        '[landing]\nwatch_every_seconds = 0.3\nenvironment = ["FORGE", "FORGE_BARE"]\n'
        f"{table}\n[landing.pull_requests]\npoll_seconds = 0.1\nauto_merge = true\n{pulls}\n"
    )
    environment = {"FORGE": str(folder / "forge.json"), "FORGE_BARE": str(folder / "origin.git")}
    made = RemoteLoop(folder, campaign=f'landing = "{landing}"', poll=0.3, harnesses=tables, environment=environment)
    made.open()
    return made


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[RemoteLoop]:
    """A loop that pushes."""
    made = opened(tmp_path, "push")
    yield made
    made.close()


def test_verified_work_is_pushed_and_its_four_statements_hold(bench: RemoteLoop) -> None:
    """E01, E19: submitted, verified and landed are what the remote and the host's verdict show."""
    bench.rules(rule("a", *honest()))
    bench.add("a", guards=[SUITE])
    assert bench.delivered("a") == dict.fromkeys(("submitted", "verified", "landed", "still_green"), "unknown")
    code, _, loop = bench.run("--once")
    assert code == 0, loop.events
    assert bench.origin.git("show", "main:thing.txt") == "fixed"
    assert bench.repository.git("rev-parse", "main") == bench.origin.git("rev-parse", "main")
    found = bench.delivered("a")
    assert (found["submitted"], found["verified"], found["landed"]) == ("yes", "yes", "yes")


def test_a_break_after_landing_opens_one_repair_which_the_loop_mends_and_lands(bench: RemoteLoop) -> None:
    """E21, F18, F21: a colleague's push makes a guard red; two items share it, one repair is made, and it is mended."""
    mend = (write("other.txt", "good\n"), commit(), complete())
    bench.rules(
        rule("a", *honest()),
        rule("b", {"say": "on"}, write("new.txt", "x\n"), commit(), complete()),
        rule("b~g1", {"say": "I look"}, *mend),
        rule("a~g1", {"say": "I look"}, *mend),
    )
    bench.add("a", guards=[SUITE])
    bench.add("b", guards=[SUITE], checks=[{"id": "new", "command": "test -f new.txt"}], depends_on=["a"])
    loop = bench.start()
    bench.wait_until(lambda: "landed" in bench.facts("b"))
    bench.colleague({"other.txt": "bad\n"})
    told = loop.wait_for("watch", key="b", repair="b~g1")
    assert told["red"] == ["suite"]
    bench.wait_until(lambda: "b~g1" in bench.states() and "landed" in bench.facts("b~g1"))
    bench.stop(loop)
    assert bench.origin.git("show", "main:other.txt") == "good"
    assert sorted(key for key in bench.states() if "~g" in key) == ["b~g1", "b~g1~v1"]
    checks = {check["id"]: check["kind"] for check in bench.show("b~g1")["contract"]["checks"]}
    assert checks == {"suite": "proves", "new": "guards"}


def test_f21_a_break_that_happened_while_no_loop_ran_is_found_at_the_next_start(bench: RemoteLoop) -> None:
    """F21: what counts is how the branch stands, not whether anybody saw it change."""
    bench.rules(rule("a", *honest()), rule("a~g1", {"say": "no"}))
    bench.add("a", guards=[SUITE], attempts_max=1)
    assert bench.run("--once")[0] == 0
    bench.colleague({"other.txt": "bad\n"})
    _, _, loop = bench.run("--once")
    assert loop.wait_for("watch", key="a")["repair"] == "a~g1"
    assert bench.delivered("a")["still_green"] == "no"
    bench.run("--once")
    assert sorted(key for key in bench.states() if "~g" in key) == ["a~g1"]


def test_a_branch_that_moved_and_stayed_green_is_said_to_be_still_green(bench: RemoteLoop) -> None:
    """E21: the guards ran on the new tip, once."""
    runs = bench.folder / "runs"
    guard = {"id": "suite", "command": f"echo x >> {runs}; ! grep -q bad other.txt"}
    bench.rules(rule("a", *honest()))
    bench.add("a", guards=[guard])
    assert bench.run("--once")[0] == 0
    before = len(runs.read_text().splitlines())
    tip = bench.colleague({"other.txt": "good\n"})
    for _ in range(2):
        bench.run("--once")
    assert bench.delivered("a")["still_green"] == "yes"
    assert [fact["ref"] for fact in bench.show("a")["facts"] if fact["kind"] == "still_green"] == [tip]
    assert len(runs.read_text().splitlines()) == before + 1


@pytest.mark.parametrize("guards", [[SUITE], []])
def test_what_the_branch_no_longer_contains_is_not_said_to_have_landed(
    bench: RemoteLoop, guards: list[dict[str, str]]
) -> None:
    """E19: the remote's branch was set back below a result; no guard that passes there makes it green."""
    bench.rules(rule("a", *honest()))
    bench.add("a", guards=guards)
    before = bench.origin.git("rev-parse", "main")
    assert bench.run("--once")[0] == 0
    merge = bench.origin.git("rev-parse", "main")
    bench.origin.git("update-ref", "refs/heads/main", before)
    for _ in range(2):
        _, _, loop = bench.run("--once")
    found = {row["fact"]: row for row in bench.show("a")["delivery"]}
    assert (found["landed"]["known"], found["still_green"]["known"]) == ("no", "unknown")
    assert found["landed"]["ref"] == f"{before}: no longer contained in main"
    assert (bench.facts("a").count("landing_refused"), bench.facts("a").count("still_green")) == (1, 0)
    bench.origin.git("update-ref", "refs/heads/main", merge)
    _, _, loop = bench.run("--once")
    assert loop.wait_for("watch", key="a", contained=True)["tip"] == merge
    assert bench.delivered("a")["landed"] == "yes"


def test_a_remote_that_is_away_is_told_and_tried_again(bench: RemoteLoop) -> None:
    """E15: what cannot be asked is unknown, and nothing is lost meanwhile."""
    bench.rules(rule("a", *honest()))
    bench.add("a")
    bench.origin.path.rename(bench.folder / "away")
    code, _, loop = bench.run("--once")
    assert (code, loop.wait_for("landing", key="a")["outcome"]) == (0, "failed")
    assert "REMOTE_AWAY" in loop.wait_for("landing", key="a")["reason"]
    assert bench.delivered("a")["landed"] == "unknown"
    (bench.folder / "away").rename(bench.origin.path)
    bench.run("--once")
    assert bench.delivered("a")["landed"] == "yes"


def test_a_loop_whose_remote_is_not_there_says_so_before_it_spends_anything(bench: RemoteLoop) -> None:
    """Decision: a mistake in the settings costs no session."""
    bench.repository.git("remote", "remove", "origin")
    bench.add("a")
    loop = bench.start("--once")
    code, _ = loop.end()
    assert code != 0
    assert "git remote add origin" in json.dumps(loop.events)
    assert bench.ends("a") == []


def test_work_is_offered_as_a_pull_request_and_lands_when_it_is_merged(tmp_path: Path) -> None:
    """E02, E15, E19: pushed, offered, checked by others, merged, and only then landed; dependants wait for that."""
    bench = opened(tmp_path, "pr")
    bench.rules(rule("a", *honest()), rule("b", {"say": "on"}, write("new.txt", "x\n"), commit(), complete()))
    bench.add("a")
    bench.add("b", checks=[{"id": "new", "command": "test -f new.txt"}], depends_on=["a"])
    loop = bench.start()
    waits = loop.wait_for("landing", key="a", outcome="pr_waits")
    assert "was opened" in waits["reason"]
    bench.wait_until(lambda: "submitted" in bench.facts("a"))
    assert (bench.delivered("a")["landed"], bench.state("b")) == ("unknown", "pending")
    ready(bench, mergeable="MERGEABLE", mergeStateStatus="CLEAN", statusCheckRollup=[PASSED])
    bench.wait_until(lambda: bench.state("b") == "succeeded")
    bench.stop(loop)
    assert bench.delivered("a")["landed"] == "yes"
    assert bench.origin.git("show", "main:thing.txt") == "fixed"
    bench.close()


def ready(bench: RemoteLoop, **facts: Any) -> None:
    """Let the forge find every pull request as good as this from now on; it may be asked at this very moment."""
    with bench.forge.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = json.loads(bench.forge.read_text())
        known["pulls"] = [{**pull, **facts} for pull in known["pulls"]]
        bench.forge.write_text(json.dumps({**known, "opened": facts}))


def test_a_pull_request_that_turns_red_becomes_new_work(tmp_path: Path) -> None:
    """F21: what the forge's own checks refuse goes back to the backlog, once."""
    bench = opened(tmp_path, "pr")
    bench.rules(rule("a", *honest()), rule("a~g1", {"say": "no"}))
    bench.forge.write_text(json.dumps({"opened": {"statusCheckRollup": [{**PASSED, "conclusion": "FAILURE"}]}}))
    bench.add("a", attempts_max=1)
    loop = bench.start()
    assert loop.wait_for("landing", key="a", outcome="pr_red")["reason"].endswith("failed: build")
    bench.wait_until(lambda: bench.states().get("a~g1") == "failed")
    bench.stop(loop)
    assert bench.facts("a")[-2:] == ["landing_refused", "succeeded_by"]
    bench.close()
