"""A command of the host behind walls, run for real."""

import os
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from walls import NEEDS_WALLS

from workloop.domain.errors import Fault
from workloop.runner.command import NOT_FOUND, Command, run_command
from workloop.runner.processtable import snapshot, variable_of
from workloop.runner.sandbox.enclosure import Network, Rooms, find_enclosure
from workloop.runner.sandbox.report import WALLS_FAILED

pytestmark = NEEDS_WALLS
PYTHON = Path(sys.base_prefix)
SECONDS = f"600.{os.getpid()}"  # no other test of this machine sleeps as long


@pytest.fixture
def order(tmp_path: Path) -> Command:
    work = tmp_path / "work"
    work.mkdir()
    return Command(
        command="true",
        folder=work,
        cwd=work,
        log_path=tmp_path / "log",
        timeout_seconds=30,
        env={"PATH": os.environ["PATH"], "HOME": str(Path.home())},
        enclosure=find_enclosure("bwrap", Network.OPEN),
        rooms=Rooms(writable=(work,), readable=(PYTHON,)),
    )


def test_what_a_command_writes_in_its_room_stays_and_what_it_writes_elsewhere_does_not(order: Command) -> None:
    end = run_command(replace(order, command='echo kept > here && echo gone > "$TMPDIR/there" && cat "$TMPDIR/there"'))

    assert (end.exit_code, end.output_tail) == (0, "gone\n")
    assert (order.cwd / "here").read_text() == "kept\n"
    assert not (Path(tempfile.gettempdir()) / "there").exists()


def test_a_command_that_fails_keeps_its_exit_code(order: Command) -> None:
    assert run_command(replace(order, command="exit 3")).exit_code == 3


def test_a_command_that_dies_of_a_signal_shows_it_as_it_would_without_walls(order: Command) -> None:
    assert run_command(replace(order, command="kill -9 $$")).exit_code == -9


def test_walls_that_cannot_be_built_are_no_failed_check(order: Command, tmp_path: Path) -> None:
    """Bubblewrap itself would end with 1, which is what a check says that is red."""
    socket_like = tmp_path / "gone"
    socket_like.mkdir()
    broken = replace(order, rooms=replace(order.rooms, shown={Path("/usr/not/there"): socket_like}))

    end = run_command(broken)

    assert end.exit_code == WALLS_FAILED
    assert "bwrap" in end.output_tail


def test_a_program_that_is_missing_is_absent_as_without_walls(order: Command) -> None:
    end = run_command(replace(order, command=("no-such-program-here",)))

    assert end.exit_code == NOT_FOUND
    assert "no-such-program-here" in end.output_tail


def test_a_program_behind_a_mask_is_refused_with_what_to_name(order: Command) -> None:
    tool = order.cwd.parent / "tool"
    tool.write_text("#!/bin/sh\necho used\n")
    tool.chmod(0o755)

    with pytest.raises(Fault, match="SANDBOX_HIDES_PROGRAM") as refused:
        run_command(replace(order, command=(str(tool),)))

    assert str(tool.parent) in refused.value.hint
    shown = replace(order, command=(str(tool),), rooms=order.rooms | Rooms(readable=(tool.parent,)))
    assert run_command(shown).output_tail == "used\n"


def test_a_program_is_found_by_the_link_that_names_it(order: Command, tmp_path: Path) -> None:
    store, names = tmp_path / "store", tmp_path / "names"
    store.mkdir()
    names.mkdir()
    (store / "tool-7").write_text('#!/bin/sh\nreadlink "$0"\n')
    (store / "tool-7").chmod(0o755)
    link = names / "tool"
    link.symlink_to(store / "tool-7")

    end = run_command(replace(order, command=(str(link),), rooms=order.rooms | Rooms(readable=(link,))))

    assert end.output_tail == f"{store / 'tool-7'}\n"


def test_a_room_that_is_missing_is_named(order: Command, tmp_path: Path) -> None:
    with pytest.raises(Fault, match="SANDBOX_ROOM_MISSING"):
        run_command(replace(order, rooms=Rooms(writable=(tmp_path / "nowhere",))))


def test_nothing_that_a_command_started_outlives_it_however_it_hid(order: Command) -> None:
    sleeps = f"sleep {SECONDS} >/dev/null 2>&1"
    hiding = f"setsid env -i {sleeps} & setsid -f {sleeps}; echo started"

    end = run_command(replace(order, command=hiding))

    assert (end.exit_code, end.survivors) == (0, ())
    assert not sleepers()


def test_a_command_is_stopped_at_its_limit_with_all_it_started(order: Command) -> None:
    end = run_command(replace(order, command=f"sleep {SECONDS} & sleep {SECONDS}", timeout_seconds=0.5))

    assert (end.timed_out, end.exit_code, end.survivors) == (True, None, ())
    assert not sleepers()


def test_a_command_is_stopped_when_asked(order: Command) -> None:
    stop = threading.Event()
    stop.set()

    end = run_command(replace(order, command="sleep 602", stop=stop))

    assert (end.stopped, end.exit_code) == (True, None)


def test_a_private_home_stands_where_home_is_and_is_kept(order: Command, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".profile-of-mine").write_text("private")

    end = run_command(
        replace(
            order, command="cat ~/.profile-of-mine && echo new > ~/made && pwd -P", rooms=order.rooms | Rooms(home=home)
        )
    )

    assert (end.exit_code, end.output_tail) == (0, f"private{order.cwd}\n")
    assert (home / "made").read_text() == "new\n"


def test_without_a_private_home_home_is_empty_and_gone_at_the_end(order: Command) -> None:
    end = run_command(replace(order, command="touch ~/made && ls -A ~", rooms=Rooms(writable=(order.cwd,))))

    assert (end.exit_code, end.output_tail) == (0, "made\n")
    assert not (Path.home() / "made").exists()


def test_the_more_specific_place_wins_and_hidden_wins_over_all(order: Command) -> None:
    for name in ("open/secret", "open/secret/way"):
        (order.cwd / name).mkdir(parents=True)
        (order.cwd / name / "file").write_text(name)
    inner, way = order.cwd / "open" / "secret", order.cwd / "open" / "secret" / "way"
    rooms = order.rooms | Rooms(hidden=(inner,), readable=(way, inner))

    end = run_command(
        replace(order, command="ls open/secret; cat open/secret/way/file; touch open/secret/new", rooms=rooms)
    )

    assert end.output_tail.startswith("way\nopen/secret/way")
    assert "Read-only file system" in end.output_tail


def test_the_mark_by_which_a_later_loop_finds_a_command_is_seen_from_outside(order: Command) -> None:
    started, stop = order.cwd / "started", threading.Event()
    os.mkfifo(started)
    runner = threading.Thread(
        target=run_command, args=(replace(order, command="echo > started; exec sleep 603", stop=stop),)
    )
    runner.start()
    started.read_text()

    marked = [pid for pid in snapshot() if variable_of(pid, "WORKLOOP_RUN") == str(order.folder)]
    stop.set()
    runner.join(20)

    assert len(marked) >= 3, "the builder, its reaper and the command"
    assert not runner.is_alive()


def sleepers() -> list[int]:
    """Return every process that sleeps as long as only these tests do."""
    return [pid for pid in snapshot() if command_line(pid) == b"sleep\0%s\0" % SECONDS.encode()]


def command_line(pid: int) -> bytes:
    """Return a process's arguments, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_what_leads_to_the_operators_own_servants_is_not_told(order: Command) -> None:
    env = {**order.env, "SSH_AUTH_SOCK": "agent", "XDG_RUNTIME_DIR": "runtime", "DBUS_SESSION_BUS_ADDRESS": "bus"}

    end = run_command(replace(order, env=env, command="env"))

    told = {line.partition("=")[0] for line in end.output_tail.splitlines()}
    assert {"HOME", "TMPDIR"} <= told
    assert not told & {"SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}
