"""What the command prints and how it ends: words for people, JSON for programs, one exit code per way of ending."""

import json
import os
import pty
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from cli_project import Project, bare_project, project_with

STEER = "\x1b]0;owned\x07\x1b[2J\u202eevil\u2066"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Make a campaign with one item whose words try to steer the terminal."""
    made = project_with(tmp_path)
    odd = {"key": "odd", "title": "\x1b]0;owned\x07\x1b[2J\u202eevil", "objective": "\x1b[1mloud\x07\nand clear"}
    made.ask("add", "--data", "-", stdin=json.dumps({"items": [odd]}))
    made.ask("add", "日本語のタイトル", "--key", "wide")
    return made


def on_terminal(project: Project, *words: str) -> str:
    """Run the command with its output on a terminal; returns what the terminal got."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "workloop", *words],
        cwd=project.repository.path,
        env={**project.environment, "COLUMNS": "60"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    got = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        if not block:
            break
        got += block
    child.wait()
    os.close(master)
    return got.decode()


def test_a_terminal_gets_words_that_cannot_steer_it(project: Project) -> None:
    """Control characters of items reach no terminal, in words or in JSON."""
    for words in (
        ("list",),
        ("show", "odd"),
        ("show", "odd", "--json"),
        ("show", f"no-{STEER}"),
        ("show", STEER, "--json"),
    ):
        got = on_terminal(project, *words)
        assert not set(got) & set("\x1b\x07\u202e\u2066"), (words, got)
    listed = on_terminal(project, "list").splitlines()
    assert listed[0].split() == ["KEY", "ROLE", "STATE", "PRIORITY", "ATTEMPTS", "TITLE"]
    assert len(listed) == 3


def test_a_pipe_gets_one_line_of_json_with_its_text_unharmed(project: Project) -> None:
    """Programs get exactly what was added."""
    out = project.run("show", "wide").out
    assert out.count("\n") == 1
    assert "日本語のタイトル" in out
    assert project.ask("show", "odd")["title"].startswith("\x1b]0;owned")


def test_words_and_json_can_each_be_asked_for_anywhere(project: Project) -> None:
    """The options for every command stand before or after it."""
    assert project.run("--no-json", "status").out.startswith("campaign main is active")
    assert project.run("status", "--no-json").out.startswith("campaign main is active")
    assert on_terminal(project, "status", "--json").startswith("{")
    told = project.run("show", "nowhere", "--no-json").err.splitlines()[0]
    assert told.startswith("error: no item")
    assert told.endswith(" [KEY_NOT_FOUND]")
    told = project.run("list", "--no-json", WORKLOOP_CONFIG="/nowhere/workloop.toml").err
    assert told.startswith("error: there is no settings file /nowhere/workloop.toml [CONFIG_NOT_FOUND]")


def test_titles_are_whole_wherever_the_output_is_no_terminal(project: Project) -> None:
    """A file or another program has no edge at which to cut; a terminal has."""
    title = "Fix the rounding bug in the totals of every invoice that was written before the year of the change"
    project.ask("add", title, "--key", "long")
    assert title in project.run("list", "--no-json").out
    assert title not in on_terminal(project, "list")


def test_words_say_which_work_failed_what_is_stuck_and_how_many_more_there_are(project: Project) -> None:
    """The view of a morning: nobody has to count follow-ups out or look for the failures."""
    project.ask("add", "lost", "--attempts-max", "1")
    project.ask("add", "after", "--depends-on", "lost")
    token = project.ask("claim", "lost", "--holder", "one")["token"]
    detail = ("--failed", "the build", "--cause", "a typo", "--next-action", "none")
    project.ask("retry", "--token", token, *detail)
    lines = project.run("status", "--no-json").out.splitlines()
    assert lines[1].startswith("failed: lost: ")
    assert "cause a typo" in lines[1]
    assert lines[2] == "stuck: after waits for lost"
    assert lines[3].split() == ["work:", "in", "all", "4,", "pending", "3,", "failed", "1"]
    listed = project.run("list", "--no-json", "--limit", "1").out
    assert "\n3 more: workloop list --after " in listed


def test_a_reader_that_goes_away_is_no_error(project: Project) -> None:
    """`workloop list | head` ends quietly."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "workloop", "list"],
        cwd=project.repository.path, env=project.environment, stdout=writer, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_python_without_assertions_is_refused(project: Project) -> None:
    """A defect is an assertion, on in production too."""
    done = project.run("status", python=("-O",))
    assert done.code == 2
    assert done.out == ""
    assert "python -O" in done.err


def test_an_interrupt_ends_with_its_own_exit_code(project: Project) -> None:
    """A person's Ctrl-C while the command waits."""
    child = subprocess.Popen(
        [sys.executable, "-m", "workloop", "add", "--data", "-"],
        cwd=project.repository.path, env=project.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdin is not None
    child.stdin.write("{" + " " * 100_000)  # more than a pipe holds, so the child is reading when this returns
    child.stdin.flush()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate()
    assert child.returncode == 130
    assert "Traceback" not in err


def test_a_store_that_is_damaged_is_left_alone(project: Project) -> None:
    """Integrity has an exit code of its own, and nothing is repaired behind one's back."""
    store = project.folder / "store.db"
    store.write_bytes(b"not a database at all" * 400)
    before = store.read_bytes()
    code, name = project.refused("status")
    assert (code, name) == (9, "STORE_CORRUPT")
    assert project.refused("add", "x")[0] == 9
    assert project.refused("init")[0] == 9
    assert store.read_bytes() == before


def test_a_database_of_another_program_is_refused(project: Project) -> None:
    """A foreign file is named as such."""
    store = project.folder / "store.db"
    store.unlink()
    other = sqlite3.connect(store)
    other.execute("CREATE TABLE recipes (name TEXT)")
    other.close()
    assert project.refused("status") == (9, "STORE_FOREIGN")


def test_a_store_that_is_gone_or_locked_is_unavailable(project: Project) -> None:
    """What may come back has another exit code than what is broken."""
    holder = sqlite3.connect(project.folder / "store.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    code, name = project.refused("add", "x")
    holder.execute("ROLLBACK")
    holder.close()
    assert (code, name) == (8, "STORE_BUSY")
    shutil.move(project.folder / "store.db", project.folder / "moved.db")
    assert project.refused("status") == (8, "STORE_MISSING")


def test_settings_that_cannot_be_read_are_refused_without_a_traceback(project: Project) -> None:
    """A file that is no text is named, and no user meets a traceback."""
    (project.folder / "workloop.toml").write_bytes(b"\xff\xfe")
    for words in (("status",), ("init",)):
        done = project.run(*words)
        assert (done.code, done.problem["code"]) == (2, "CONFIG_MALFORMED")
        assert "workloop.toml: line 1 is not UTF-8" in done.problem["title"]
    done = project.run("init", WORKLOOP_STATE="/dev/null")
    assert (done.code, done.problem["code"]) == (2, "FILE_UNREADABLE")
    assert done.problem["title"].startswith("/dev/null/project-")
    assert "Errno" not in done.problem["title"]


def test_a_loop_without_its_program_is_refused_by_the_setting(tmp_path: Path) -> None:
    """The harness that runs any program must be told which."""
    project = project_with(tmp_path, '[loop]\nharness = "command"\n')
    done = project.run("run", "--once")
    assert (done.code, done.problem["code"]) == (2, "BAD_REQUEST")
    assert done.problem["title"].startswith("harness.command.command: ")


def test_help_and_version_need_no_project(tmp_path: Path) -> None:
    """They answer before anything is set up."""
    bare = bare_project(tmp_path)
    assert bare.run("--version").out.startswith("workloop ")
    assert "Commands:" in bare.run("--help").out
    assert bare.run().code == 2
    assert "--key" in bare.run("claim", "--help").out
    assert "add [OPTIONS] [TITLE]" in bare.run("add", "--help").out
    assert "show [OPTIONS] KEY" in bare.run("show", "--help").out
    assert not bare.state.exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_one_that_its_shell_takes(tmp_path: Path, shell: str) -> None:
    """Each shell reads its own script without complaint, where it is installed."""
    done = bare_project(tmp_path).run("completion", shell)
    assert done.code == 0
    assert "_WORKLOOP_COMPLETE" in done.out
    found = shutil.which(shell)
    if found is not None:
        subprocess.run([found, "-n"], input=done.out, text=True, check=True)


def test_completion_offers_commands_and_options(tmp_path: Path) -> None:
    """What the script asks the command for."""
    bare = bare_project(tmp_path)
    asking = "bash_complete"
    offered = bare.run(_WORKLOOP_COMPLETE=asking, COMP_CWORD="1", COMP_WORDS="workloop comp")
    assert offered.out.splitlines() == ["plain,complete", "plain,completion"]
    offered = bare.run(_WORKLOOP_COMPLETE=asking, COMP_CWORD="2", COMP_WORDS="workloop claim --e")
    assert "plain,--expected-role" in offered.out
