"""What people see of a loop: its sessions, what each said, how often they die, and why it does what it does."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_project import Project, project_with

from workloop.domain.clock import to_text
from workloop.domain.gate import Cause, GateState
from workloop.domain.journal import LOOP, Decision, SessionRow, Subject, SubjectKind, TargetRow, Verb
from workloop.domain.session import SessionClass, Tokens
from workloop.store.journal.sqlite import SqliteJournal
from workloop.testing.journal_contract import GATE, SESSION, at

RECORDING = Path(__file__).parents[1] / "recordings" / "claude" / "success.jsonl"
STEER = "\x1b]0;owned\x07\x1b[2J\u202eevil"
TARGET = Subject(kind=SubjectKind.TARGET, name="app")
ENDED = replace(
    SESSION,
    harness="claude",
    ended_at=at(61),
    session_class=SessionClass.CLEAN,
    acted=True,
    produced=True,
    exit_code=0,
    usage_reported=True,
    tokens=Tokens(input=10, output=5),
    final_text=f"{STEER} I cannot go on: the API key is gone",
    detail="it settled nothing",
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = project_with(tmp_path)
    made.ask("add", "First thing", "--key", "key-1")
    return made


@pytest.fixture
def journal(project: Project) -> Iterator[SqliteJournal]:
    def fail(fault: Exception, aside: Path) -> None:
        raise AssertionError((fault, aside))

    opened = SqliteJournal(project.folder / "journal.db", fail)
    yield opened
    opened.close()


def put(journal: SqliteJournal, *names: str, **changed: Any) -> None:
    for name in names:
        journal.session_put(replace(ENDED, session_id=name, **changed))


def keep_stream(project: Project, row: SessionRow, data: bytes) -> SessionRow:
    folder = project.folder / "sessions" / row.session_id
    folder.mkdir(parents=True)
    with gzip.open(folder / "stream.jsonl.gz", "wb") as file:
        file.write(data)
    return replace(row, log_path=str(folder / "stream.jsonl.gz"), cwd=str(project.repository.path))


@pytest.mark.parametrize(
    "words", [("sessions",), ("rates",), ("logs", "s-1"), ("why", "--loop"), ("why", "--target", "x")]
)
def test_before_the_first_run_there_is_nothing_to_look_at(project: Project, words: tuple[str, ...]) -> None:
    assert project.refused(*words) == (7, "JOURNAL_ABSENT")


def test_sessions_are_listed_newest_first_and_narrowed(project: Project, journal: SqliteJournal) -> None:
    put(journal, "s-1", "s-2")
    put(journal, "s-3", item_key="other", target="lib")
    listed = project.ask("sessions")
    assert [row["session"] for row in listed["sessions"]] == ["s-3", "s-2", "s-1"]
    assert listed["more"] is False
    assert [row["session"] for row in project.ask("sessions", "--item", "key-1")["sessions"]] == ["s-2", "s-1"]
    assert [row["session"] for row in project.ask("sessions", "--target", "lib")["sessions"]] == ["s-3"]
    short = project.ask("sessions", "--limit", "1")
    assert (len(short["sessions"]), short["more"]) == (1, True)
    assert project.refused("sessions", "--limit", "0") == (2, "BAD_REQUEST")


def test_c17_l05_a_sessions_last_words_and_all_that_resumes_it_are_told(
    project: Project, journal: SqliteJournal
) -> None:
    put(journal, "s-1", resume_id="r-9", version="2.1.7")
    [row] = project.ask("sessions", "--item", "key-1")["sessions"]
    assert row["last_words"].endswith("I cannot go on: the API key is gone")
    assert (row["harness"], row["version"], row["resume_id"]) == ("claude", "2.1.7", "r-9")
    assert (row["cwd"], row["base_sha"], row["log"]) == (ENDED.cwd, ENDED.base_sha, ENDED.log_path)
    assert (row["class"], row["tokens"], row["seconds"], row["exit_code"]) == ("clean", 15, 60.0, 0)


def test_people_get_tables_that_cannot_steer_their_terminal(project: Project, journal: SqliteJournal) -> None:
    row = keep_stream(project, ENDED, json.dumps({"type": "odd", "text": STEER}).encode() + b"\n")
    journal.session_put(row)
    journal.decide([Decision(subject=LOOP, verb=Verb.WAIT, code="IDLE", message=f"{STEER} idle")], at(1))
    said = {
        words: project.run("--no-json", *words).out for words in (("sessions",), ("logs", "s-1"), ("why", "--loop"))
    }
    assert "CLASS" in said["sessions",]
    assert "it settled nothing" in said["sessions",]
    assert "evil idle" in said["why", "--loop"]
    for text in said.values():
        assert not {"\x1b", "\x07", "\u202e"} & set(text), text


def test_the_events_of_a_kept_session_are_told_in_words_and_in_json(project: Project, journal: SqliteJournal) -> None:
    journal.session_put(keep_stream(project, ENDED, RECORDING.read_bytes()))
    lines = [json.loads(line) for line in project.run("logs", "s-").out.splitlines()]
    assert (lines[0]["event"], lines[0]["session"], lines[0]["last_words"][-4:]) == ("session", "s-1", "gone")
    kinds = [line["kind"] for line in lines[1:]]
    assert kinds[0] == "started"
    assert kinds[-1] == "finished"
    assert {"text", "tool_call", "tool_result", "usage"} <= set(kinds)
    said = project.run("--no-json", "logs", "s-1").out
    assert "session:" in said
    assert "tool_call: Bash" in said or "tool_call: Write" in said


def test_the_raw_lines_come_out_as_they_went_in(project: Project, journal: SqliteJournal) -> None:
    journal.session_put(keep_stream(project, ENDED, RECORDING.read_bytes()))
    raw = subprocess.run(
        [sys.executable, "-m", "workloop", "logs", "s-1", "--raw"],
        cwd=project.repository.path,
        env=project.environment,
        capture_output=True,
        check=True,
    )
    assert raw.stdout == RECORDING.read_bytes()


def test_a_session_that_is_not_there_or_not_one_or_not_kept_is_refused(
    project: Project, journal: SqliteJournal
) -> None:
    put(journal, "s-1", "s-2")
    assert project.refused("logs", "zzz") == (7, "SESSION_NOT_FOUND")
    assert project.refused("logs", "s-") == (2, "SESSION_AMBIGUOUS")
    assert project.refused("logs", "s-1", "--raw") == (7, "LOG_GONE")
    done = project.run("logs", "s-1")
    assert (done.code, done.problem["code"]) == (7, "LOG_GONE")
    assert project.refused("logs")[0] == 2


def test_a_session_of_a_harness_that_is_set_no_more_still_gives_its_raw_lines(
    project: Project, journal: SqliteJournal
) -> None:
    row = keep_stream(project, replace(ENDED, harness="gone-agent"), b"one line\n")
    journal.session_put(row)
    done = project.run("logs", "s-1")
    assert done.code == 2
    assert "--raw" in done.problem["suggested_fix"]
    assert project.run("logs", "s-1", "--raw").out == "one line\n"


def test_rates_name_what_they_are_out_of(project: Project, journal: SqliteJournal) -> None:
    put(journal, "s-1", "s-2", settled="complete", version="1")
    put(journal, "s-3", session_class=SessionClass.DEAD, acted=False, version="1")
    put(journal, "s-4", session_class=SessionClass.LIMITED, version="1")
    put(journal, "s-5", probe=True, version="1")
    [rate] = project.ask("rates")["rates"]
    assert (rate["sessions"], rate["dead"], rate["quiet"], rate["no_op"], rate["dead_share"]) == (3, 1, 1, 0, 0.3333)
    assert (rate["harness"], rate["version"], rate["phase"]) == ("claude", "1", "implement")
    assert "1 of 3 (33%)" in project.run("--no-json", "rates").out
    for number in range(5):
        put(journal, f"d-{number}", session_class=SessionClass.DEAD, item_key=f"key-{number % 2}")
    assert project.ask("rates")["suspect"][0]["harness"] == "claude"


def test_why_an_item_stands_adds_what_the_loop_last_did_about_it(project: Project, journal: SqliteJournal) -> None:
    assert "loop" not in project.ask("why", "key-1")
    put(journal, "s-1")
    started = Decision(subject=TARGET, verb=Verb.START, code="start", message="a session of claude", item="key-1")
    journal.decide([started], at(5))
    answer = project.ask("why", "key-1")
    assert answer["claimable"] is True
    assert (answer["loop"]["decision"]["verb"], answer["loop"]["session"]["session"]) == ("start", "s-1")
    said = project.run("--no-json", "why", "key-1").out
    assert "loop: start at" in said
    assert "the API key is gone" in said
    item = Subject(kind=SubjectKind.ITEM, name="key-1", target=project.repository.path.name)
    brake = replace(started, subject=item, verb=Verb.WAIT)
    journal.decide([replace(brake, code="NO_PROGRESS", item="")], at(9))
    assert project.ask("why", "key-1")["loop"]["decision"]["code"] == "NO_PROGRESS"


def test_a_damaged_journal_takes_nothing_from_why_an_item_stands(project: Project, journal: SqliteJournal) -> None:
    journal.close()
    (project.folder / "journal.db").write_bytes(b"garbage, not a database\n" * 400)
    answer = project.ask("why", "key-1")
    assert answer["state"] == "pending"
    assert "journal.db" in answer["loop"]["unknown"]
    assert project.refused("sessions") == (9, "JOURNAL_CORRUPT")


def test_why_the_loop_waits_says_until_when_and_what_would_change_it(project: Project, journal: SqliteJournal) -> None:
    journal.run_begin(pid=os.getpid(), host=os.uname().nodename, version="1", at=at(0))
    wait = Decision(
        subject=LOOP,
        verb=Verb.WAIT,
        code="LIMITED",
        message="every account is limited",
        unblock="add a harness",
        wakes_at=at(600),
    )
    journal.decide([wait, replace(wait, subject=TARGET, verb=Verb.SKIP, wakes_at=None)], at(1))
    journal.gates_put(
        [GATE, replace(GATE, key=replace(GATE.key, account="b"), state=GateState.STOPPED, cause=Cause.AUTH)]
    )
    journal.target_put(TargetRow(name="app"))
    answer = project.ask("why", "--loop")
    assert (answer["state"], answer["wakes_at"]) == ("wait", to_text(at(600)))
    assert [reason["code"] for reason in answer["reasons"]] == ["LIMITED", "STOPPED_AUTH", "CLOSED_LIMIT"]
    assert answer["reasons"][0]["unblock"] == "add a harness"
    assert answer["reasons"][1]["unblock"] == GATE.remedy
    assert [row["target"] for row in answer["targets"]] == ["app"]
    said = project.run("--no-json", "why", "--loop").out
    assert "the loop: wait" in said
    assert "do: add a harness" in said
    assert "wakes at:" in said


def test_why_the_loop_has_stopped_or_was_killed(project: Project, journal: SqliteJournal) -> None:
    number = journal.run_begin(pid=2**22 + 1, host=os.uname().nodename, version="1", at=at(0))
    killed = project.ask("why", "--loop")
    assert (killed["state"], killed["reasons"][0]["code"]) == ("killed", "KILLED")
    assert killed["reasons"][0]["unblock"] == "workloop run takes up what it left"
    journal.run_end(number, reason="stop_file", detail="STOP was there", at=at(9))
    stopped = project.ask("why", "--loop")
    assert (stopped["state"], stopped["reasons"][0]["code"], stopped["wakes_at"]) == ("stopped", "STOP_FILE", None)
    assert "STOP was there" in stopped["reasons"][0]["message"]
    elsewhere = journal.run_begin(pid=1, host="another-host", version="1", at=at(10))
    assert elsewhere > number
    assert project.ask("why", "--loop")["state"] == "running", "what cannot be known is not called dead"


def test_a_killed_loop_is_told_as_gone_with_what_it_left_wherever_one_asks(
    project: Project, journal: SqliteJournal
) -> None:
    """What it was about to do when it died is history, not what a loop does now."""
    began = Decision(subject=LOOP, verb=Verb.START, code="start", message="app gets a session", wakes_at=at(600))
    run = journal.run_begin(pid=2**22 + 1, host=os.uname().nodename, version="1", at=at(0))
    journal.decide([began, replace(began, subject=TARGET, item="key-1")], at(30))
    journal.gates_put([GATE])
    journal.target_put(TargetRow(name="app"))
    put(journal, "s-open", ended_at=None, session_class=None, item_key="key-1", target="app", run=run, began_at=at(31))
    for words in (("--loop",), ("--target", "app")):
        told = project.ask("why", *words)
        assert (told["state"], told["wakes_at"]) == ("killed", None)
        first = told["reasons"][0]
        assert first["code"] == "KILLED"
        assert first["message"].startswith("no loop runs: ")
        assert to_text(at(31)) in first["message"], "since when"
        assert "it left open: s-open of key-1" in first["message"]
        assert first["unblock"] == "workloop run takes up what it left"
    told = project.ask("why", "--loop")
    assert "nothing tries it while no loop runs" in told["reasons"][1]["unblock"]
    assert [row["state"] for row in told["targets"]] == ["killed"]
    told = project.ask("why", "--target", "app")["reasons"][1]
    assert (told["message"], told["unblock"]) == (
        f"the last word of the loop, at {to_text(at(30))}: app gets a session",
        "",
    )
    said = project.run("--no-json", "why", "key-1").out
    assert "no loop runs: " in said
    assert "was left open" in said
    assert "left open" in project.run("--no-json", "sessions").out


@pytest.mark.parametrize(
    ("ended", "code", "unblock", "said"),
    [
        ("budget_spent", "budget_spent", "raise budget.day.tokens and start the loop again", ""),
        ("limited", "limited", "allow another account", "; then workloop run"),
        ("harness_stopped", "stopped", "log in, then answer", "; then workloop run"),
    ],
)
def test_what_ended_a_run_is_what_there_is_to_do_about_it(
    project: Project, journal: SqliteJournal, ended: str, code: str, unblock: str, said: str
) -> None:
    """To run again would only repeat it."""
    number = journal.run_begin(pid=2**22 + 1, host=os.uname().nodename, version="1", at=at(0))
    stop = Decision(subject=LOOP, verb=Verb.STOP, code=ended, message="nothing can go on")
    journal.decide([stop, replace(stop, subject=TARGET, verb=Verb.SKIP, code=code, unblock=unblock)], at(5))
    journal.target_put(TargetRow(name="app"))
    journal.run_end(number, reason=ended, detail="nothing can go on", at=at(9))
    assert project.ask("why", "--loop")["reasons"][0]["unblock"] == f"app: {unblock}{said}"
    journal.decide([replace(stop, unblock="raise budget.run.cost_usd; start the loop again")], at(6))
    first = project.ask("why", "--loop")["reasons"][0]["unblock"]
    assert first.startswith("raise budget.run.cost_usd; start the loop again")


def test_why_the_loop_is_halted_names_what_lifts_the_halt(project: Project, journal: SqliteJournal) -> None:
    number = journal.run_begin(pid=2**22 + 1, host=os.uname().nodename, version="1", at=at(0))
    journal.run_end(number, reason="halted", detail="it is halted: the disk", at=at(9))
    told = project.ask("why", "--loop")["reasons"][0]
    assert (told["code"], told["unblock"]) == ("HALTED", "workloop resume --halted, then workloop run")


def test_why_a_target_waits(project: Project, journal: SqliteJournal) -> None:
    skip = Decision(
        subject=TARGET, verb=Verb.SKIP, code="backed_off", message="3 fruitless", unblock="answer", wakes_at=at(9)
    )
    for second in range(3):
        journal.decide([skip], at(second))
    journal.target_put(TargetRow(name="app", paused=True, pause_reason="5 deaths", paused_until=at(99)))
    answer = project.ask("why", "--target", "app")
    assert (answer["state"], answer["wakes_at"]) == ("paused", to_text(at(9)))
    assert [reason["code"] for reason in answer["reasons"]] == ["PAUSED", "backed_off"]
    assert answer["decision"]["times"] == 3
    assert project.refused("why", "--target", "nope") == (7, "TARGET_NOT_FOUND")


@pytest.mark.parametrize(
    "words", [(), ("key-1", "--loop"), ("--loop", "--target", "app"), ("key-1", "--target", "app")]
)
def test_why_takes_one_question_at_a_time(project: Project, words: tuple[str, ...]) -> None:
    assert project.refused("why", *words) == (2, "BAD_REQUEST")


@pytest.mark.parametrize("words", [("sessions",), ("rates",), ("logs", "s-1"), ("why", "--loop")])
def test_an_agent_sees_no_journal(project: Project, journal: SqliteJournal, words: tuple[str, ...]) -> None:
    put(journal, "s-1")
    assert project.refused(*words, WORKLOOP_TOKEN="a.1.b") == (2, "LOCAL_ONLY")
