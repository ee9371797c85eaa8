"""Old sessions give up their bulk and keep their notes; one that may live is never touched."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from workloop.domain.clock import SECOND_US, Instant
from workloop.runner.pidfile import NAME
from workloop.runner.retention import SETTLED_SECONDS, Retention, SessionFolder, prune, surplus

NOW = Instant(1_000_000 * SECOND_US)
POLICY = Retention(age_seconds_max=1_000, bytes_max=100)


def folder(name: str, age_seconds: float, size: int, *, over: bool = True) -> SessionFolder:
    touched = Instant(NOW - round(age_seconds * SECOND_US))
    return SessionFolder(path=Path(name), touched_at=touched, bytes=size, over=over)


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ([], ""),
        ([folder("a", 1_000, 100)], ""),
        ([folder("a", 1_001, 1)], "a"),
        ([folder("a", 1_001, 0)], ""),
        ([folder("a", 1_001, 1, over=False)], ""),
        ([folder("a", 10, 60), folder("b", 20, 60)], "b"),
        ([folder("a", 10, 60), folder("b", 20, 60, over=False)], "a"),
        ([folder("a", 10, 60, over=False), folder("b", 20, 60, over=False)], ""),
        ([folder("a", 10, 30), folder("b", 20, 30), folder("c", 30, 30), folder("d", 40, 30)], "d"),
        ([folder("a", 10, 101)], "a"),
        ([folder("a", 10, 90), folder("b", 2_000, 90), folder("c", 20, 5)], "b"),
        ([folder("b", 10, 60), folder("a", 10, 60)], "a"),
        ([folder("a", -500, 90)], ""),
    ],
)
def test_too_old_ones_go_and_then_the_oldest_until_the_rest_fits(folders: list[SessionFolder], expected: str) -> None:
    assert "".join(found.path.name for found in surplus(folders, POLICY, NOW)) == expected


def session(sessions: Path, name: str, note: object = None, age_seconds: float = 5_000) -> Path:
    path = sessions / name
    (path / "home" / "deep").mkdir(parents=True)
    (path / "home" / "deep" / "state.db").write_bytes(b"x" * 1_000)
    (path / "stream.jsonl.gz").write_bytes(b"y" * 500)
    (path / "token").write_text("a token")
    (path / "item.json").write_text("{}")
    if note is not None:
        (path / "claim.json").write_text(note if isinstance(note, str) else json.dumps(note))
    for entry in (*path.iterdir(), path):
        os.utime(entry, ns=(0, (NOW - round(age_seconds * SECOND_US)) * 1_000))
    return path


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


WHOLE = ["claim.json", "home", "item.json", "stream.jsonl.gz", "token"]
ENDED = {"key": "T-1", "ended": True}


def test_pruned_session_keeps_its_notes_and_is_not_pruned_again(tmp_path: Path) -> None:
    old, young = session(tmp_path, "old", ENDED), session(tmp_path, "young", ENDED, age_seconds=10)
    policy = Retention(age_seconds_max=1_000)
    done = prune(tmp_path, policy, NOW)
    assert (done.folders, done.bytes) == ((old,), 1_507)
    assert (names(old), names(young)) == (["claim.json", "item.json"], WHOLE)
    assert json.loads((old / "claim.json").read_text()) == ENDED
    assert prune(tmp_path, policy, NOW).folders == ()


@pytest.mark.parametrize(
    "note",
    [{"ended": False}, {}, {"ended": "yes"}, "{", "[]", "[" * 100_000],
    ids=["running", "silent", "odd", "torn", "a list", "deep"],
)
def test_session_not_written_down_as_ended_is_left_alone(tmp_path: Path, note: object) -> None:
    path = session(tmp_path, "one", note)
    assert prune(tmp_path, Retention(age_seconds_max=0, bytes_max=0), NOW).folders == ()
    assert names(path) == WHOLE


def test_session_with_processes_is_left_alone_whatever_its_note_says(tmp_path: Path) -> None:
    path = session(tmp_path, "one", ENDED)
    (path / NAME).write_text("{}")
    assert prune(tmp_path, Retention(age_seconds_max=0, bytes_max=0), NOW).folders == ()
    assert len(names(path)) == len(WHOLE) + 1


@pytest.mark.parametrize("early", [True, False])
def test_session_without_a_note_is_left_alone_while_it_may_be_in_the_making(tmp_path: Path, early: bool) -> None:
    path = session(tmp_path, "one", age_seconds=SETTLED_SECONDS - 1 if early else SETTLED_SECONDS + 1)
    done = prune(tmp_path, Retention(age_seconds_max=0, bytes_max=0), NOW)
    assert done.folders == (() if early else (path,))


def test_nothing_outside_is_touched_through_links(tmp_path: Path) -> None:
    outside, sessions = tmp_path / "outside", tmp_path / "sessions"
    kept = session(outside, "kept", ENDED)
    path = session(sessions, "one", ENDED)
    (path / "to-a-folder").symlink_to(kept)
    (path / "to-a-file").symlink_to(kept / "token")
    (sessions / "link").symlink_to(kept)
    done = prune(sessions, Retention(age_seconds_max=0, bytes_max=0), NOW)
    assert done.folders == (path,)
    assert (names(kept), names(path)) == (WHOLE, ["claim.json", "item.json"])


def test_missing_folder_has_nothing_to_prune(tmp_path: Path) -> None:
    assert prune(tmp_path / "none", POLICY, NOW).folders == ()


def test_note_that_is_a_link_or_no_file_ends_nothing(tmp_path: Path) -> None:
    for name in ("one", "two"):
        session(tmp_path, name, ENDED)
        (tmp_path / name / "claim.json").rename(tmp_path / f"{name}.json")
    (tmp_path / "one" / "claim.json").symlink_to(tmp_path / "one.json")
    os.mkfifo(tmp_path / "two" / "claim.json")
    assert prune(tmp_path, Retention(age_seconds_max=0, bytes_max=0), NOW).folders == ()


def test_folder_that_cannot_be_looked_through_is_told_and_holds_up_no_other(tmp_path: Path) -> None:
    deep, plain = session(tmp_path, "deep", ENDED), session(tmp_path, "plain", ENDED)
    here = os.open(deep / "home", os.O_RDONLY)
    for _ in range(1_500):  # deeper than a path may be long
        os.mkdir("a-rather-long-name", dir_fd=here)
        inner = os.open("a-rather-long-name", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    done = prune(tmp_path, POLICY, NOW)
    subprocess.run(["rm", "-r", str(deep)], check=True)
    assert (done.folders, list(done.failures)) == ((plain,), [deep])
