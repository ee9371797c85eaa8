"""Another tracker's backlog is taken over by a person's word, or by a loop that keeps in step with it."""

from pathlib import Path

import pytest
from cli_project import Project, project_with

TASK = """\
---
id: {id}
title: 'task {id}'
status: {status}
dependencies: []
---

## Description

do it
"""
TRACKED = '[loop]\nharness = "command"\nkeep_awake = false\n[harness.command]\ncommand = ["true"]\n'


def write(project: Project, identity: str, status: str = "To Do", folder: str = "backlog") -> Path:
    """Write one task of a Backlog.md folder."""
    tasks = project.repository.path / folder / "tasks"
    tasks.mkdir(parents=True, exist_ok=True)
    path = tasks / f"{identity} - title.md"
    path.write_text(TASK.format(id=identity, status=status))
    return path


def states(project: Project) -> dict[str, str]:
    """Return the state of every item."""
    return {row["key"]: row["state"] for row in project.ask("list")["items"]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Make an empty campaign."""
    return project_with(tmp_path, TRACKED)


def test_an_import_proposes_tells_what_it_did_and_can_be_repeated(project: Project) -> None:
    write(project, "back-1")
    (project.repository.path / "backlog" / "tasks" / "bad.md").write_text("no facts")
    dry = project.ask("import", "backlog.md", "--dry-run")
    assert (dry["added"], dry["dry_run"], states(project)) == (["back-1"], True, {})
    done = project.ask("import", "backlog.md")
    assert (done["added"], done["problems"]) == (["back-1"], ["bad.md: has no facts between two lines of ---"])
    assert states(project) == {"back-1": "proposed"}
    assert project.ask("import", "backlog.md")["added"] == []
    assert "dry run: yes" in " ".join(project.run("import", "backlog.md", "--dry-run", "--no-json").out.split())


def test_a_trusted_import_of_a_named_folder_makes_work(project: Project) -> None:
    write(project, "back-2", folder="elsewhere")
    assert project.refused("import", "backlog.md") == (7, "TRACKER_NOT_FOUND")
    assert project.ask("import", "backlog.md", "elsewhere", "--trusted")["added"] == ["back-2"]
    assert states(project) == {"back-2": "pending"}
    write(project, "back-2", "Done", folder="elsewhere")
    assert project.ask("import", "backlog.md", "elsewhere")["cancelled"] == ["back-2"]


@pytest.mark.parametrize("words", [(), ("jira",)])
def test_an_unknown_tracker_is_refused_by_name(project: Project, words: tuple[str, ...]) -> None:
    assert project.refused("import", *words) == (2, "BAD_REQUEST")


def test_a_loop_keeps_in_step_with_the_tracker_of_its_settings_and_tells_a_problem_once(tmp_path: Path) -> None:
    project = project_with(tmp_path, TRACKED + '[tracker]\nkind = "backlog.md"\n')
    gone = project.run("run", "--once")
    assert gone.code == 3
    assert gone.err.count("no Backlog.md tasks in") == 1
    write(project, "back-1")
    assert project.run("run", "--once").code == 3
    assert states(project) == {"back-1": "proposed"}
    write(project, "back-1", "Done")
    assert project.run("run", "--once").code == 3
    assert states(project) == {"back-1": "cancelled"}


def test_the_doctor_says_where_a_tracker_is_missing_and_what_trusting_it_means(tmp_path: Path) -> None:
    project = project_with(tmp_path, TRACKED + '[tracker]\nkind = "backlog.md"\ntrusted = true\n')

    def finding() -> tuple[str, str]:
        rows = project.run("doctor").answer["findings"]
        (found,) = [row for row in rows if row["check"].startswith("tracker[")]
        return found["level"], found["detail"]

    level, detail = finding()
    assert (level, "no Backlog.md tasks" in detail) == ("WARN", True)
    write(project, "back-1")
    level, detail = finding()
    assert (level, "lies in the work dir" in detail) == ("WARN", True)
