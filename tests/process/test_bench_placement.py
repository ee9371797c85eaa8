"""Where config, driver and ledger may lie: nowhere that a worker can reach by any name, link or mount."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workloop.domain.errors import BadRequest
from workloop.repair.placement import check_placement, mounts_below


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """Make a folder of the operator's and one of a worker's, each with something in it."""
    operator, worker = tmp_path / "operator", tmp_path / "worker"
    for folder in (operator, worker):
        (folder / "deep").mkdir(parents=True)
        (folder / "file.json").write_text("{}")
    return operator, worker


def refused(path: Path, *worker: Path) -> str:
    """Return what is said against a path."""
    with pytest.raises(BadRequest) as caught:
        check_placement({"ledger": path}, worker)
    assert caught.value.code == "PLACEMENT_INVALID"
    return caught.value.message


def test_what_lies_apart_is_let_be(places: tuple[Path, Path]) -> None:
    operator, worker = places
    check_placement({"config": operator / "file.json", "ledger": operator / "new.jsonl"}, (worker, worker / "missing"))
    check_placement({"config": operator / "file.json"}, ())


def test_what_lies_in_a_workers_folder_is_refused_however_it_is_written(places: tuple[Path, Path]) -> None:
    operator, worker = places
    (operator / "link").symlink_to(worker)
    (worker / "up").symlink_to(worker / "deep")
    for path in (
        worker / "new.jsonl",
        worker / "deep" / "new.jsonl",
        worker / "missing" / "new.jsonl",
        operator / ".." / "worker" / "new.jsonl",
        operator / "link" / "new.jsonl",
        worker / "up" / "new.jsonl",
    ):
        assert "a worker can reach" in refused(path, worker)
        assert "a worker can reach" in refused(path, worker.parent / "operator" / ".." / "worker")
    assert "a worker can reach" in refused(worker / "new.jsonl", operator / "link"), "the worker's own name is a link"
    assert "a worker can reach" in refused(worker / "later" / "new.jsonl", worker / "later"), "not there yet"


def test_a_file_with_another_name_is_refused(places: tuple[Path, Path]) -> None:
    operator, worker = places
    (operator / "link.json").symlink_to(operator / "file.json")
    assert "symbolic link" in refused(operator / "link.json", worker)
    (worker / "second.json").hardlink_to(operator / "file.json")
    assert "hard link" in refused(operator / "file.json", worker)


PROBE = """
import json, sys
from pathlib import Path
from workloop.domain.errors import BadRequest
from workloop.repair.placement import check_placement
try:
    check_placement({"ledger": Path(sys.argv[1])}, [Path(sys.argv[2])])
    print(json.dumps("fine"))
except BadRequest as error:
    print(json.dumps(error.code))
"""


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap to mount something")
@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("worker", "other", "PLACEMENT_INVALID"),
        ("operator", "worker/deep", "PLACEMENT_INVALID"),
        ("worker/deep", "other", "fine"),
    ],
)
def test_the_same_folder_mounted_at_another_place_is_the_same_folder(
    places: tuple[Path, Path], source: str, target: str, said: str
) -> None:
    """The operator's folder is reached through a mount in the worker's, or lies under another name of that."""
    root = places[0].parent
    (root / "other").mkdir()
    ledger = root / ("other" if target == "other" else "operator") / "new.jsonl"
    argv = [
        "bwrap", "--dev-bind", "/", "/", "--bind", str(root / source), str(root / target),
        sys.executable, "-c", PROBE, str(ledger), str(root / "worker"),
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == said


def test_a_mount_point_with_a_blank_is_read(tmp_path: Path) -> None:
    listed = tmp_path / "mountinfo"
    listed.write_text("1 2 3:4 / /a/b\\040c rw - ext4 x rw\n5 6 7:8 / /elsewhere rw - ext4 y rw\n")
    assert mounts_below(Path("/a"), listed) == [Path("/a/b c")]
