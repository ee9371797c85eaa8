"""A file of items enters completely, in an order that works, or not at all."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_project import Project, project_with

YAML = """
- key: parser
  title: Fix the parser
  checks: [pytest -q tests/test_parser.py]
  not_before: 2040-01-01T00:00:00Z
- key: docs
  depends_on: [parser]
---
key: release
depends_on:
  - {key: docs, until: candidate}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Make an empty campaign."""
    return project_with(tmp_path)


def keys(project: Project) -> list[str]:
    """Return the keys of the campaign in the order in which they were added."""
    return [row["key"] for row in project.ask("list", "--limit", "1000")["items"]]


def test_json_lines_enter_in_an_order_that_works_and_only_once(project: Project) -> None:
    """A dependency may stand below its dependant; a second import changes nothing."""
    text = '{"key": "b", "depends_on": ["a"]}\n\n{"key": "a", "title": "Ä"}\n{"key": "a", "title": "Ä"}\n'
    name = project.file("items.jsonl", "\ufeff" + text)
    assert project.ask("add", "--file", name) == {"file": name, "added": 2, "unchanged": 1}
    assert keys(project) == ["a", "b"]
    assert project.ask("add", "--file", "-", stdin=text) == {"file": "-", "added": 0, "unchanged": 3}
    assert project.ask("show", "b")["needs"] == [{"key": "a", "until": "verified", "met": False}]


def test_yaml_lists_and_documents_enter_by_name_or_by_look(project: Project) -> None:
    """A time that YAML understands as one is a time here too."""
    assert project.ask("add", "--file", project.file("items.yaml", YAML))["added"] == 3
    assert project.ask("add", "--file", "-", stdin=YAML)["unchanged"] == 3
    assert project.ask("show", "release")["needs"][0]["until"] == "candidate"
    assert project.ask("add", "--file", "-", stdin='[{"key": "x"}, {"key": "y"}]')["added"] == 2


def test_more_items_than_one_call_takes_are_sent_in_several(project: Project) -> None:
    """Progress is told beside the answer, and a chain across calls holds."""
    lines = [json.dumps({"key": f"k{n}", "depends_on": [f"k{n + 1}"] if n < 1200 else []}) for n in range(1201)]
    done = project.run("add", "--file", "-", stdin="\n".join(lines))
    assert done.answer == {"file": "-", "added": 1201, "unchanged": 0}
    assert "1201 of 1201 items" in done.err
    assert keys(project)[0] == "k1200"
    assert project.ask("status")["claimable"] == 1


BOMB = "".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 9)}]\n" for n in range(10))
REFUSED = {
    "several things": (
        '{"key": "a", "titl": "x"}\nnope\n[]\n{"key": "d"}\n{"key": "d", "title": "other"}\n{"title": ""}',
        2,
        "FILE_REFUSED",
        ["line 1", "line 2", "line 3", "line 5", "line 6"],
    ),
    "a circle": ('{"key": "a", "depends_on": ["b"]}\n{"key": "b", "depends_on": ["a"]}', 2, "DEP_CYCLE", ["line 1"]),
    "itself": ('{"key": "a", "depends_on": ["a"]}', 2, "DEP_SELF", ["line 1"]),
    "a stranger": ('{"key": "a"}\n{"key": "b", "depends_on": ["nowhere"]}', 2, "DEP_UNKNOWN", ["line 2"]),
    "other content": ('{"key": "new"}\n{"key": "known", "title": "other"}', 4, "CONTRACT_CONFLICT", ["line 2"]),
    "a name the campaign lacks": ('{"key": "a", "boundaries": ["paint-it"]}', 2, "BOUNDARY_UNKNOWN", ["line 1"]),
    "a text too long": (json.dumps({"key": "a", "objective": "é" * 20_001}), 2, "TOO_LARGE", ["line 1"]),
    "broken YAML": ("- key: a\n  title: [", 2, "FILE_REFUSED", ["-: line 3"]),
    "a YAML bomb": (BOMB, 2, "FILE_REFUSED", ["line 1", "anchor"]),
    "a YAML alias": ("- key: a\n- *a", 2, "FILE_REFUSED", ["line 2", "alias"]),
    "deep YAML": ("- key: a\n- " + "[" * 100, 2, "FILE_REFUSED", ["line 2", "64 deep"]),
    "a YAML name twice": ("- key: a\n- key: b\n  key: c", 2, "FILE_REFUSED", ["line 3", "'key'"]),
    "a YAML number too long": ("- key: a\n  priority: " + "9" * 5000, 2, "FILE_REFUSED", ["line 2", "digits"]),
    "a YAML time that is none": ("- key: a\n  not_before: 2040-13-40", 2, "FILE_REFUSED", ["line 2", "time"]),
    "a YAML name that is a list": ("- ? [a]\n  : b", 2, "FILE_REFUSED", ["line 1"]),
    "a YAML control character": ("- key: a\n- key: \x01", 2, "FILE_REFUSED", ["line 2"]),
    "a YAML name of another kind": ("- key: a\n  !!python/name:os.system x: b", 2, "FILE_REFUSED", ["line 2"]),
    "a name twice": ('{"key": "a"}\n{"key": "b", "key": "c"}', 2, "MALFORMED", ["line 2", "'key'"]),
    "a name twice within": ('[{"key": "a", "versions": {"x": "1", "x": "2"}}]', 2, "MALFORMED", ["file", "'x'"]),
    "a number too long": ('{"key": "a", "priority": ' + "9" * 5000 + "}", 2, "MALFORMED", ["line 1", "digits"]),
    "YAML of texts": ("- a\n- b", 2, "FILE_REFUSED", ["entry 1", "entry 2"]),
    "nothing": ("\n\n", 2, "NO_ITEMS", []),
    "deep nesting": (
        '{"key": "a", "checks": ' + "[" * 100_000 + "]" * 100_000 + "}",
        2,
        "MALFORMED",
        ["line 1", "nested"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_with_anything_wrong_in_it_adds_nothing(project: Project, case: str) -> None:
    """Every wrong entry is named by its place, before anything is written."""
    text, code, name, places = REFUSED[case]
    project.ask("add", "known")
    before = project.written()
    done = project.run("add", "--file", "-", stdin=text)
    assert (done.code, done.out) == (code, "")
    problem = done.problem
    assert problem["code"] == name
    told = problem["title"] + json.dumps(problem.get("problems", ""))
    assert all(place in told for place in places), told
    assert not any(word in told for word in ("sys.", "recursion", "(char "))
    assert project.written() == before


def test_people_see_each_wrong_entry_on_a_line_of_its_own(project: Project) -> None:
    """The same refusal in words."""
    done = project.run("add", "--no-json", "--file", "-", stdin='{"key": "a", "titl": "x"}\nnope')
    lines = done.err.splitlines()
    assert lines[0] == "error: -: 2 entries are wrong, so none was added [FILE_REFUSED]"
    assert lines[1].startswith("  line 1.titl: ")
    assert lines[2].startswith("  line 2: ")


def test_a_file_that_is_not_utf_8_is_refused_by_its_line(project: Project) -> None:
    """A wrong encoding is the file's fault, not the program's."""
    name = project.file("items.jsonl", "")
    Path(name).write_bytes(b'{"key": "a"}\n{"key": "\xff"}\n')
    done = project.run("add", "--file", name)
    assert (done.code, done.problem["code"]) == (2, "BAD_ENCODING")
    assert "line 2" in done.problem["title"]


def test_a_file_that_is_too_large_to_hold_is_refused(project: Project) -> None:
    """Its size decides before it is read, by name or on stdin, and so do its parts before values are made."""
    name = project.file("items.jsonl", "")
    os.truncate(name, 64 * 1024 * 1024 + 1)
    assert project.refused("add", "--file", name) == (2, "TOO_LARGE")
    with Path(name).open("rb") as endless:
        done = subprocess.run(
            [sys.executable, "-m", "workloop", "add", "--file", "-"],
            cwd=project.repository.path, env=project.environment, stdin=endless, capture_output=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert b"TOO_LARGE" in done.stderr
    assert project.refused("add", "--file", "-", stdin="- [" + "x," * 500_001 + "]") == (2, "FILE_REFUSED")
    assert project.refused("add", "--file", "-", stdin="[" + "0," * 4_000_001 + "0]") == (2, "MALFORMED")


def test_a_killed_import_is_finished_by_repeating_it(project: Project) -> None:
    """Keys make an import safe to repeat after any interruption."""
    text = "".join(json.dumps({"key": f"k{n}", "title": f"Item {n}"}) + "\n" for n in range(12_000))
    name = project.file("items.jsonl", text)
    child = subprocess.Popen(
        [sys.executable, "-m", "workloop", "add", "--file", name],
        cwd=project.repository.path,
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    assert child.stderr.readline() == "10000 of 12000 items\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    again = project.ask("add", "--file", name)
    assert again["added"] + again["unchanged"] == 12_000
    assert project.ask("status")["total"] == 12_000
