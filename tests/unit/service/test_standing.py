"""What a person reads in the morning: which work is done, which failed and why, what waits behind it."""

from queue_bench import Answer, Bench, sha
from workloop.domain.campaign import Landing

DETAIL: Answer = {"failed": "the build", "cause": "a typo", "next_action": "fix the typo"}


def lying(bench: Bench) -> None:
    """Make a root whose candidate was rejected and whose only repair failed."""
    verifier = bench.candidate("lie", checks=[{"id": "suite", "command": "make test"}], attempts_max=1)
    taken = bench.claim(verifier, "checker")
    bench.verdict(taken, "rejected", failed_checks=["suite"], reproduction="make test: exit 2\nand much more")
    bench.do("retry", token=bench.claim("lie~r1", "builder")["token"], **DETAIL)


def test_status_counts_work_apart_from_follow_ups_and_names_what_failed(bench: Bench) -> None:
    """One of three pieces of work failed, though six items are there."""
    bench.judge(bench.candidate("good"))
    lying(bench)
    bench.add("after", depends_on=["lie"])
    status = bench.do("status")
    assert status["work"] == {"pending": 1, "succeeded": 1, "failed": 1}
    assert status["follow_ups"] == {"succeeded": 2, "failed": 1}
    assert (status["total"], status["counts"]) == (6, {"pending": 1, "succeeded": 3, "failed": 2})
    assert [row["key"] for row in status["failed"]] == ["lie"]
    assert status["failed"][0]["why"].startswith("red in round 1: suite: make test: exit 2; ")
    assert status["stuck"] == [{"key": "after", "behind": "lie"}]


def test_why_of_a_failed_root_says_what_was_red(bench: Bench) -> None:
    """The name of a failed repair alone tells nobody what to do."""
    lying(bench)
    (reason,) = bench.do("why", key="lie")["reasons"]
    assert reason["code"] == "FAILED"
    assert reason["message"].startswith("red in round 1: suite: make test: exit 2; ")
    assert "repair_failed lie~r1" in reason["message"]
    assert "much more" not in reason["message"]


def test_why_of_a_failed_root_names_a_check_once_though_the_hosts_words_begin_with_it(bench: Bench) -> None:
    """What a host writes names each check by itself."""
    taken = bench.claim(
        bench.candidate("lie", checks=[{"id": "suite", "command": "make test"}], rounds_max=1), "checker"
    )
    said = "suite: failed (failed), exit code 1; its output ends with:\nFAIL"
    bench.verdict(taken, "rejected", failed_checks=["suite", "objective"], reproduction=said)
    (reason,) = bench.do("why", key="lie")["reasons"]
    assert reason["message"].count("suite") == 1 + reason["message"].partition("; ")[2].count("suite")
    assert reason["message"].startswith("red in round 1: objective: suite: failed (failed)")


def test_why_of_a_root_that_failed_before_any_verdict_says_how_it_ended(bench: Bench) -> None:
    """There is nothing red to name."""
    bench.add("plain", attempts_max=1)
    bench.do("retry", token=bench.claim("plain")["token"], **DETAIL)
    assert "cause a typo" in bench.do("why", key="plain")["reasons"][0]["message"]
    assert "cause a typo" in bench.do("status")["failed"][0]["why"]


def test_what_waits_behind_a_question_is_stuck_and_a_lapsed_last_lease_is_a_failure(bench: Bench) -> None:
    """Neither needs anybody to have written it down yet."""
    bench.add("ask")
    bench.add("after", depends_on=["ask"])
    bench.park("ask")
    bench.add("slow", expiries_max=1)
    bench.claim("slow")
    bench.clock.advance(3600)
    status = bench.do("status")
    assert status["stuck"] == [{"key": "after", "behind": "ask"}]
    assert [row["key"] for row in status["failed"]] == ["slow"]
    assert status["work"] == {"pending": 1, "deferred": 1, "failed": 1}


def test_what_waits_for_a_root_is_stuck_behind_a_question_of_its_verifier(bench: Bench) -> None:
    """The question is the follow-up's, the dependency the root's."""
    verifier = bench.candidate("made")
    bench.add("after", depends_on=["made"])
    bench.park(verifier)
    assert bench.do("status")["stuck"] == [{"key": "after", "behind": "made"}]


def test_a_long_campaign_is_named_in_part_and_counted_in_full(bench: Bench) -> None:
    """An answer for people and agents stays short."""
    for number in range(12):
        bench.add(f"p{number}", attempts_max=1)
        bench.do("retry", token=bench.claim(f"p{number}")["token"], **DETAIL)
    for number in range(12):
        bench.add(f"w{number}", depends_on=["p0"])
    status = bench.do("status")
    assert (len(status["failed"]), len(status["stuck"])) == (10, 10)
    assert status["work"] == {"pending": 12, "failed": 12}
    listed = bench.do("list", limit=5)
    assert (len(listed["items"]), listed["further"]) == (5, 19)
    assert bench.do("list", limit=5, state=["failed"])["further"] == 7
    assert "further" not in bench.do("list", limit=5, after=listed["after"])


def test_why_of_what_a_loop_holds_says_how_it_comes_back_when_the_loop_has_died(bench: Bench) -> None:
    """Nobody has to wait for a lease that the next run takes back at once."""
    bench.add("x")
    bench.claim("x", "loop@here/1")
    assert "workloop run" in bench.do("why", key="x")["reasons"][0]["unblock"]


def test_a_verified_result_that_has_not_landed_is_not_at_its_end(bench: Bench) -> None:
    """Succeeded is about the verdict; where a campaign lands results, one that has not landed still waits."""
    bench.add("plain", verification="none")
    bench.finish(bench.claim("plain"), 1)
    assert (bench.do("why", key="plain")["reasons"][0]["code"], bench.do("status")["to_land"]) == ("SUCCEEDED", 0)
    bench.change_settings(landing=Landing.PUSH)
    (reason,) = bench.do("why", key="plain")["reasons"]
    assert (reason["code"], bench.do("status")["to_land"]) == ("TO_LAND", 1)
    assert "waits to land (push)" in reason["message"]
    bench.fact("plain", "landed", sha(2))
    assert (bench.do("why", key="plain")["reasons"][0]["code"], bench.do("status")["to_land"]) == ("SUCCEEDED", 0)
