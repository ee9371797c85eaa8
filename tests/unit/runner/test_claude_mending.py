"""A report of a limit in the middle of another event costs neither of the two."""

import json

from workloop.domain.session import SessionClass, Text, Unrecognised
from workloop.runner.harness.claude.mending import Mender
from workloop.runner.harness.claude.stream import ClaudeReader, Identity
from workloop.runner.signatures import load_signatures

REPORT = b'{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795969442}}'
SPLIT = b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"{} \\"resets 1am\\" \xc3\xa9"}]}}'


def test_event_split_anywhere_by_a_report_is_read_whole() -> None:
    for at in range(1, len(SPLIT)):
        mender = Mender()
        assert mender.feed(SPLIT[:at] + REPORT) == [REPORT], at
        assert mender.feed(SPLIT[at:]) == [SPLIT], at
        assert mender.finish() == b""


def test_report_within_a_line_is_taken_out_of_it() -> None:
    for at in range(len(SPLIT) + 1):
        assert set(Mender().feed(SPLIT[:at] + REPORT + SPLIT[at:])) == {REPORT, SPLIT}, at


def test_beginning_without_its_end_is_given_back_as_it_is() -> None:
    mender = Mender()
    assert mender.feed(SPLIT[:40] + REPORT) == [REPORT]
    assert mender.feed(b'{"type":"result"}') == [SPLIT[:40], b'{"type":"result"}']
    mender.feed(SPLIT[:40] + REPORT)
    assert mender.finish() == SPLIT[:40]


def test_report_that_is_itself_torn_is_left_alone() -> None:
    assert Mender().feed(SPLIT[:40] + REPORT[:60]) == [SPLIT[:40] + REPORT[:60]]


def test_result_that_was_split_by_a_report_is_not_lost() -> None:
    reader = ClaudeReader(Identity(session_id="s"), load_signatures("claude"))
    answer = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": "done"}
    line = json.dumps(answer).encode()
    allowed = REPORT.replace(b"rejected", b"allowed")
    events = [*reader.feed(SPLIT, 0), *reader.feed(line[:30] + allowed, 1), *reader.feed(line[30:], 2)]
    conclusion = reader.finish(0, None, "").conclusion
    assert (conclusion.session_class, conclusion.final_text) == (SessionClass.CLEAN, "done")
    assert [type(event) for event in events if isinstance(event, Text | Unrecognised)] == [Text]


def test_text_that_quotes_a_report_is_no_report() -> None:
    quoted = json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": REPORT.decode()}]}})
    assert Mender().feed(quoted.encode()) == [quoted.encode()]
