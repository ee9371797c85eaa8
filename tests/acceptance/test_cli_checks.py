"""A person sees a check fail before a session is spent on it, and what the gates of this installation are worth."""

import json
from pathlib import Path

import pytest
from cli_project import Facts, Project, project_with

CHECK = "grep -q new value.txt"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one file that no item has changed yet."""
    made = project_with(tmp_path)
    made.repository.commit({"value.txt": "old\n", "guard.sh": "test -s value.txt\n"})
    return made


def add(project: Project, *checks: Facts) -> None:
    """Add an item with these checks."""
    item = {"key": "job", "title": "a job", "checks": list(checks)}
    project.ask("add", "--data", "-", stdin=json.dumps({"items": [item]}))


def rows(done: Facts) -> dict[str, Facts]:
    """Return what was seen of each check by its id."""
    return {row["check"]: row for row in done["checks"]}


def test_a_check_that_is_red_on_the_base_is_shown_and_ready(project: Project) -> None:
    """Decision: seen before any worker is spent, in the place where the loop would run it."""
    add(project, {"id": "new", "command": f"{CHECK} || {{ echo 'still old'; exit 1; }}"})
    done = project.run("check", "prove", "job")
    assert done.code == 0
    seen = rows(done.answer)["new"]
    assert (seen["on_base"], seen["seen_red"], seen["problem"]) == ("failed", True, "")
    assert seen["output"] == "still old\n"
    assert Path(seen["log"]).read_text() == "still old\n"
    assert done.answer["base"] == project.repository.head


def test_a_check_that_cannot_judge_yet_is_named_with_what_is_wrong(project: Project) -> None:
    """E11: passing already, or never reaching its assertion, is no proof; the exit code tells a script."""
    add(
        project,
        {"id": "vacuous", "command": "true"},
        {"id": "broken", "command": "exit 3"},
        {"id": "guard", "kind": "guards", "command": "exit 1"},
        {"id": "loose", "command": CHECK, "control": "true"},
    )
    done = project.run("check", "prove", "job")
    assert done.code == 5
    problems = {name: row["problem"] for name, row in rows(done.answer).items()}
    assert "passed on the base" in problems["vacuous"]
    assert "error on the base" in problems["broken"]
    assert "must pass there" in problems["guard"]
    assert "control" in problems["loose"]


def test_a_guard_is_shown_red_by_spoiling_the_base_on_purpose(project: Project) -> None:
    """E11: a guard that no damage turns red guards nothing."""
    guard: Facts = {"id": "guard", "kind": "guards", "command": "sh guard.sh"}
    add(project, guard, {**guard, "id": "blind", "command": "test -e guard.sh"})
    plain = project.run("check", "prove", "job")
    assert (plain.code, rows(plain.answer)["guard"]["seen_red"]) == (0, False)
    spoilt = project.run("check", "prove", "job", "--mutate", ": > value.txt")
    assert spoilt.code == 5
    seen = rows(spoilt.answer)
    assert (seen["guard"]["spoilt"], seen["guard"]["seen_red"], seen["guard"]["problem"]) == ("failed", True, "")
    assert "spoilt base" in seen["blind"]["problem"]
    assert (project.repository.path / "value.txt").read_text() == "old\n"
    only = project.run("check", "prove", "job", "--check", "guard", "--mutate", ": > value.txt")
    assert (only.code, list(rows(only.answer))) == (0, ["guard"])


def test_what_could_not_be_run_was_not_seen_red(project: Project) -> None:
    """E11: a missing runner, a misspelt module and a mutation that failed are no red; the output says what happened."""
    add(
        project,
        {"id": "tool", "command": "python3 -m no_such_runner tests"},
        {"id": "module", "command": "python3 -m unittest tests.test_typo"},
        {"id": "red", "command": CHECK},
    )
    done = project.run("check", "prove", "job", "--mutate", "echo no such file; exit 3")
    assert done.code == 5
    seen = rows(done.answer)
    assert [(row["on_base"], row["seen_red"]) for row in seen.values()] == [
        ("absent", False),
        ("absent", False),
        ("failed", False),
    ]
    assert "No module named no_such_runner" in seen["tool"]["output"]
    assert (seen["red"]["spoilt"], seen["red"]["spoilt_output"]) == ("error", "no such file\n")
    shown = project.run("check", "prove", "job", "--check", "tool", "--no-json").out
    assert "tool on the base:" in shown
    assert "No module named no_such_runner" in shown


def test_a_commit_is_judged_as_the_loop_would(project: Project) -> None:
    """Decision: for whoever works without the loop; nothing is written to the queue."""
    add(project, {"id": "new", "command": CHECK})
    project.repository.git("checkout", "--quiet", "-b", "work")
    better = project.repository.commit({"value.txt": "new\n"})
    worse = project.repository.commit({"value.txt": "old again\n"})
    project.repository.git("checkout", "--quiet", "main")
    good = project.run("check", "prove", "job", "--commit", better)
    assert (good.code, good.answer["green"]) == (0, True)
    assert good.answer["results"][0]["reason"] == "proven"
    bad = project.run("check", "prove", "job", "--commit", worse)
    assert (bad.code, bad.answer["green"]) == (5, False)
    assert project.ask("show", "job")["state"] == "pending"


def test_what_does_not_exist_is_refused_by_name(project: Project) -> None:
    """Decision: a misspelt check is never silently left out."""
    add(project, {"id": "new", "command": CHECK})
    assert project.refused("check", "prove", "job", "--check", "old")[1] == "CHECK_UNKNOWN"
    assert project.refused("check", "prove", "nothing")[0] == 7
    assert project.refused("check", "prove")[0] == 2


def test_the_gates_of_an_installation_are_measured_by_one_command(project: Project) -> None:
    """Decision: both rates, as JSON when piped, and an exit code for a pipeline."""
    done = project.run("bench", "gates", "--no-sandbox", "--case", "edited-test", "--case", "plain")
    assert done.code == 0, done.err
    facts = done.answer
    assert (facts["lies"], facts["false_passes"], facts["false_pass_rate"]) == (1, [], 0.0)
    assert (facts["honest"], facts["false_refusals"], facts["false_refusal_rate"]) == (1, [], 0.0)
    assert facts["sandbox"] == "none"
    assert facts["cases"][0]["gates"] == ["complete: PROTECTED_CHANGED"]
    assert "ok    edited-test" in done.err
    assert project.refused("bench", "gates", "--case", "misspelt")[0] == 7
