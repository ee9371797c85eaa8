"""The end of a child is noticed at once, and one that takes too much is ended."""

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from loop_bench import gone
from workloop.runner.ending import watched
from workloop.runner.git import GitCall, GitError, git
from workloop.testing.gitrepo import ScratchRepository, scratch_repository


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchRepository:
    """A small repository."""
    return scratch_repository(tmp_path / "my repo ü", {"a.txt": "one\n"})


@pytest.mark.parametrize("handles", [True, False])
def test_the_end_of_a_child_is_seen_and_its_status_left_for_its_parent(
    handles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision: until it is reaped no other process can be given its number."""
    if not handles:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    with subprocess.Popen(["/bin/sh", "-c", "read line; exit 7"], stdin=subprocess.PIPE) as child:
        with watched(child.pid) as ends_within:
            assert not ends_within(0)
            assert not ends_within(0.01)
            assert child.stdin is not None
            child.stdin.close()
            assert ends_within(20)
            assert ends_within(0)
        assert child.wait() == 7


def test_git_that_takes_too_long_is_ended_with_what_it_started(scratch: ScratchRepository, tmp_path: Path) -> None:
    """Decision: the loop never waits for a git that hangs, and says so."""
    told = tmp_path / "pid"
    sleeper = f"alias.hang=!echo $$ >'{told}'; exec sleep 600"
    with pytest.raises(GitError) as failed:
        git(scratch.path, "-c", sleeper, "hang", call=GitCall(timeout_seconds=2.0))
    assert (failed.value.code, failed.value.retryable) == ("GIT_TIMEOUT", True)
    deadline, pause = time.monotonic() + 20, threading.Event()
    while not gone(int(told.read_text())):
        assert time.monotonic() < deadline, "it lives on"
        pause.wait(0.02)


def test_git_that_prints_without_end_is_ended(scratch: ScratchRepository) -> None:
    """Decision: what git prints is held in memory, so the bound counts while it prints, not only afterwards."""
    with pytest.raises(GitError) as failed:
        git(scratch.path, "-c", "alias.talk=!yes", "talk", call=GitCall(output_bytes_max=1_000_000))
    assert failed.value.code == "GIT_OUTPUT_TOO_LARGE"


def test_git_reads_what_it_is_given_and_nothing_else(scratch: ScratchRepository) -> None:
    """Decision: without input it meets the end of it at once, whatever the loop's own input is."""
    given = b"blob\n" * 50_000
    named = git(scratch.path, "hash-object", "--stdin", call=GitCall(stdin=given)).text
    told = subprocess.run(["git", "hash-object", "--stdin"], input=given, capture_output=True, check=True).stdout
    assert named == told.decode().strip()
    assert git(scratch.path, "hash-object", "--stdin").text == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
