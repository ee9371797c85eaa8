"""What a person is told to do next works, and a question says why it is asked."""

from typing import Any

from queue_bench import Bench

CHECK = {"id": "suite", "command": "make test"}


def test_a_person_ends_the_delay_of_an_item_that_is_held_back(bench: Bench) -> None:
    """Regression: why said that an item could be retried sooner, and retry refused."""
    bench.add("x")
    said: dict[str, Any] = {"failed": "f", "cause": "c", "next_action": "n", "delay_seconds": 3600}
    bench.do("retry", token=bench.claim("x")["token"], **said)
    told = bench.do("why", key="x")["reasons"][0]
    assert (told["code"], told["unblock"]) == ("NOT_DUE", "workloop retry x lets it go at once")
    assert bench.do("retry", key="x", reason="sooner")["state"] == "pending"
    assert bench.claim("x")["item"]["attempt"] == 2


def test_a_waiver_of_what_no_default_asks_is_refused(bench: Bench) -> None:
    """Regression: a mistyped waiver was taken without a word and waived nothing."""
    wish = {"key": "x", "title": "x", "waive": [{"id": "siute", "reason": "slow"}]}
    bench.refused("WAIVER_UNKNOWN", "add_items", items=[wish])


def test_the_question_of_an_unsettled_verification_says_what_came_last(bench: Bench) -> None:
    """Regression: the question did not say why nobody could judge the candidate."""
    bench.candidate("x", checks=[CHECK], attempts_max=1)
    taken = bench.claim("x~v1", "checker")
    said: dict[str, Any] = {"failed": "no verdict", "cause": "the session just ended", "next_action": "look again"}
    bench.do("retry", token=taken["token"], **said)
    assert "the session just ended" in bench.do("why", key="x")["reasons"][0]["message"]
