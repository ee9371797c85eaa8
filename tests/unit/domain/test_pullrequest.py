"""What a pull request has to show before it counts, told in the words of gh."""

from typing import Any

import pytest

from workloop.domain.errors import BadRequest
from workloop.domain.pullrequest import PrWord, judge_pull_request, read_pull_request, read_pull_requests

SHA = "a" * 40
PASSED: dict[str, Any] = {"__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS"}
READY: dict[str, Any] = {"mergeStateStatus": "CLEAN", "statusCheckRollup": [PASSED]}
USUAL: dict[str, Any] = {
    "number": 7,
    "url": "https://forge.example/pull/7",
    "state": "OPEN",
    "headRefOid": SHA,
    "baseRefName": "main",
    "mergeable": "MERGEABLE",
    "isDraft": False,
    "mergeCommit": None,
}


@pytest.mark.parametrize(
    ("facts", "word", "said"),
    [
        ({}, PrWord.WAITS, "silence is no pass"),
        ({"statusCheckRollup": [{**PASSED, "conclusion": "SKIPPED"}]}, PrWord.WAITS, "only skipped checks: build"),
        ({"statusCheckRollup": [{**PASSED, "conclusion": "NEUTRAL"}]}, PrWord.WAITS, "only skipped checks: build"),
        ({"statusCheckRollup": [PASSED, {"context": "ci", "state": "PENDING"}]}, PrWord.WAITS, "its checks: ci"),
        ({"statusCheckRollup": [PASSED, {"context": "ci", "state": "EXPECTED"}]}, PrWord.WAITS, "its checks: ci"),
        ({"statusCheckRollup": [{**PASSED, "status": "QUEUED", "conclusion": ""}]}, PrWord.WAITS, "its checks: build"),
        ({"statusCheckRollup": [{**PASSED, "conclusion": "NEW_WORD"}]}, PrWord.WAITS, "its checks: build"),
        ({"statusCheckRollup": [PASSED, {"context": "ci", "state": "FAILURE"}]}, PrWord.RED, "failed: ci"),
        ({"statusCheckRollup": [{**PASSED, "conclusion": "CANCELLED"}]}, PrWord.RED, "failed: build"),
        ({"statusCheckRollup": [PASSED], "mergeable": "UNKNOWN"}, PrWord.WAITS, "is not known yet"),
        ({**READY, "isDraft": True}, PrWord.WAITS, "is a draft"),
        ({**READY, "mergeable": "CONFLICTING"}, PrWord.CONFLICT, "no check can run"),
        ({**READY, "mergeStateStatus": "DIRTY"}, PrWord.CONFLICT, "no check can run"),
        ({**READY, "state": "CLOSED"}, PrWord.CLOSED, "without being merged"),
        ({**READY, "baseRefName": "elsewhere"}, PrWord.ELSEWHERE, "not from the verified"),
        ({**READY, "state": "MERGED"}, PrWord.MERGED, "merged as"),
        ({**READY, "headRefOid": "b" * 40}, PrWord.ELSEWHERE, "not from the verified"),
        ({"statusCheckRollup": [PASSED, {**PASSED, "conclusion": "FAILURE"}]}, PrWord.RED, "failed: build"),
        (READY, PrWord.READY, "can be merged"),
    ],
)
def test_e15_what_is_missing_pending_skipped_or_unknown_is_no_pass(
    facts: dict[str, Any], word: PrWord, said: str
) -> None:
    """E15: silence, a stale head and a conflict never read as green; skipped checks are named."""
    found = judge_pull_request(read_pull_request({**USUAL, **facts}), SHA, "main", unchecked=False)
    assert found.word is word
    assert said in found.reason


def test_a_repository_without_checks_may_be_merged_only_when_that_is_asked_for() -> None:
    """E15: the opt-out is about no checks at all, never about one that failed or runs."""
    bare: dict[str, Any] = {**USUAL, "statusCheckRollup": []}
    red: dict[str, Any] = {**USUAL, "statusCheckRollup": [{**PASSED, "conclusion": "STALE"}]}
    assert judge_pull_request(read_pull_request(bare), SHA, "main", unchecked=True).word is PrWord.READY
    assert judge_pull_request(read_pull_request(red), SHA, "main", unchecked=True).word is PrWord.RED


def test_skipped_checks_beside_passed_ones_are_named() -> None:
    """E15: seventy-eight skipped tests are told, and do not stop what passed."""
    runs = [PASSED, {**PASSED, "name": "slow", "conclusion": "SKIPPED"}]
    pull: dict[str, Any] = {**USUAL, "statusCheckRollup": runs}
    found = judge_pull_request(read_pull_request(pull), SHA, "main", unchecked=False)
    assert (found.word, found.reason.endswith("skipped: slow")) == (PrWord.READY, True)


@pytest.mark.parametrize(
    "value", [None, [], "x", {}, {**USUAL, "number": 0}, {**USUAL, "state": ""}, {**USUAL, "statusCheckRollup": [{}]}]
)
def test_what_cannot_be_read_is_refused(value: Any) -> None:
    """E15: an unreadable answer is unknown, not empty."""
    with pytest.raises(BadRequest):
        read_pull_request(value)


@pytest.mark.parametrize("value", [None, {}, "x", {"message": "not found"}])
def test_a_list_has_to_be_a_list(value: Any) -> None:
    """E15: an error in place of a list is not the absence of pull requests."""
    with pytest.raises(BadRequest):
        read_pull_requests(value)
