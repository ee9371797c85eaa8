"""The ready parts do in a real session what their names say."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from real_claude import AgentRun, Claude
from recording_mcp import RecordingMcp, recording_mcp

from workloop.testing.model.moves import by_brief
from workloop.testing.model_scenarios import Edit, honest_worker, idle_worker, lying_worker, verifier
from workloop.testing.model_server import ModelServer

pytestmark = pytest.mark.real_agent
Play = Callable[[str], tuple[AgentRun, RecordingMcp]]

BRIEF = "key: add\nrole: {role}\ncontract_hash: 0123abcd\n"
PARTS = by_brief(
    {
        "role: work": honest_worker(Edit(path="sum.sh", old="$1 - $2", new="$1 + $2"), "test $(sh sum.sh 2 3) = 5"),
        "role: repair": lying_worker(),
        "role: verify": verifier("rejected", test_command="sh sum.sh 2 3", failed_checks=["sum"]),
        "role: idle": idle_worker(),
    }
)


def git(workdir: Path, *arguments: str) -> str:
    """Run git and return what it prints."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(["git", *identity, *arguments], cwd=workdir, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def play(claude: Claude) -> Play:
    """Return a runner of one role in a repository whose sum is wrong."""
    git(claude.workdir, "init", "-q")
    (claude.workdir / "sum.sh").write_text("echo $(($1 - $2))\n")
    git(claude.workdir, "add", ".")
    git(claude.workdir, "commit", "-q", "-m", "wrong sum")

    def run(brief: str) -> tuple[AgentRun, RecordingMcp]:
        with ModelServer(PARTS) as model, recording_mcp("secret") as mcp:
            ended = claude.run(brief, model.url, mcp=mcp.configuration())
        assert model.problems == ()
        return ended, mcp

    return run


def test_honest_worker_reports_the_commit_that_mends_the_fault(play: Play, claude: Claude) -> None:
    run, mcp = play(BRIEF.format(role="work"))
    head = git(claude.workdir, "rev-parse", "HEAD")

    assert run.code == 0
    assert [(call["action"], call["contract_hash"], call["outcome"]) for call in mcp.calls] == [
        ("complete", "0123abcd", {"kind": "commit", "ref": head})
    ]
    assert git(claude.workdir, "diff", "--name-only", "HEAD~1") == "sum.sh"
    assert "$1 + $2" in git(claude.workdir, "show", "HEAD:sum.sh")


def test_liar_reports_a_real_commit_that_does_not_touch_the_fault(play: Play, claude: Claude) -> None:
    _, mcp = play(BRIEF.format(role="repair"))

    assert [call["outcome"]["ref"] for call in mcp.calls] == [git(claude.workdir, "rev-parse", "HEAD")]
    assert git(claude.workdir, "diff", "--name-only", "HEAD~1") == "NOTES.txt"


def test_verifier_rejects_with_a_way_to_see_it_and_commits_nothing(play: Play, claude: Claude) -> None:
    sha = git(claude.workdir, "rev-parse", "HEAD")
    _, mcp = play(BRIEF.format(role="verify") + f"candidate: {sha}\n")

    assert mcp.calls == [
        {
            "action": "complete",
            "contract_hash": "0123abcd",
            "verdict": "rejected",
            "evidence": [{"kind": "note", "ref": f"ran sh sum.sh 2 3 on {sha}"}],
            "failed_checks": ["sum"],
            "reproduction": "sh sum.sh 2 3",
        }
    ]
    assert git(claude.workdir, "rev-parse", "HEAD") == sha


def test_idle_worker_ends_well_without_settling(play: Play) -> None:
    run, mcp = play(BRIEF.format(role="idle"))

    assert (run.code, run.result["subtype"], mcp.calls) == (0, "success", [])
