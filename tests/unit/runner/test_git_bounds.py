"""How long the host waits for git."""

import pytest

from workloop.runner.git import PLAIN, GitCall, seconds_for


@pytest.mark.parametrize("verb", ["worktree", "checkout", "reset", "read-tree", "status"])
def test_what_goes_over_a_whole_tree_has_time_for_a_big_one_on_a_slow_disk(verb: str) -> None:
    """A removal of 50,000 files took more than two minutes on a busy machine, and was given up half done."""
    assert seconds_for(verb, PLAIN) == 3600.0


def test_everything_else_answers_soon_or_is_given_up() -> None:
    assert seconds_for("rev-parse", PLAIN) == 120.0


def test_a_call_s_own_time_counts_for_whatever_it_does() -> None:
    assert seconds_for("worktree", GitCall(timeout_seconds=5.0)) == 5.0
