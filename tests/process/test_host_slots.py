"""A host's places for sessions: counted over all loops, freed by the death of whoever had them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workloop.domain.errors import StoreUnavailable
from workloop.store.journal.memory import MemoryHostSlots
from workloop.store.journal.port import HostSlots
from workloop.store.journal.slots import FileHostSlots

CHILD = """
import sys
from pathlib import Path
from workloop.store.journal.memory import MemoryHostSlots
from workloop.store.journal.port import HostSlots
from workloop.store.journal.slots import FileHostSlots
slots = FileHostSlots(Path(sys.argv[1]))
holds = [slots.take(int(sys.argv[2]), "child") for _ in range(int(sys.argv[3]))]
sys.stdout.write(f"{sum(hold is not None for hold in holds)}\\n")
sys.stdout.flush()
sys.stdin.readline()
"""


def child(folder: Path, most: int, wanted: int) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", CHILD, str(folder), str(most), str(wanted)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def got(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def end(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    os.kill(process.pid, number)
    process.communicate()


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_no_more_places_are_taken_than_allowed_and_a_freed_one_is_taken_again(kind: str, tmp_path: Path) -> None:
    slots: HostSlots = FileHostSlots(tmp_path / "slots") if kind == "file" else MemoryHostSlots()
    holds = [slots.take(3, f"session {number}") for number in range(5)]
    assert [hold is not None for hold in holds] == [True, True, True, False, False]
    assert [holder.what for holder in slots.holders()] == ["session 0", "session 1", "session 2"]
    second = holds[1]
    assert second is not None
    second.release()
    second.release()
    assert [holder.what for holder in slots.holders()] == ["session 0", "session 2"]
    again = slots.take(3, "again")
    assert again is not None
    assert slots.take(3, "too many") is None
    assert slots.take(4, "a loop that may have more") is not None
    assert slots.take(1, "a loop that may have fewer") is None


def test_the_places_of_a_killed_loop_are_free_at_once(tmp_path: Path) -> None:
    slots = FileHostSlots(tmp_path)
    process = child(tmp_path, 3, 3)
    assert got(process) == 3
    assert slots.take(3, "mine") is None
    assert {holder.pid for holder in slots.holders()} == {process.pid}
    end(process)
    assert slots.holders() == []
    assert slots.take(3, "mine") is not None


def test_loops_that_start_together_share_the_places(tmp_path: Path) -> None:
    processes = [child(tmp_path, 4, 3) for _ in range(4)]
    assert sum(got(process) for process in processes) == 4
    assert len(FileHostSlots(tmp_path).holders()) == 4
    for process in processes:
        end(process)
    assert FileHostSlots(tmp_path).holders() == []


def test_a_session_does_not_inherit_its_loops_place(tmp_path: Path) -> None:
    slots = FileHostSlots(tmp_path)
    hold = slots.take(1, "mine")
    assert hold is not None
    argv = [sys.executable, "-c", "print(1, flush=True); input()"]
    sleeper = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, close_fds=False)
    assert got(sleeper) == 1
    hold.release()
    assert slots.take(1, "next") is not None
    end(sleeper)


def test_a_note_that_cannot_be_read_names_nobody(tmp_path: Path) -> None:
    slots = FileHostSlots(tmp_path)
    hold = slots.take(1, "mine")
    (tmp_path / "slot-0001").write_text("not json", encoding="utf-8")
    assert [(holder.number, holder.pid, holder.what) for holder in slots.holders()] == [(1, 0, "")]
    assert hold is not None


def test_a_symbolic_link_in_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "count.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable, match=r"count\.lock"):
        FileHostSlots(tmp_path).take(1, "mine")
    assert not (tmp_path / "elsewhere").exists()
