"""`workloop init` makes a campaign in any git repository, says what it made, and refuses places that are not safe."""

import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from cli_project import Project, bare_project

from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.trial import try_bwrap

TRIAL = try_bwrap(Network.OPEN)


@pytest.fixture
def bare(tmp_path: Path) -> Project:
    """Make a repository without a campaign."""
    return bare_project(tmp_path)


def without_bwrap(folder: Path) -> str:
    """Return a PATH on which git is the only program."""
    place = folder / "bin"
    place.mkdir()
    (place / "git").symlink_to(shutil.which("git") or "")
    return str(place)


def mode(name: str) -> int:
    """Return a file's permissions."""
    return stat.S_IMODE(Path(name).stat().st_mode)


def test_init_makes_everything_once_and_changes_nothing_after(bare: Project) -> None:
    """Everything is private, outside of the repository, and named in the answer."""
    made = bare.ask("init")
    assert made["made"] == ["folder", "config", "store", "campaign"]
    assert made["integration_branch"] == "main"
    assert made["sandbox"] == ("none" if TRIAL.failure else "bwrap:open")
    assert made["next"].startswith("workloop add ")
    assert mode(made["folder"]) == 0o700
    assert mode(made["config"]) == 0o600
    assert mode(made["store"]) == 0o600
    config = Path(made["config"])
    config.write_text(config.read_text("utf-8") + "# mine\n", "utf-8")
    before = bare.written()
    assert bare.ask("init")["made"] == []
    assert bare.written() == before
    assert config.read_text("utf-8").endswith("# mine\n")
    assert bare.repository.git("status", "--porcelain") == ""


def test_init_tells_people_plainly_that_there_is_no_sandbox(bare: Project, tmp_path: Path) -> None:
    """What is not protected is said, with what would help and the next command."""
    lines = bare.run("init", "--no-json", PATH=without_bwrap(tmp_path)).out.splitlines()
    assert lines[0] == "made: folder, config, store, campaign"
    number = next(number for number, line in enumerate(lines) if line.startswith("sandbox: none"))
    assert lines[number].endswith("(bwrap is not installed)")
    assert lines[number + 1].startswith("      do: install bubblewrap")
    assert lines[-1].startswith("next: workloop add ")


@pytest.mark.parametrize(("there", "kind"), [(True, "bwrap"), (False, "auto")])
def test_a_loop_that_could_have_walls_will_not_run_without_them(
    bare: Project, tmp_path: Path, there: bool, kind: str
) -> None:
    """What works today is demanded of every later run; where nothing works, nothing is."""
    if there and TRIAL.failure:
        pytest.skip(f"no walls here: {TRIAL.failure}")
    hidden = without_bwrap(tmp_path)
    made = bare.ask("init", **({} if there else {"PATH": hidden}))
    assert f'kind = "{kind}"' in Path(made["config"]).read_text("utf-8")
    bare.ask("add", "some work")
    done = bare.run("verify", "some-work", PATH=hidden)
    assert (done.problem["code"] == "SANDBOX_UNAVAILABLE") == there


def test_before_init_every_command_says_to_run_it(bare: Project) -> None:
    """The first mistake has a hint."""
    done = bare.run("status")
    assert (done.code, done.problem["code"], done.problem["suggested_fix"]) == (
        7,
        "NOT_INITIALISED",
        "run workloop init",
    )
    assert not bare.state.exists()


def test_a_repository_without_a_commit_is_refused_with_what_to_do(bare: Project, tmp_path: Path) -> None:
    """Work starts from a commit."""
    empty = tmp_path / "empty"
    empty.mkdir()
    bare.repository.git("init", "--quiet", str(empty))
    done = bare.run("-C", str(empty), "init")
    assert (done.code, done.problem["code"]) == (4, "NO_COMMITS")
    assert "git commit" in done.problem["suggested_fix"]
    assert not bare.state.exists()


def test_a_detached_head_needs_a_branch_by_name(bare: Project) -> None:
    """Work lands on a branch."""
    bare.repository.git("checkout", "--quiet", "--detach")
    assert bare.refused("init") == (4, "DETACHED_HEAD")
    assert bare.ask("init", "--branch", "main")["integration_branch"] == "main"


def test_places_that_sessions_could_write_are_refused(bare: Project, tmp_path: Path) -> None:
    """Neither the store nor the settings may lie in the work dir, and a folder outside of git has no campaign."""
    inside = str(bare.repository.path / "state")
    assert bare.refused("init", WORKLOOP_STATE=inside) == (2, "STATE_IN_WORK_DIR")
    assert bare.refused("init", "--config", str(bare.repository.path / "w.toml")) == (2, "CONFIG_IN_WORK_DIR")
    assert bare.refused("-C", str(tmp_path), "init") == (7, "NO_REPOSITORY")
    assert bare.refused("-C", str(tmp_path / "nowhere"), "init") == (2, "NO_FOLDER")
    assert bare.repository.git("status", "--porcelain") == ""


def test_a_campaign_of_another_name_stands_beside_the_first(bare: Project) -> None:
    """--campaign names one; its items are its own."""
    bare.ask("init")
    assert bare.ask("init", "--campaign", "second")["made"] == ["campaign"]
    bare.ask("add", "there", "--campaign", "second")
    assert bare.ask("status")["total"] == 0
    assert bare.ask("--campaign", "second", "status")["total"] == 1
    assert bare.refused("init", "--campaign", "No Good") == (2, "BAD_REQUEST")


def test_a_linked_worktree_and_a_folder_inside_find_the_same_campaign(bare: Project, tmp_path: Path) -> None:
    """A project is its repository, wherever in it one stands."""
    bare.ask("init")
    bare.ask("add", "one thing")
    linked = tmp_path / "linked"
    bare.repository.git("worktree", "add", "--quiet", str(linked), "-b", "side")
    inside = linked / "deep" / "inside"
    inside.mkdir(parents=True)
    assert bare.run("status", cwd=inside).answer["total"] == 1
    assert bare.ask("-C", str(inside), "status")["total"] == 1
    assert bare.ask("status", "--project", str(linked))["total"] == 1


def test_settings_that_are_wrong_are_refused_by_their_path(bare: Project) -> None:
    """A misspelt setting is never ignored."""
    for text, told in (
        ("[campaign]\nslotz = 3\n", "slotz"),
        ("[campaign\n", "line 1"),
        ("[loop]\nharness = 'wish'\n", "loop.harness"),
        ("[campaign.boundaries]\nlogin = 'may I?'\n", "login"),
    ):
        config = bare.file("wrong.toml", text)
        done = bare.run("init", "--config", config)
        assert done.code == 2, done
        assert told in done.problem["title"]
    assert not (bare.state / "store.db").exists()


def test_a_loop_over_the_network_is_not_a_place_to_init(bare: Project) -> None:
    """Only the owner of the store's own host makes campaigns; a missing token file is told at once."""
    remote = replace(bare, environment={**bare.environment, "WORKLOOP_URL": "http://127.0.0.1:9"})
    assert remote.refused("init") == (2, "LOCAL_ONLY")
    assert remote.refused("campaign", "apply") == (2, "LOCAL_ONLY")
    assert remote.refused("status") == (2, "TOKEN_MISSING")
    token = bare.file("token", "secret")
    assert remote.refused("status", WORKLOOP_TOKEN_FILE=token) == (8, "ENDPOINT_UNREACHABLE")
    assert remote.refused("status", WORKLOOP_TOKEN_FILE="/nowhere") == (2, "TOKEN_UNREADABLE")
