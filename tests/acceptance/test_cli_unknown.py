"""What a user meets who names an agent or a target that is not there, or whose disk is full."""

import errno
from pathlib import Path

import pytest
from cli_project import Project, project_with

from workloop.interfaces.cli.entry import refusal_of
from workloop.interfaces.cli.exits import exit_code


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_with(tmp_path)


def test_resuming_an_unknown_agent_is_refused_with_the_known_ones_and_writes_nothing(project: Project) -> None:
    project.ask("status")
    done = project.run("resume", "--agent", "nosuch")
    assert (done.code, done.problem["code"]) == (7, "AGENT_NOT_FOUND")
    assert "claude" in done.problem["suggested_fix"]
    assert not list(project.folder.glob("control/*"))
    assert project.ask("resume", "--agent", "claude")["agent"] == "claude"
    assert [path.name for path in project.folder.glob("control/*")] == ["open-claude"]


def test_simulating_an_unknown_target_is_refused_before_any_run(project: Project) -> None:
    project.ask("status")
    assert project.refused("simulate", "--target", "nosuch") == (7, "TARGET_NOT_FOUND")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_no_mistake_of_the_command_line(number: int) -> None:
    refused = refusal_of(OSError(number, "No space left on device", "/state/x"))
    assert (refused.code, exit_code(refused), refused.retryable) == ("DISK_FULL", 8, True)
    assert refused.hint == "free space on /state/x"
    assert "errno" not in str(refusal_of(OSError(number, "No space left on device"))).lower()
    assert exit_code(refusal_of(OSError(errno.EACCES, "Permission denied", "/state/x"))) == 2
