"""Whole nights of the loop in virtual time, by seed: whatever befalls it, nothing is lost, doubled or forgotten."""

from pathlib import Path

import pytest
from night import Night
from world import play

QUICK, MANY = range(200), range(200, 1000)


def night(seed: int, folder: Path) -> Night:
    """Play one night."""
    played = Night(seed, folder)
    play(seed, played.run)
    return played


@pytest.mark.parametrize("seed", QUICK)
def test_a_night_ends_with_everything_over_or_waiting_for_something(seed: int, tmp_path: Path) -> None:
    night(seed, tmp_path)


def test_the_same_seed_tells_the_same_story(tmp_path: Path) -> None:
    stories = [night(7, tmp_path / name).world.story for name in ("first", "second")]
    assert stories[0] == stories[1]
    assert len(stories[0]) > 50
