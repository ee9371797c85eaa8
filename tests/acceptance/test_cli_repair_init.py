"""A person begins with the repair bench: one command makes a campaign that is whole, private, and theirs to edit."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_project import Facts, Project, bare_project

from workloop.repair.bundled.driver.campaign import read_campaign
from workloop.repair.bundled.files import files_of_commit
from workloop.repair.bundled.manifest import read_harness
from workloop.repair.config import read_bench_config
from workloop.testing.gitrepo import ScratchRepository


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return bare_project(tmp_path / "person")


def begun(project: Project, folder: Path, *words: str) -> Facts:
    """Make a campaign and return what was said."""
    done = project.run("repair", "init", str(folder), *words)
    assert done.code == 0, done
    return done.answer


def git_head(repository: Path) -> str:
    """Return the commit that a repository stands on."""
    return ScratchRepository(path=repository).head


def passes(probe: Facts, tree: Path) -> bool:
    """Run a probe's program in a tree, beside its own files."""
    argv = [sys.executable, str(Path(probe["files"]) / probe["command"][1])]
    return subprocess.run(argv, cwd=tree, capture_output=True, timeout=60, check=False).returncode == 0


def test_a_first_campaign_can_be_read_and_names_what_is_there(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    said = begun(project, folder)
    config = read_bench_config(Path(said["campaign"]))
    campaign = read_campaign(config)
    assert (campaign.project_commit, campaign.task_agent) == (git_head(Path(said["project"])), "claude")
    assert "count_lines" in config.tasks[0].prompt
    assert (config.harness.commit, config.harness.runtime_id) == (said["commit"], said["runtime"])
    harness = read_harness(files_of_commit(Path(said["harness"]), said["commit"]))
    assert ([skill.name for skill in harness.skills], [tool.name for tool in harness.tools]) == (
        ["small-steps"],
        ["count_lines"],
    )
    assert project.run("runtime", "verify", said["runtime"]).answer["sound"]
    assert not config.ledger_path.exists()
    for place, mode in ((folder, 0o700), (folder / "campaign.json", 0o600)):
        assert place.stat().st_mode & 0o777 == mode
    for repository in ("harness", "project"):
        state = ["git", "-C", str(folder / repository), "status", "--porcelain"]
        assert subprocess.run(state, check=True, capture_output=True).stdout == b""


def test_the_example_s_task_is_undone_until_somebody_does_it(project: Project, tmp_path: Path) -> None:
    said = begun(project, tmp_path / "bench")
    (acceptance,) = json.loads(Path(said["campaign"]).read_text("utf-8"))["driver"]["acceptance"]["first"]
    tree = Path(said["project"])
    assert not passes(acceptance, tree)
    (tree / "lines.txt").write_text("3\n")
    assert passes(acceptance, tree)


def test_a_project_of_one_s_own_is_taken_at_its_present_commit(project: Project, tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    said = begun(project, tmp_path / "bench", "-C", str(project.repository.path), "--agent", "codex")
    values = json.loads(Path(said["campaign"]).read_text("utf-8"))
    driver = values["driver"]
    assert values["tasks"][0]["prompt"].startswith("Say here what is to be done")
    assert (driver["project"], driver["projectCommit"]) == (str(project.repository.path), project.repository.head)
    assert (driver["taskAgent"], driver["repairAgent"]) == ("codex", "codex")
    assert "[harness.codex.meter]" in Path(said["settings"]).read_text("utf-8")
    assert not (tmp_path / "bench" / "project").exists()
    assert not passes(driver["acceptance"]["first"][0], project.repository.path)
    assert (tmp_path / "bench").stat().st_mode & 0o777 == 0o700


def test_people_are_told_each_step(project: Project, tmp_path: Path) -> None:
    done = project.run("repair", "init", "bench", "--no-json", cwd=tmp_path)
    steps = [line for line in done.out.splitlines() if line.startswith("next: ")]
    assert len(steps) == 2
    assert str(tmp_path / "bench" / "claude.key") in steps[0]
    assert steps[1].startswith(f"next: workloop repair --config {tmp_path / 'bench' / 'campaign.json'}")


def test_what_is_there_is_refused_and_left_as_it_is(project: Project, tmp_path: Path) -> None:
    begun(project, tmp_path / "bench")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / ".keep").touch()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for name in ("bench", "file", "link", "hidden"):
        done = project.run("repair", "init", str(tmp_path / name))
        assert (done.code, done.problem["code"]) == (4, "FOLDER_TAKEN"), name
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_folder_that_a_worker_would_reach_is_refused_and_not_made(project: Project, tmp_path: Path) -> None:
    here = project.repository.path
    done = project.run("repair", "init", str(here / "bench"), "-C", str(here))
    assert (done.code, done.problem["code"]) == (2, "PLACEMENT_INVALID")
    bare = tmp_path / "unborn"
    subprocess.run(["git", "init", "-q", str(bare)], check=True)
    done = project.run("repair", "init", str(tmp_path / "bench"), "-C", str(bare))
    assert (done.code, done.problem["code"]) == (7, "COMMIT_NOT_FOUND")
    assert not (here / "bench").exists()
    assert not (tmp_path / "bench").exists()


@pytest.mark.parametrize("words", [(), ("a", "b"), ("a", "--agent", "scripted"), ("a", "--agents", "claude")])
def test_a_wrong_command_line_makes_nothing(project: Project, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = project.run("repair", "init", *words, cwd=tmp_path)
    assert (done.code, done.problem["code"]) == (2, "USAGE")
    assert not (tmp_path / "a").exists()
