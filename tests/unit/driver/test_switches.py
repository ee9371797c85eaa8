"""How a person's orders are read: within bounds, following nothing, each obeyed as often as it should be."""

import os
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.driver.scheduling.situation import Halt
from workloop.driver.switches import (
    BYTES_MAX,
    FOLDER,
    FileSwitches,
    lift_halt,
    loop_runs,
    order_open,
    order_pause,
    order_resume,
    order_stop,
    pauses_in,
    write,
)


def test_stop_is_obeyed_once_and_halt_until_it_is_lifted(tmp_path: Path) -> None:
    switches = FileSwitches(tmp_path)
    write(tmp_path, "STOP", "now")
    order_stop(tmp_path, halt="the disk is full")
    first = switches.read()
    assert (first.stop, first.at_once, first.halt) == ("now", True, "the disk is full")
    second = switches.read()
    assert (second.stop, second.halt) == (None, "the disk is full")
    assert lift_halt(tmp_path)
    assert switches.read().halt is None
    assert not lift_halt(tmp_path)


def test_no_order_to_stop_is_left_for_a_loop_that_does_not_run(tmp_path: Path) -> None:
    """It would end the next one as soon as it starts."""
    switches = FileSwitches(tmp_path)
    order_stop(tmp_path)
    assert switches.read().stop is None
    assert not loop_runs(tmp_path)


def test_a_pause_is_there_as_long_as_its_order(tmp_path: Path) -> None:
    switches = FileSwitches(tmp_path)
    order_pause(tmp_path, "a/b ☂", "lunch", Instant(5_000_000))
    assert switches.read().pauses == {"a/b ☂": Halt(reason="lunch", until=Instant(5_000_000))}
    assert pauses_in(tmp_path) == switches.read().pauses
    assert order_resume(tmp_path, "a/b ☂")
    assert switches.read().pauses == {}
    assert not order_resume(tmp_path, "a/b ☂")
    assert pauses_in(tmp_path / "nowhere") == {}


def test_opening_is_obeyed_once(tmp_path: Path) -> None:
    switches = FileSwitches(tmp_path)
    order_open(tmp_path, "claude/work/-")
    assert switches.read().opened == ("claude/work/-",)
    assert switches.read().opened == ()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"until": "tomorrow"}', '{"until": 5}', "\x00\xff"])
def test_c30_a_pause_that_cannot_be_understood_has_no_end(tmp_path: Path, text: str) -> None:
    switches = FileSwitches(tmp_path)
    write(tmp_path, "pause-shop", text)
    (halt,) = switches.read().pauses.values()
    assert halt.until is None
    assert "cannot be read" in halt.reason


def test_no_link_is_followed_and_no_more_is_read_than_a_person_would_write(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"reason": "the secret", "until": null}')
    switches = FileSwitches(tmp_path / "loop")
    place = tmp_path / "loop" / FOLDER
    (place / "pause-linked").symlink_to(secret)
    (place / "HALT").symlink_to(secret)
    os.mkfifo(place / "pause-pipe")
    write(tmp_path / "loop", "pause-long", '{"reason": "' + "x" * BYTES_MAX)
    orders = switches.read()
    assert orders.halt == ""
    assert all("cannot be read" in halt.reason for halt in orders.pauses.values())
    assert set(orders.pauses) == {"linked", "pipe", "long"}
    order_pause(tmp_path / "loop", "linked", "lunch", None)
    assert secret.read_text().startswith('{"reason": "the secret"')
    assert switches.read().pauses["linked"] == Halt(reason="lunch")


def test_every_order_changes_the_stamp(tmp_path: Path) -> None:
    switches = FileSwitches(tmp_path)
    stamps = [switches.stamp()]
    write(tmp_path, "STOP", "")
    stamps.append(switches.stamp())
    switches.read()
    stamps.append(switches.stamp())
    order_pause(tmp_path, "a", "x", None)
    stamps.append(switches.stamp())
    assert len({stamps[0], stamps[1]}) == len({stamps[1], stamps[2]}) == len({stamps[2], stamps[3]}) == 2
