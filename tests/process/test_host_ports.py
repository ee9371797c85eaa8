"""Ports are given out by what is written down: unique, durable, and never by trying who is faster to listen."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from workloop.domain.errors import Conflict, StoreUnavailable
from workloop.store.journal.ports import FileHostPorts, PortOwner

TAKER = """
import sys
from pathlib import Path
from workloop.store.journal.ports import FileHostPorts, PortOwner
folder, owner = Path(sys.argv[1]), PortOwner(folder=sys.argv[2], use=sys.argv[3])
sys.stdin.readline()
print(FileHostPorts(folder, 23000, 23999).take(owner))
"""


def owner(folder: Path, use: str = "lane desk, preview") -> PortOwner:
    return PortOwner(folder=str(folder), use=use)


def test_fifty_at_once_get_fifty_ports_and_each_its_own_again(tmp_path: Path) -> None:
    """H14: nothing is found free and lost before it is used."""
    ports = tmp_path / "ports"
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, str(ports), str(tmp_path), f"lane {number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(50)
    ]
    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("go\n")
        taker.stdin.flush()
    given = [int(taker.communicate()[0]) for taker in takers]
    assert [taker.returncode for taker in takers] == [0] * 50
    assert len(set(given)) == 50
    book = FileHostPorts(ports, 23_000, 23_999)
    assert [book.take(PortOwner(folder=str(tmp_path), use=f"lane {number}")) for number in range(50)] == given


def test_port_outlives_its_taker_and_is_free_when_its_project_is_gone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    book = FileHostPorts(tmp_path / "ports", 23_000, 23_000)
    assert book.take(owner(first)) == 23_000
    with pytest.raises(Conflict, match="PORTS_SPENT"):
        FileHostPorts(tmp_path / "ports", 23_000, 23_000).take(owner(second))
    first.rmdir()
    assert book.take(owner(second)) == 23_000
    assert book.give_back(owner(second)) == 1
    assert book.owners() == {}


def test_wanted_number_is_given_to_one_owner_alone(tmp_path: Path) -> None:
    book = FileHostPorts(tmp_path / "ports")
    assert book.take(owner(tmp_path), 9222) == 9222
    assert book.take(owner(tmp_path), 9222) == 9222
    with pytest.raises(Conflict, match="PORT_TAKEN"):
        book.take(owner(tmp_path, "lane other, preview"), 9222)


def test_port_on_which_a_stranger_listens_is_passed_over(tmp_path: Path) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]
        assert FileHostPorts(tmp_path / "ports", taken, taken + 1).take(owner(tmp_path)) != taken


def test_note_that_cannot_be_read_is_nobodys_and_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    ports = tmp_path / "ports"
    book = FileHostPorts(ports, 23_100, 23_100)
    book.take(owner(tmp_path))
    (ports / "port-23100").write_text(json.dumps(["not", "a", "note"]))
    assert book.take(owner(tmp_path)) == 23_100
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="PORTS_UNUSABLE"):
        FileHostPorts(tmp_path / "file" / "ports").take(owner(tmp_path))
