"""What is written down of a grant counts for that grant alone, and a lane in trouble is tried so often and no more."""

from pathlib import Path

from workloop.domain.clock import SECOND_US, Instant
from workloop.driver.lanes.note import NAME, Note, read_note, write_note
from workloop.driver.lanes.trouble import Trouble

NOTE = Note(grant=7, key="a", checkout="/somewhere", sha="f" * 40, foreign=("one", "two"))


def test_note_is_read_again_for_its_own_grant_and_for_no_other(tmp_path: Path) -> None:
    assert read_note(tmp_path, 7) is None
    write_note(tmp_path, NOTE)
    assert read_note(tmp_path, 7) == NOTE
    assert read_note(tmp_path, 8) is None


def test_note_that_was_cut_short_counts_as_none(tmp_path: Path) -> None:
    write_note(tmp_path, NOTE)
    text = (tmp_path / NAME).read_text()
    for length in range(len(text) - 1):
        (tmp_path / NAME).write_text(text[:length])
        assert read_note(tmp_path, 7) is None, length


def test_lane_in_trouble_is_tried_at_growing_distances_until_its_tries_are_spent() -> None:
    now, trouble = Instant(1_000 * SECOND_US), Trouble(tries=3)
    assert trouble.due(now)
    waits: list[int] = []
    while not trouble.spent:
        trouble.failed("it is stuck", "the tail", now)
        assert trouble.again_at is not None
        waits.append((trouble.again_at - now) // SECOND_US)
    assert waits == [2, 10, 60]
    assert not trouble.due(Instant(now + 3600 * SECOND_US))
    assert "it is stuck" in trouble.asks("desk")
    trouble.over()
    assert (trouble.spent, trouble.due(now), trouble.question) == (False, True, None)
