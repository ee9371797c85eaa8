"""The doctor finds what would hold a loop back, and what it advises helps when it is done."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from cli_project import Project, bare_project, project_with

from workloop.domain.clock import Instant
from workloop.domain.session import SessionClass
from workloop.driver.turn.recovery import only_loop
from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.trial import try_bwrap
from workloop.wiring.doctor import examine
from workloop.wiring.journal import open_journal

TRIAL = try_bwrap(Network.OPEN)
RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude"
OWN = '[loop]\nharness = "command"\nmax_iterations = 9\nkeep_awake = false\n[harness.command]\ncommand = ["sh"]\n'


def healthy(folder: Path, settings: str = OWN) -> Project:
    """Make a project that has work."""
    project = project_with(folder, settings)
    project.ask("add", "some work")
    return project


def looked(project: Project, *, probing: bool = False, **extra: str) -> dict[str, dict[str, Any]]:
    """Return the findings by what was looked at, without a process of their own."""
    environment = {**project.environment, **extra}
    findings = examine(project.repository.path, environment, probing=probing)
    return {found.check: {**asdict(found), "level": found.level.value} for found in findings}


def settings_of(project: Project) -> Path:
    """Return the settings file that a project was given."""
    return Path(project.environment["WORKLOOP_CONFIG"])


def test_a_healthy_project_passes_also_strictly_and_is_told_in_words_and_in_json(tmp_path: Path) -> None:
    """Nothing is left to be done, where there are walls."""
    if TRIAL.failure:
        pytest.skip(f"no walls here: {TRIAL.failure}")
    project = healthy(tmp_path)
    done = project.run("doctor", "--strict")
    assert done.code == 0, done
    assert done.answer["warn"] == done.answer["fail"] == 0
    levels = {row["check"]: row["level"] for row in done.answer["findings"]}
    assert set(levels.values()) == {"PASS"}
    assert {"sandbox", "sandbox[command]"} <= levels.keys()
    assert not any(row["remedy"] for row in done.answer["findings"])
    words = project.run("doctor", "--no-json").out
    assert words.splitlines()[0].startswith("PASS  config: ")
    assert words.splitlines()[-1].endswith(" PASS, 0 WARN, 0 FAIL")


def test_a_warning_fails_only_strictly_and_a_failure_always(tmp_path: Path) -> None:
    """`doctor && run` is a gate, and `--strict` a narrow one."""
    project = healthy(tmp_path)
    project.ask("pause", "lunch")
    assert project.run("doctor").code == 0
    assert project.run("doctor", "--strict").code == 1
    settings_of(project).write_text(OWN.replace('"sh"', '"no-such-program"'))
    assert project.run("doctor").code == 1


def test_before_init_the_doctor_fails_with_the_remedy(tmp_path: Path) -> None:
    """What it says first is what is to be done first."""
    project = bare_project(tmp_path)
    done = project.run("doctor")
    assert done.code == 1
    assert [(row["check"], row["remedy"]) for row in done.answer["findings"]] == [("config", "run workloop init")]
    project.ask("init")
    assert looked(project)["config"]["level"] == "PASS"


def open_config(project: Project) -> None:
    """Let others write the settings."""
    settings_of(project).chmod(0o666)


def leave_halt(project: Project) -> None:
    """Leave an order that keeps every loop from starting."""
    folder = project.folder / "control"
    folder.mkdir(exist_ok=True)
    (folder / "HALT").write_text("the printer burns")


def leave_stop(project: Project) -> None:
    """Leave an order that ends the next loop."""
    folder = project.folder / "control"
    folder.mkdir(exist_ok=True)
    (folder / "STOP").touch()


def pause(project: Project) -> None:
    """Pause the campaign."""
    project.ask("pause", "lunch")


def change_campaign(project: Project) -> None:
    """Change the campaign's table without applying it."""
    settings_of(project).write_text("[campaign]\nslots = 2\n" + OWN)


@pytest.mark.parametrize(
    ("spoil", "check", "level"),
    [
        (open_config, "config", "FAIL"),
        (leave_halt, "orders", "FAIL"),
        (leave_stop, "orders", "WARN"),
        (pause, "work[project]", "WARN"),
        (change_campaign, "campaign[project]", "WARN"),
    ],
)
def test_a_remedy_that_is_a_command_makes_its_check_pass_when_it_is_run(
    tmp_path: Path, spoil: Callable[[Project], None], check: str, level: str
) -> None:
    """It is run here word for word."""
    project = healthy(tmp_path)
    spoil(project)
    found = looked(project)[check]
    assert found["level"] == level
    remedy = found["remedy"].replace("workloop ", f"{sys.executable} -m workloop ")
    subprocess.run(["sh", "-ec", remedy], cwd=project.repository.path, env=project.environment, check=True)
    assert looked(project)[check]["level"] == "PASS"


@pytest.mark.parametrize(
    ("before", "after", "check", "level"),
    [
        ("[harness.command]", '[sandbox]\nkind = "none"\n[harness.command]', "sandbox", "WARN"),
        ('"sh"', '"no-such-program"', "harness[command]", "FAIL"),
        ("max_iterations = 9", "", "ceilings", "WARN"),
        ("max_iterations = 9", "max_iterations = 9\nsilent_seconds = 9000", "bound[loop.silent_seconds]", "WARN"),
        ("max_iterations = 9", "max_iterations = 9\nsessions_max = 50", "bound[loop.sessions_max]", "WARN"),
        ("max_iterations = 9", "max_iterations = 9\nsessions_max_target = 1",
         "bound[loop.sessions_max_target]", "WARN"),
        ("[harness.command]", '[harness.other]\nkind = "scripted"\nscript = "x"\n[harness.command]',
         "bound[harness.other]", "WARN"),
        ("max_iterations = 9", 'max_iterations = 9\nenvironment = ["NOT_THERE"]', "variable[NOT_THERE]", "WARN"),
        ("max_iterations = 9", "max_iterations = 9\nkept_bytes_max = 1125899906842624", "disk", "WARN"),
        ("max_iterations = 9", 'max_iterations = 9\nintegration_branch = "gone"', "repository[project]", "FAIL"),
        ("command = [", "turns_max = 4\ncommand = [", "harnesses", "FAIL"),
    ],
)  # fmt: skip
def test_a_setting_that_does_not_help_is_named_by_its_entry_and_gone_with_it(
    tmp_path: Path, before: str, after: str, check: str, level: str
) -> None:
    """What can never fire is INERT, what is missing is told."""
    project = healthy(tmp_path)
    settings_of(project).write_text(OWN.replace(before, after, 1))
    found = looked(project)[check]
    assert (found["level"], bool(found["remedy"])) == (level, True)
    settings_of(project).write_text(OWN)
    assert looked(project).get(check, {"level": "PASS"})["level"] == "PASS"


NOT_THERE = '[landing]\nremote = "nowhere"\n'
SALVAGE = "[landing]\nsalvage = true\n"
NO_GH = '[landing.pull_requests]\nopen = ["no-such-gh", "pr"]\n'


@pytest.mark.parametrize(
    ("landing", "tables", "level", "said"),
    [
        ("push", "", "FAIL", "git remote add origin ADDRESS"),
        ("pr", NOT_THERE, "FAIL", "git remote add nowhere ADDRESS"),
        ("none", SALVAGE, "FAIL", "git remote add origin ADDRESS"),
        ("none", NOT_THERE, "PASS", ""),
        ("local-merge", "", "PASS", ""),
    ],
)
def test_a_way_to_land_that_the_loop_would_not_find_fails_with_its_remedy(
    tmp_path: Path, landing: str, tables: str, level: str, said: str
) -> None:
    """The loop refuses to start without it, so that it must not pass here."""
    project = healthy(tmp_path, f'[campaign]\nlanding = "{landing}"\n{tables}{OWN}')
    found = looked(project)["landing[project]"]
    assert (found["level"], said in found["remedy"]) == (level, True)
    project.repository.git("remote", "add", "nowhere" if "nowhere" in tables else "origin", str(tmp_path / "there.git"))
    after = looked(project)["landing[project]"]
    assert after["level"] == "PASS" or "pull_requests.find runs gh" in after["detail"], after


def test_a_command_for_pull_requests_that_is_not_on_the_path_fails(tmp_path: Path) -> None:
    """Work would be verified for hours before anybody heard of it."""
    project = healthy(tmp_path, f'[campaign]\nlanding = "pr"\n{NO_GH}find = ["sh"]\n{OWN}')
    project.repository.git("remote", "add", "origin", str(tmp_path / "there.git"))
    found = looked(project)["landing[project]"]
    assert found["level"] == "FAIL"
    assert "landing.pull_requests.open runs no-such-gh" in found["detail"]
    settings_of(project).write_text(settings_of(project).read_text().replace("no-such-gh", "sh"))
    assert looked(project)["landing[project]"]["level"] == "PASS"


def test_the_room_that_the_doctor_asks_for_is_the_one_that_the_loop_does(tmp_path: Path) -> None:
    """A bound of its own would pass what the loop refuses, or the other way round."""
    project = healthy(tmp_path, f"{OWN}[disk]\nfree_bytes_min = 1125899906842624\n")
    found = looked(project)
    assert found["disk[project]"]["level"] == "FAIL"
    assert "disk.free_bytes_min, 1125899906842624" in found["disk[project]"]["detail"]
    assert (found["disk"]["level"], "disk.free_bytes_min" in found["disk"]["remedy"]) == ("WARN", True)
    settings_of(project).write_text(f"{OWN}[disk]\nfree_bytes_min = 0\n")
    assert looked(project)["disk[project]"]["level"] == "PASS"


def test_a_lane_that_only_the_campaign_or_only_the_loop_knows_is_named(tmp_path: Path) -> None:
    """A mistyped name leaves a lane that nobody prepares, and a table that nobody uses."""
    project = healthy(tmp_path, f'[campaign]\nlanes = ["browser", "licence"]\n{OWN}[lane.browsr]\n[lane.licence]\n')
    found = {check: row for check, row in looked(project).items() if check.startswith("lane[")}
    assert {check: row["level"] for check, row in found.items()} == {
        "lane[browsr]": "WARN",
        "lane[browser]": "WARN",
        "lane[licence]": "PASS",
    }
    assert "its lanes: browser, licence" in found["lane[browsr]"]["detail"]
    assert "add [lane.browser]" in found["lane[browser]"]["remedy"]


def test_variables_of_landing_and_of_lanes_that_are_not_set_are_named_too(tmp_path: Path) -> None:
    """They are passed on as silently as those of sessions."""
    tables = '[landing]\nenvironment = ["NOT_HERE"]\n[lane.browser]\nvisible = ["NOR_HERE"]\n'
    project = healthy(tmp_path, f'[campaign]\nlanes = ["browser"]\n{OWN}{tables}')
    found = looked(project)
    assert "take it out of landing.environment" in found["variable[NOT_HERE]"]["remedy"]
    assert "take it out of lane.browser.visible" in found["variable[NOR_HERE]"]["remedy"]


def test_another_loop_is_seen_and_its_lock_is_left_to_it(tmp_path: Path) -> None:
    """A look must not end what it looks at."""
    project = healthy(tmp_path)
    with only_loop(project.folder):
        found = looked(project)[f"lock[{project.folder.name}]"]
        assert found["level"] == "WARN"
        assert str(os.getpid()) in found["detail"]
    assert looked(project)[f"lock[{project.folder.name}]"]["level"] == "PASS"


def test_a_store_that_is_damaged_fails(tmp_path: Path) -> None:
    """The loop would refuse it as well."""
    project = healthy(tmp_path)
    (project.folder / "store.db").write_bytes(b"not a database" * 1000)
    found = looked(project)["store[project]"]
    assert (found["level"], bool(found["remedy"])) == ("FAIL", True)


def test_the_machine_s_part_is_told_where_it_is_unknown(tmp_path: Path) -> None:
    """Unknown is never a PASS."""
    project = healthy(tmp_path, OWN.replace("keep_awake = false\n", ""))
    project.environment["PATH"] = f"{Path(sys.executable).parent}:/bin"
    found = looked(project)["awake"]
    assert found["level"] == "WARN"
    settings_of(project).write_text(OWN)
    assert looked(project)["awake"]["level"] == "PASS"


def test_the_doctor_says_why_there_are_no_walls_and_what_would_help(tmp_path: Path) -> None:
    """No sandbox is never a surprise of the morning after."""
    project = healthy(tmp_path)
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("git", "sh"):
        (place / name).symlink_to(shutil.which(name) or "")
    done = project.run("doctor", PATH=str(place))
    found = next(row for row in done.answer["findings"] if row["check"] == "sandbox")
    assert found["level"] == "WARN"
    assert "bwrap is not installed" in found["detail"]
    assert "apt install bubblewrap" in found["remedy"]


def test_a_program_that_is_not_seen_behind_the_walls_is_named_with_the_entry_that_opens_its_place(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An agent that cannot start fails before the night and not in it."""
    if TRIAL.failure:
        pytest.skip(f"no walls here: {TRIAL.failure}")
    project = with_claude(tmp_path, "bare")
    helper = tmp_path_factory.mktemp("elsewhere") / "helper"
    helper.write_text("#!/bin/sh\necho '2.1.332 (Claude Code)'\n")
    helper.chmod(0o755)
    (tmp_path / "claude").write_text(f"#!/bin/sh\nexec {helper}\n")
    found = looked(project)["sandbox[claude]"]
    assert (found["level"], found["remedy"]) == ("FAIL", "name what it needs: [harness.claude] readable = [...]")
    text = settings_of(project).read_text()
    settings_of(project).write_text(f'{text}readable = ["{helper.parent}"]\n')
    assert looked(project)["sandbox[claude]"]["level"] == "PASS"


def fake_claude(folder: Path, recording: str, version: str = "2.1.332") -> str:
    """Write a program that prints what the real one printed; returns its path."""
    program = folder / "claude"
    lines = json.dumps(str(RECORDINGS / f"{recording}.jsonl"))
    program.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "{version} (Claude Code)";; *) cat {lines};; esac\n')
    program.chmod(0o755)
    return str(program)


def with_claude(folder: Path, recording: str, more: str = "", version: str = "2.1.332") -> Project:
    """Make a project whose agent is that program, logged in by a key."""
    program = fake_claude(folder, recording, version)
    text = OWN.replace('harness = "command"', 'harness = "claude"').partition("[harness")[0]
    text += f'environment = ["ANTHROPIC_API_KEY"]\n{more}[harness.claude]\ncommand = ["{program}"]\nmodel = "big"\n'
    project = healthy(folder, text)
    project.environment["ANTHROPIC_API_KEY"] = "dummy-key"
    return project


@pytest.mark.parametrize(("policy", "level"), [("warn", "WARN"), ("refuse", "FAIL"), ("allow", "PASS")])
def test_d33_a_version_that_nobody_tested_is_treated_as_the_policy_says(
    tmp_path: Path, policy: str, level: str
) -> None:
    """An agent that updated itself is no surprise in the morning."""
    project = with_claude(tmp_path, "bare", f'untested_versions = "{policy}"\n', version="9.9.9")
    found = looked(project)["harness[claude]"]
    assert found["level"] == level
    assert "9.9.9" in found["detail"]
    assert ('untested_versions = "allow"' in found["remedy"]) == (level != "PASS")


def test_d33_a_loop_refuses_an_untested_agent_where_the_policy_says_so(tmp_path: Path) -> None:
    """Before anything is claimed."""
    project = with_claude(tmp_path, "bare", 'untested_versions = "refuse"\n', version="9.9.9")
    done = project.run("run", "--once")
    assert (done.code, done.problem["code"]) == (2, "VERSION_UNTESTED")
    assert "9.9.9" in done.problem["title"]
    assert project.ask("status")["claims"] == []


def test_a_login_and_a_model_are_presumed_until_a_probe_proves_them(tmp_path: Path) -> None:
    """What was not tried is not known."""
    project = with_claude(tmp_path, "bare")
    found = looked(project)
    assert (found["login[claude]"]["level"], found["model[claude]"]["level"]) == ("PASS", "WARN")
    assert found["model[claude]"]["remedy"] == "workloop doctor --probe"
    project.environment.pop("ANTHROPIC_API_KEY")
    assert looked(project, HOME=str(tmp_path))["login[claude]"]["level"] == "WARN"
    tried = looked(project, probing=True, HOME=str(tmp_path))
    assert {tried[check]["level"] for check in ("probe[claude]", "login[claude]", "model[claude]")} == {"PASS"}


@pytest.mark.parametrize(
    ("recording", "level", "told"),
    [
        ("model-missing", "FAIL", "name a model that the account has; [harness.claude]"),
        ("auth", "FAIL", "log in with the agent again"),
        ("limit-first", "WARN", "wait for the reset"),
    ],
)
def test_d34_a_probe_says_what_came_of_it_with_the_entry_to_correct(
    tmp_path: Path, recording: str, level: str, told: str
) -> None:
    """A model that was retired fails before the night and not in it."""
    project = with_claude(tmp_path, recording)
    found = looked(project, probing=True)["probe[claude]"]
    assert found["level"] == level
    assert told in found["remedy"]


def test_a_probe_is_written_down_where_the_loop_has_a_journal(tmp_path: Path) -> None:
    """Every session that costs something is on the record."""
    project = with_claude(tmp_path, "bare")
    looked(project, probing=True)
    assert not (project.folder / "journal.db").exists()
    journal = open_journal(project.folder, lambda fault, path: None)
    journal.run_begin(pid=1, host="here", version="1", at=Instant(1))
    journal.close()
    looked(project, probing=True)
    journal = open_journal(project.folder, lambda fault, path: None)
    (row,) = journal.sessions(limit=10)
    journal.close()
    assert (row.probe, row.harness, row.model, row.session_class) == (True, "claude", "big", SessionClass.CLEAN)
