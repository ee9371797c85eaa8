"""The demonstration keeps its four promises, as a user sees them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROMISED = {
    "total": r"succeeded +1 +0 +[0-9a-f]{8} +[0-9a-f]{12}",
    "discount": r"succeeded +1 +1 +[0-9a-f]{8} +[0-9a-f]{12}",
    "label": r"succeeded +2 +0 +[0-9a-f]{8} +[0-9a-f]{12}",
    "report": r"succeeded +2 +0 +[0-9a-f]{8} +[0-9a-f]{12}",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Run the demonstration once, in an environment that names a state folder it must leave alone."""
    state = tmp_path_factory.mktemp("state")
    environment = {**os.environ, "WORKLOOP_STATE": str(state), "TMPDIR": str(tmp_path_factory.mktemp("tmp"))}
    argv = [sys.executable, "-m", "workloop.testing.demo"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=110)
    assert list(state.iterdir()) == []
    assert list(Path(environment["TMPDIR"]).iterdir()) == []
    return done


def test_demonstration_ends_well_and_says_so(shown: subprocess.CompletedProcess[str]) -> None:
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.endswith("\nEverything went as promised.\n")
    assert shown.stderr == ""


@pytest.mark.parametrize("key", PROMISED)
def test_every_item_ends_verified_on_a_commit(shown: subprocess.CompletedProcess[str], key: str) -> None:
    assert re.search(rf"^{key} +{PROMISED[key]}$", shown.stdout, re.MULTILINE), shown.stdout


def test_lie_is_caught_by_the_host_and_then_repaired(shown: subprocess.CompletedProcess[str]) -> None:
    said = shown.stdout
    rejected = said.index("discount~v1  the host ran the checks itself: rejected (test)")
    repaired = said.index("discount~r1  claimed as repair, attempt 1")
    passed = said.index("discount~v2  the host ran the checks itself: green")
    assert rejected < repaired < passed
    assert "discount~v1  the session ended" not in said


def test_question_is_put_to_a_person_and_the_answer_resumes(shown: subprocess.CompletedProcess[str]) -> None:
    said = shown.stdout
    asked = said.index("A person is asked: choose-currency: Which currency do we sell in?")
    assert asked < said.index("label        claimed as work, attempt 2") < said.index("label~v1     claimed")


def test_work_of_the_killed_session_is_saved_and_finished_by_another(shown: subprocess.CompletedProcess[str]) -> None:
    said = shown.stdout
    died = said.index("report       the session ended: crashed")
    saved = said.index("report       unfinished work saved to refs/workloop/wip/")
    assert died < saved < said.index("report       claimed as work, attempt 2")
