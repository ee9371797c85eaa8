"""What a file of events is worth when something is wrong with it."""

import os
from pathlib import Path

import pytest
from told_session import Told

from workloop.domain.session import ToolResult, ToolResultClass
from workloop.repair.observations.lines import event_of, lines_of
from workloop.repair.observations.reading import EvidenceState, Reading, read_events

HEAD = '{"v":1,"seq":%d,"session":"s-1","at_us":%d,'
FAULT = lines_of(Told().call(0).end(5, ToolResultClass.TOOL_FAULT).events)


def read(folder: Path, data: bytes) -> Reading:
    file = folder / "events.jsonl"
    file.write_bytes(data)
    return read_events(file, "s-1")


def test_a_sound_file_gives_its_events_and_their_findings(tmp_path: Path) -> None:
    reading = read(tmp_path, FAULT)
    assert (reading.state, reading.line) == (EvidenceState.SOUND, None)
    findings = reading.observations()
    assert findings is not None
    assert [one.subject for one in findings] == ["mcp__work__build"]
    assert findings[0].evidence[0].stream == reading.digest


@pytest.mark.parametrize("data", [None, b"", b'{"v":1'])
def test_no_file_and_no_line_are_no_evidence_rather_than_no_findings(tmp_path: Path, data: bytes | None) -> None:
    reading = read_events(tmp_path / "none", "s-1") if data is None else read(tmp_path, data)
    assert (reading.state, reading.observations()) == (EvidenceState.NONE, None)


def test_a_torn_last_line_is_noted_and_takes_nothing_from_the_others(tmp_path: Path) -> None:
    for cut in range(1, 40):
        reading = read(tmp_path, FAULT + lines_of(Told().text(9).events)[:-1][:cut])
        assert (reading.state, reading.line, len(reading.events)) == (EvidenceState.TORN, 3, 2)
        assert reading.observations()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[]", "not an object"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"v":2}', "not of version 1"),
        (b'{"v":true}', "not a whole number"),
        (b'{"v":1,"v":1}', "repeats a name"),
        (b'{"v":NaN}', "holds NaN"),
        ((HEAD % (2, 5)).encode() + b'"type":"text","text":"a","more":1}', "unknown member 'more'"),
        ((HEAD % (2, 5)).encode() + b'"type":"invented"}', "unknown type 'invented'"),
        ((HEAD % (2, 5)).encode() + b'"type":"tool_result","call":"c","class":"good"}', "class is not one of"),
        ((HEAD % (2, 5)).encode() + b'"type":"tool_result","call":"c","class":"ok","waited_us":1}', "waited longer"),
        ((HEAD % (2, 5)).encode() + b'"type":"tool_call","call":"c"}', "tool is missing"),
        ((HEAD % (1, 5)).encode() + b'"type":"text"}', "it repeats another"),
        ((HEAD % (3, 5)).encode() + b'"type":"text"}', "it comes before another"),
        ((HEAD % (2, -1)).encode() + b'"type":"text"}', "at_us is not a whole number"),
        (b'{"v":1,"seq":2,"session":"s-2","at_us":5,"type":"text"}', "belongs to the session 's-2'"),
        (b" " * 2_200_000, "is longer than"),
    ],
)
def test_one_bad_line_in_the_middle_makes_all_of_it_worthless(tmp_path: Path, line: bytes, reason: str) -> None:
    first, second = FAULT.splitlines(keepends=True)
    reading = read(tmp_path, first + line + b"\n" + second)
    assert (reading.state, reading.line, reading.events, reading.observations()) == (EvidenceState.INVALID, 2, (), None)
    assert reason in reading.reason


def test_time_that_runs_backwards_is_found(tmp_path: Path) -> None:
    reading = read(tmp_path, lines_of(Told().text(9).text(8).events))
    assert (reading.state, reading.line) == (EvidenceState.INVALID, 2)


def test_a_link_a_folder_a_pipe_and_too_many_bytes_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(FAULT)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "dangling", "folder", "pipe"):
        assert read_events(tmp_path / name, "s-1").state is EvidenceState.INVALID, name
    assert read_events(tmp_path / "link", "s-1").reason == "is a symbolic link"
    assert read_events(tmp_path / "real", "s-1", bytes_max=len(FAULT)).state is EvidenceState.SOUND
    assert "larger than" in read_events(tmp_path / "real", "s-1", bytes_max=len(FAULT) - 1).reason


def test_what_a_tool_waited_for_models_and_people_is_taken_off_what_it_took() -> None:
    line = (HEAD % (1, 5)) + '"type":"tool_result","call":"c","class":"ok","took_us":9000000,"waited_us":8500000}'
    event = event_of(line.encode(), "s-1")
    assert isinstance(event, ToolResult)
    assert event.took_us == 500_000
