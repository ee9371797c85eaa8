"""Nights with tight ceilings in virtual time: what is spent stays under them whatever is killed, and work goes on."""

from pathlib import Path

import pytest
from ceilings import drawn
from night import Night
from world import play

pytestmark = pytest.mark.timeout(900)
QUICK, MANY = range(20), range(20, 200)


def night(seed: int, folder: Path) -> Night:
    """Play one night under the ceilings of its seed; a person lifts them all in the morning."""
    played = Night(seed, folder, drawn(seed))
    play(seed, played.run)
    return played


@pytest.mark.parametrize("seed", QUICK)
def test_no_ceiling_is_passed_by_more_than_one_sessions_reserve(seed: int, tmp_path: Path) -> None:
    night(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_more_nights_stay_under_their_ceilings(seed: int, tmp_path: Path) -> None:
    night(seed, tmp_path)


def test_some_nights_meet_their_ceilings(tmp_path: Path) -> None:
    """A ceiling that is never met would prove nothing."""
    met, seeds = 0, iter(range(3))
    while met < 2:
        seed = next(seeds)
        (tmp_path / str(seed)).mkdir()
        met += "budget" in "\n".join(night(seed, tmp_path / str(seed)).world.story)
