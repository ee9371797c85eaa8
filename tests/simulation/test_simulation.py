"""Whole nights of the loop in virtual time, by seed: whatever befalls it, nothing is lost, doubled or forgotten."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from night import Night
from world import play

pytestmark = pytest.mark.timeout(900)
QUICK, MANY = range(60), range(60, 1000)
HERE = Path(__file__).parent
RETELL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_simulation import digest, night
print(digest(night(int(sys.argv[2]), Path(sys.argv[3]))))
"""


def night(seed: int, folder: Path) -> Night:
    """Play one night; one that fails tells its seed and the end of its story."""
    played = Night(seed, folder)
    play(seed, played.run)
    return played


def digest(played: Night) -> str:
    """Return what tells one story from another; where it was played is no part of it."""
    text = "\n".join(played.world.story).replace(str(played.folder), "")
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("seed", QUICK)
def test_a_night_ends_with_everything_over_or_waiting_for_something(seed: int, tmp_path: Path) -> None:
    night(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_more_nights_end_so_too(seed: int, tmp_path: Path) -> None:
    night(seed, tmp_path)


def test_the_same_seed_tells_the_same_story_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    told = night(7, tmp_path / "here")
    command = [sys.executable, "-c", RETELL, str(HERE), "7", str(tmp_path / "there")]
    other = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert other.stdout.strip() == digest(told)
    assert len(told.world.story) > 50
