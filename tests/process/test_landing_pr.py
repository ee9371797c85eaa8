"""A verified commit is offered as a pull request; only what the remote's branch contains has landed."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from remote_bench import ITEM, RemoteBench, green
from workloop.config.landing import PullRequestConfig
from workloop.domain.clock import Instant
from workloop.runner.landing import GuardVerdict, LandingOutcome, LandingPolicy, PullRequests, Ways
from workloop.runner.landing.pulls import PullRequestFault
from workloop.runner.workspace import WorkspaceOrder, make
from workloop.testing.gitrepo import ScratchRepository

FORGE = Path(__file__).with_name("fake_forge.py")
PASSED = {"__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS"}
READY = {"mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN", "statusCheckRollup": [PASSED]}


class Bench(RemoteBench):
    """A remote with pull requests."""

    policy = LandingPolicy.PR
    auto_merge = False

    @property
    def ways(self) -> Ways:
        """Return what landing may use: the default words, said to the stand-in."""
        usual = PullRequestConfig()
        words = [(sys.executable, str(FORGE), *given[1:]) for given in (usual.find, usual.open, usual.merge)]
        environment = {"PATH": os.environ["PATH"], "FORGE": str(self.file), "FORGE_BARE": str(self.origin.path)}
        pulls = PullRequests(
            find=words[0], open=words[1], merge=words[2], auto_merge=self.auto_merge, environment=environment
        )
        return Ways(remote=self.remote, pulls=pulls)

    @property
    def file(self) -> Path:
        """Return where the forge keeps what it knows."""
        return self.folder / "forge.json"

    @property
    def forge(self) -> dict[str, Any]:
        """Return what the forge knows."""
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def set(self, **facts: object) -> None:
        """Change what the forge does."""
        self.file.write_text(json.dumps({**self.forge, **facts}))

    def pull(self, **facts: object) -> None:
        """Change the only pull request."""
        (known,) = self.forge["pulls"]
        self.set(pulls=[{**known, **facts}])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A remote, a clone and a verified commit."""
    return Bench(tmp_path)


def test_a_verified_commit_is_pushed_to_its_branch_and_offered_once(bench: Bench) -> None:
    """E02: pushed and offered, seen there, and not offered twice."""
    landing = bench.land()
    assert (landing.outcome, landing.submitted) == (LandingOutcome.PR_WAITS, bench.sha)
    assert bench.at(f"refs/heads/{bench.branch}") == bench.sha
    assert landing.url == "https://forge.example/pull/1"
    assert bench.land().outcome is LandingOutcome.PR_WAITS
    (pull,) = bench.forge["pulls"]
    assert (pull["title"], pull["baseRefName"], bench.at()) == ("a thing", "main", bench.tip)
    assert bench.sha in pull["body"]


def test_titles_are_arguments_and_no_words_of_the_command(bench: Bench) -> None:
    """Security: what an item is called cannot become another argument, nor be filled in again."""
    from dataclasses import replace

    bench.land(replace(bench.order(), title='{sha} "; touch x; --base evil'))
    assert bench.forge["pulls"][0]["title"] == '{sha} "; touch x; --base evil'


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        ({}, LandingOutcome.PR_WAITS),
        ({"statusCheckRollup": [{**PASSED, "conclusion": "FAILURE"}]}, LandingOutcome.PR_RED),
        ({**READY, "mergeStateStatus": "DIRTY"}, LandingOutcome.CONFLICT),
        ({**READY, "state": "CLOSED"}, LandingOutcome.PR_CLOSED),
        ({**READY, "state": "MERGED"}, LandingOutcome.UNCONFIRMED),
    ],
)
def test_e15_only_a_mergeable_head_with_passed_checks_is_merged(
    bench: Bench, facts: dict[str, Any], outcome: LandingOutcome
) -> None:
    """E15, E19: with auto-merge asked for, nothing else than a ready pull request is merged."""
    bench.auto_merge = True
    bench.set(opened={"mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN", **facts})
    bench.land()
    assert (bench.land().outcome, bench.at()) == (outcome, bench.tip)
    assert "merge" not in bench.forge["calls"]


def test_e15_checks_of_another_head_count_for_nothing(bench: Bench) -> None:
    """E15: green checks of a head that is not the verified commit are nobody's."""
    bench.auto_merge = True
    bench.set(opened={**READY, "fixedHead": True})
    bench.land()
    bench.pull(headRefOid=bench.tip)
    assert bench.land().outcome is LandingOutcome.PR_WAITS
    assert "merge" not in bench.forge["calls"]


def test_a_persons_commits_on_the_branch_are_not_overwritten(bench: Bench) -> None:
    """Decision: the branch on the remote goes on without us; a person decides."""
    bench.set(opened=READY)
    bench.land()
    person = bench.clone("person")
    person.git("switch", "--quiet", bench.branch)
    mine = person.commit({"a.txt": "better\n"})
    person.git("push", "--quiet", "origin", "HEAD")
    bench.operator.git("switch", "--quiet", "--create", "repaired", bench.sha)
    repaired = bench.operator.commit({"c.txt": "x\n"})
    landing = bench.land(bench.order(repaired))
    assert (landing.outcome, bench.at(f"refs/heads/{bench.branch}")) == (LandingOutcome.PUSH_REFUSED, mine)


def test_a_secret_in_a_later_result_is_not_brought_to_an_open_pull_request(bench: Bench) -> None:
    """Security: the branch was offered clean; what came since has a secret in its history, and the remote sees none."""
    assert bench.land().outcome is LandingOutcome.PR_WAITS
    refs = bench.origin.git("for-each-ref")
    token = "ghp_" + "a1B2" * 9
    order = WorkspaceOrder(item_id=ITEM, attempt=2, title="thing", created=Instant(2))
    again = ScratchRepository(path=make(bench.repository, order).path)
    again.commit({"notes.txt": f"token {token}\n"})
    sha = again.commit({"notes.txt": None, "c.txt": "work\n"})
    landing = bench.land(bench.order(sha))
    assert (landing.outcome, landing.files) == (
        LandingOutcome.WITHHELD,
        ("notes.txt looks like a secret by its content",),
    )
    assert landing.url
    assert bench.origin.git("for-each-ref") == refs
    assert bench.origin.git("log", "--all", "--oneline", f"-S{token}") == ""


def test_what_a_person_merged_has_landed_once_the_branch_contains_it(bench: Bench) -> None:
    """E19: ancestry, seen by git; the branch here follows."""
    bench.set(opened=READY)
    bench.land()
    bench.origin.git("update-ref", "refs/heads/main", bench.sha)
    assert bench.land().outcome is LandingOutcome.ALREADY_LANDED
    assert bench.operator.head == bench.sha


def test_auto_merge_checks_the_merge_result_again_and_believes_only_the_branch(bench: Bench) -> None:
    """E19, E21: the guards see the merge with today's base before anything is merged."""
    bench.auto_merge = True
    bench.set(opened=READY)
    bench.land()
    moved = bench.colleague({"b.txt": "by a colleague\n"})
    seen: list[str] = []

    def guards(merge: str) -> GuardVerdict:
        seen.append(bench.operator.git("show", f"{merge}:b.txt"))
        return green(merge)

    landing = bench.land(guards=guards)
    assert (landing.outcome, seen) == (LandingOutcome.LANDED, ["by a colleague"])
    assert bench.origin.git("log", "-1", "--format=%P", "main") == f"{moved} {bench.sha}"


def test_auto_merge_of_a_red_merge_result_merges_nothing(bench: Bench) -> None:
    """E21: what each side passed alone can fail together."""
    bench.auto_merge = True
    bench.set(opened=READY)
    bench.land()
    landing = bench.land(guards=lambda _: GuardVerdict(green=False, reason="suite"))
    assert (landing.outcome, bench.at()) == (LandingOutcome.GUARDS_NOT_GREEN, bench.tip)
    assert "merge" not in bench.forge["calls"]


def test_e19_a_promise_to_merge_is_not_landed(bench: Bench) -> None:
    """E19: enabling auto-merge is an intent; the branch does not contain it."""
    bench.auto_merge = True
    bench.set(opened=READY, promises=True)
    bench.land()
    landing = bench.land()
    assert (landing.outcome, bench.at()) == (LandingOutcome.UNCONFIRMED, bench.tip)


def test_a_squashed_merge_has_landed_when_its_content_is_in(bench: Bench) -> None:
    """E19: the SHA is another one, so git has to show that merging ours would change nothing."""
    bench.auto_merge = True
    bench.set(opened=READY, squashes=True)
    bench.land()
    landing = bench.land()
    assert (landing.outcome, landing.merge_sha) == (LandingOutcome.LANDED, bench.at())


def test_a_merge_that_dropped_our_content_has_not_landed(bench: Bench) -> None:
    """E03: merged by its state, and nothing of it is in the branch."""
    bench.set(opened=READY)
    bench.land()
    other = bench.colleague({"b.txt": "something else\n"})
    bench.pull(state="MERGED", mergeCommit={"oid": other}, headRefOid=bench.sha)
    assert bench.land().outcome is LandingOutcome.UNCONFIRMED


def test_a_conflict_is_found_before_anything_is_offered(bench: Bench) -> None:
    """F17: nobody is asked to look at what cannot be merged."""
    bench.colleague({"a.txt": "by a colleague\n"})
    landing = bench.land()
    assert (landing.outcome, bench.at(f"refs/heads/{bench.branch}")) == (LandingOutcome.CONFLICT, "")
    assert bench.forge["pulls"] == []


def test_a_lost_claim_opens_no_pull_request(bench: Bench) -> None:
    """Fence: its commit is set aside and nothing is offered in its name."""
    landing = bench.land(bench.order(stands=lambda: False))
    assert (landing.outcome, bench.at(f"refs/heads/{bench.branch}")) == (LandingOutcome.CLAIM_LOST, "")
    assert bench.forge["pulls"] == []


@pytest.mark.parametrize("step", ["list", "create"])
def test_a_forge_that_fails_leaves_it_for_later_and_says_why(bench: Bench, step: str) -> None:
    """Decision: unknown is never pass, and the next look takes up where this one ended."""
    bench.set(fails={step: 4})
    with pytest.raises(PullRequestFault, match="ended with 4: the forge is on fire"):
        bench.land()
    bench.set(fails={})
    assert bench.land().outcome is LandingOutcome.PR_WAITS
    assert len(bench.forge["pulls"]) == 1


@pytest.mark.parametrize("raw", ["{", "[{}]", '[{"number": 0}]', '{"message": "not found"}', "[[]]"])
def test_an_answer_that_cannot_be_read_is_not_taken_for_no_pull_request(bench: Bench, raw: str) -> None:
    """E15: unreadable is unknown; taken for none, it would be offered again and again."""
    bench.set(raw=raw)
    with pytest.raises(PullRequestFault):
        bench.land()
    assert bench.forge["pulls"] == []


def test_a_command_that_is_not_installed_is_named(bench: Bench) -> None:
    """Decision: the message says which program is missing."""
    from workloop.runner.landing.pulls import ran

    assert ran(["no-such-forge"], bench.folder, {}).exit_code == 127
