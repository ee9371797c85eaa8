"""Runtimes of a harness from the command line: built, shown, looked at again, rolled back."""

from pathlib import Path

from cli_project import Facts, Project, bare_project


def built(project: Project, text: str) -> Facts:
    """Commit a file and build the runtime of that commit, in force."""
    sha = project.repository.commit({"harness.toml": text})
    done = project.run("runtime", "build", str(project.repository.path), sha, "--activate")
    assert done.code == 0, done
    return done.answer


def test_a_runtime_is_built_named_shown_looked_at_and_rolled_back(tmp_path: Path) -> None:
    """A repository that no campaign knows will do."""
    project = bare_project(tmp_path)
    assert "no runtimes" in project.run("runtime", "list", "--no-json").out
    one, two = built(project, "one\n"), built(project, "two\n")
    assert built(project, "two\n")["id"] != two["id"]
    listed = project.run("runtime", "list").answer
    assert len(listed["runtimes"]) == 3
    assert listed["before"] == [one["id"], two["id"]]
    shown = project.run("runtime", "show", one["id"], "--files").answer
    assert (shown["commit"], shown["current"]) == (one["commit"], False)
    assert {entry["path"]: entry["mode"] for entry in shown["entries"]} == {"README": "0444", "harness.toml": "0444"}
    assert project.run("runtime", "rollback", one["id"]).answer["current"] == one["id"]
    refused = project.run("runtime", "rollback")
    assert (refused.code, refused.problem["code"]) == (4, "NOTHING_TO_ROLL_BACK")


def test_a_damaged_runtime_is_told_with_its_first_path_and_ends_with_9(tmp_path: Path) -> None:
    """The sound one beside it is told as well."""
    project = bare_project(tmp_path)
    one, two = built(project, "one\n"), built(project, "two\n")
    tree = Path(project.run("runtime", "show", one["id"]).answer["path"])
    (tree / "harness.toml").chmod(0o644)
    done = project.run("runtime", "verify")
    assert done.code == 9
    told = {row["id"]: (row["sound"], row.get("path")) for row in done.answer["runtimes"]}
    assert told == {one["id"]: (False, "harness.toml"), two["id"]: (True, None)}
    assert project.run("runtime", "verify", two["id"]).code == 0
    assert "damaged: " in project.run("runtime", "verify", "--no-json").out


def test_what_cannot_be_built_or_named_is_refused_with_its_code(tmp_path: Path) -> None:
    """Nothing is guessed from a name or from the beginning of an id."""
    project = bare_project(tmp_path)
    here, one = str(project.repository.path), built(project, "one\n")
    for words, code, exit_code in (
        (("build", here, "HEAD"), "RUNTIME_COMMIT_NOT_FULL", 2),
        (("build", here, one["commit"][:12]), "RUNTIME_COMMIT_NOT_FULL", 2),
        (("build", here, "1" * 40), "RUNTIME_COMMIT_UNKNOWN", 7),
        (("build", str(tmp_path / "none"), one["commit"]), "NO_FOLDER", 2),
        (("show", one["id"][:12]), "RUNTIME_ID_INVALID", 2),
        (("show", "0" * 64), "RUNTIME_UNKNOWN", 7),
    ):
        done = project.run("runtime", *words)
        assert (done.code, done.problem["code"]) == (exit_code, code), words
