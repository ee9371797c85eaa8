"""A ledger is made where nothing is and nobody else can write, and a disk that fails leaves what can be believed."""

import fcntl
import itertools
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ledger_story import OPENING, attempt, ended, new_ledger, story, write
from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.faults import LedgerFault, LedgerRefused
from workloop.repair.ledger.records import Note, StopReason
from workloop.repair.ledger.verifying import AnchorState, verify
from workloop.repair.ledger.writing import Ledger
from workloop.testing.clocks import FakeClock


def a_file(path: Path) -> None:
    """Put a file there."""
    path.write_text("kept\n")


def a_link(path: Path) -> None:
    """Put a link to a file there."""
    path.with_name("target").write_text("kept\n")
    path.symlink_to(path.with_name("target"))


def a_dangling_link(path: Path) -> None:
    """Put a link to nothing there."""
    path.symlink_to(path.with_name("nothing"))


THINGS: dict[str, Callable[[Path], None]] = {
    "file": a_file,
    "empty file": Path.touch,
    "link": a_link,
    "dangling link": a_dangling_link,
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
}


def tree(folder: Path) -> list[tuple[object, ...]]:
    """Return all that can be told of what lies in a folder."""
    told: list[tuple[object, ...]] = []
    for path in sorted(folder.iterdir()):
        facts = path.lstat()
        bytes_there = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
        link = str(path.readlink()) if path.is_symlink() else ""
        told.append((path.name, facts.st_mode, facts.st_ino, facts.st_mtime_ns, bytes_there, link))
    return told


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Return a folder that is nobody else's."""
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.parametrize("kind", THINGS)
@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.head"])
def test_whatever_is_at_the_path_is_refused_and_left_as_it_is(private: Path, kind: str, name: str) -> None:
    """M19: a run has a ledger of its own, and so has its head."""
    THINGS[kind](private / name)
    before = tree(private)
    with pytest.raises(LedgerRefused) as refused:
        new_ledger(private / "run.jsonl")
    assert refused.value.code == "LEDGER_EXISTS"
    assert name in refused.value.message
    assert tree(private) == before


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o1777])
def test_a_folder_that_others_can_write_in_is_refused(private: Path, mode: int) -> None:
    private.chmod(mode)
    with pytest.raises(LedgerRefused) as refused:
        new_ledger(private / "run.jsonl")
    assert refused.value.code == "LEDGER_PARENT_UNSAFE"
    assert tree(private) == []


def test_a_folder_that_is_not_there_or_takes_no_file_is_refused(private: Path) -> None:
    a_file(private / "file")
    for path, code in (
        (private / "none" / "run.jsonl", "LEDGER_PARENT_MISSING"),
        (private / "file" / "run.jsonl", "LEDGER_PARENT_MISSING"),
        (Path("/proc/self/run.jsonl"), "LEDGER_UNWRITABLE"),
        (Path("run.jsonl"), "LEDGER_PATH_RELATIVE"),
    ):
        with pytest.raises(LedgerRefused) as refused:
            write_first(path)
        assert refused.value.code == code


def write_first(path: Path) -> None:
    """Make a ledger without making its folder."""
    Ledger.create(path, OPENING, clock=FakeClock())


def test_only_its_owner_can_read_a_ledger(private: Path) -> None:
    before = os.umask(0)
    try:
        new_ledger(private / "run.jsonl").release()
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in private.iterdir()} == {0o600}


def test_a_second_writer_is_refused_by_the_lock_and_a_reader_is_told(private: Path) -> None:
    path = private / "run.jsonl"
    ledger = write(path, list(story())[:3])
    with path.open("rb") as stream, pytest.raises(BlockingIOError):
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert verify(path).held is True
    ledger.stop(StopReason.SIGINT)
    with path.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert verify(path).held is False


def test_of_two_that_make_a_ledger_at_once_one_does(private: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from ledger_story import new_ledger\n"
        "sys.stdin.readline(); new_ledger(Path(sys.argv[1])); sys.stdout.write('made')"
    )
    argv = [sys.executable, "-c", program, str(private / "run.jsonl")]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    children = [
        subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    answers = [child.communicate(b"\n", timeout=60) for child in children]
    assert sorted(out for out, _ in answers) == [b"", b"", b"", b"made"]
    assert sum(b"LEDGER_EXISTS" in err for _, err in answers) == 3
    assert verify(private / "run.jsonl").good_prefix == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of its own that holds one megabyte."""
    place = tmp_path / "disk"
    place.mkdir(mode=0o700)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(place)], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)  # a test that failed may hold a file there


def fill(place: Path) -> Path:
    """Leave no room on a disk."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):
        stream.writelines(itertools.repeat(bytes(4096)))
    return filler


def test_on_a_full_disk_no_ledger_is_made(small_disk: Path) -> None:
    fill(small_disk)
    before = tree(small_disk)
    with pytest.raises(LedgerRefused) as refused:
        new_ledger(small_disk / "run.jsonl")
    assert refused.value.code == "LEDGER_UNWRITABLE"
    assert [row[0] for row in tree(small_disk)] == [row[0] for row in before]


def test_a_disk_that_fills_up_leaves_a_good_ledger_that_takes_only_its_end(small_disk: Path) -> None:
    """M20: what cannot be written is not done, and the run ends in its own words once there is room."""
    path = small_disk / "run.jsonl"
    ledger = write(path, [attempt("p1", "one")])
    filler = fill(small_disk)
    with pytest.raises(LedgerFault) as fault:
        fill_up(ledger)
    assert fault.value.code == "LEDGER_WRITE_FAILED"
    found = verify(path)
    assert (found.whole, found.anchor) == (True, AnchorState.MATCHES)
    assert [start.phase for start in found.open_phases] == ["p1"]
    filler.unlink()
    with pytest.raises(LedgerFault) as closed:
        ledger.append(ended("p1", 11)[0])
    assert closed.value.code == "LEDGER_CLOSED"
    close = ledger.stop(StopReason.LEDGER_FAILURE, "the disk was full")
    found = verify(path)
    assert (found.whole, found.close) == (True, close)
    assert close.unknown_charges == 1


def fill_up(ledger: Ledger) -> None:
    """Write long notes until that fails."""
    while True:
        ledger.append(Note(topic="filling", text="x" * 3_000))


def test_a_write_that_stops_in_the_middle_is_taken_back(private: Path) -> None:
    """The room may end inside of a record."""
    path = private / "run.jsonl"
    ledger = write(path, [attempt("p1", "one")])
    size = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        with pytest.raises(LedgerFault):
            ledger.append(ended("p1", 11)[0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.stat().st_size == size
    assert verify(path).good_prefix == 2
    ledger.stop(StopReason.LEDGER_FAILURE)
    assert verify(path).whole is True


@pytest.mark.parametrize("what", ["longer", "shorter", "another", "gone"])
def test_a_ledger_that_something_else_has_changed_takes_nothing_more(private: Path, what: str) -> None:
    path = private / "run.jsonl"
    ledger = write(path, [attempt("p1", "one")])
    match what:
        case "longer":
            with path.open("ab") as stream:
                stream.write(b"{}\n")
        case "shorter":
            os.truncate(path, 10)
        case "another":
            path.with_name("other").write_bytes(path.read_bytes())
            path.with_name("other").replace(path)
        case _:
            path.unlink()
    before = tree(private)
    for _ in range(2):
        with pytest.raises(LedgerFault):
            ledger.append(ended("p1", 11)[0])
    with pytest.raises(LedgerFault):
        ledger.stop(StopReason.LEDGER_FAILURE)
    assert [row[4] for row in tree(private)] == [row[4] for row in before]


def test_a_record_is_durable_before_its_head_says_that_it_is_there(private: Path) -> None:
    """M20: no kill shows a missing sync, only power that fails, so the calls themselves are looked at."""
    calls: list[str] = []

    def called(frame: object, event: str, argument: object) -> None:
        """Keep what is written and synced."""
        name = getattr(argument, "__name__", "")
        if event == "c_call" and name in ("pwrite", "fsync"):
            calls.append(name)

    sys.setprofile(called)
    try:
        ledger = new_ledger(private / "run.jsonl")
        ledger.append(Note(topic="one"))
        ledger.stop(StopReason.SIGTERM)
    finally:
        sys.setprofile(None)
    record = ["pwrite", "fsync", "pwrite"]
    both_files = ["fsync", "fsync"]
    assert calls == [*record, *both_files, *record, *record, *both_files]


def test_a_closed_ledger_takes_nothing_more(private: Path) -> None:
    ledger = write(private / "run.jsonl", [])
    ledger.stop(StopReason.SIGTERM)
    with pytest.raises(LedgerFault):
        ledger.append(attempt("p1", "one"))
    assert verify(private / "run.jsonl", anchor=anchor_path(private / "run.jsonl")).whole is True
