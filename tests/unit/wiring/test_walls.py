"""What stands open in the walls for every session and every check of a loop."""

from pathlib import Path

from workloop.config import SandboxConfig
from workloop.wiring.sandbox import standing_rooms


def test_programs_on_the_path_are_seen_below_every_folder_that_is_emptied_and_not_only_below_home(
    tmp_path: Path,
) -> None:
    below = next(folder for folder in Path("/run").iterdir() if folder.is_dir())
    rooms = standing_rooms(SandboxConfig(), (), {"HOME": str(tmp_path), "PATH": str(below)})
    assert below in rooms.readable
