"""A tree that is deleted soon is begun in an area of its own, and nothing of that is seen."""

from pathlib import Path

import pytest

from workloop.runner.spreading import AREAS, keep_apart, make_apart


def test_folders_are_new_private_and_begun_in_many_areas(tmp_path: Path) -> None:
    """Decision: the name chooses the area, so a fresh process goes on where no other has just deleted."""
    areas = tmp_path / "areas"
    for number in range(3 * AREAS):
        made = tmp_path / f"run-{number}"
        make_apart(areas, made)
        assert (made.stat().st_mode & 0o777, list(made.iterdir())) == (0o700, [])
        made.rmdir()
    assert len(list(areas.iterdir())) == AREAS
    assert [begun for area in areas.iterdir() for begun in area.iterdir()] == []


def test_what_a_killed_process_had_begun_is_used_and_what_stands_there_is_not(tmp_path: Path) -> None:
    """Decision: a run goes into no folder that holds anything."""
    areas, made = tmp_path / "areas", tmp_path / "run"
    make_apart(areas, made)
    for area in areas.iterdir():
        (area / "run").mkdir()
    (made / "left").write_text("by another")
    with pytest.raises(OSError, match="run"):
        make_apart(areas, made)
    (made / "left").unlink()
    make_apart(areas, made)
    assert list(made.iterdir()) == []
    assert len(list(areas.glob("*/run"))) == AREAS - 1


def test_a_file_system_that_cannot_be_told_is_left_alone() -> None:
    """Decision: it is a hint; /proc has no such mark, and nothing is refused for that."""
    keep_apart(Path("/proc/self/task"))
