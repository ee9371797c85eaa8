"""What the host sends to a real remote arrives, or it is said why not."""

from pathlib import Path

import pytest

from workloop.runner.remote import push_to, seen_on
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

REF = "refs/heads/work"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[ScratchRepository, Path]:
    """A repository and a bare remote called origin that has its main."""
    scratch = scratch_repository(tmp_path / "repo")
    bare = tmp_path / "bare ü.git"
    scratch.git("init", "--quiet", "--bare", str(bare))
    scratch.git("remote", "add", "origin", str(bare))
    scratch.git("push", "--quiet", "origin", "main")
    return scratch, bare


def hook(bare: Path, text: str) -> None:
    path = bare / "hooks" / "pre-receive"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_commit_is_sent_and_seen_there(pair: tuple[ScratchRepository, Path]) -> None:
    scratch, _ = pair
    sha = scratch.commit({"a.txt": "x\n"})
    assert seen_on(scratch.path, "origin", REF).sha is None
    assert push_to(scratch.path, "origin", sha, REF).done
    assert (seen_on(scratch.path, "origin", REF).known, seen_on(scratch.path, "origin", REF).sha) == (True, sha)
    assert push_to(scratch.path, "origin", sha, REF).done


def test_a_push_never_throws_a_remote_commit_away(pair: tuple[ScratchRepository, Path]) -> None:
    """E15: no configuration makes it forced; a remote that moved on keeps what it has, and the reason is told."""
    scratch, _ = pair
    old = scratch.head
    newer = scratch.commit({"a.txt": "x\n"})
    assert push_to(scratch.path, "origin", newer, REF).done
    scratch.git("config", "remote.origin.push", f"+refs/heads/main:{REF}")
    scratch.git("config", "remote.origin.mirror", "true")
    refused = push_to(scratch.path, "origin", old, REF)
    assert (refused.done, "rejected" in refused.reason) == (False, True)
    assert seen_on(scratch.path, "origin", REF).sha == newer


def test_the_word_of_a_remote_that_refuses_is_told(pair: tuple[ScratchRepository, Path]) -> None:
    scratch, bare = pair
    hook(bare, "echo 'branches are closed on Sundays' >&2; exit 1")
    refused = push_to(scratch.path, "origin", scratch.head, REF)
    assert not refused.done
    assert "branches are closed on Sundays" in refused.reason
    assert "pre-receive hook declined" in refused.reason


def test_success_that_cannot_be_read_back_is_none(pair: tuple[ScratchRepository, Path]) -> None:
    """F02: a remote that says yes and keeps nothing is not believed."""
    scratch, bare = pair
    after = bare / "hooks" / "post-receive"
    after.parent.mkdir(exist_ok=True)
    after.write_text(f"#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref -d {REF}\n")
    after.chmod(0o755)
    answer = push_to(scratch.path, "origin", scratch.head, REF)
    assert (answer.done, answer.reason) == (False, f"{REF} is at nothing afterwards")


def test_what_cannot_be_reached_is_unknown_and_not_absent(pair: tuple[ScratchRepository, Path]) -> None:
    """E15: no answer is no proof that nothing is there."""
    scratch, bare = pair
    bare.rename(bare.with_name("elsewhere"))
    seen = seen_on(scratch.path, "origin", "refs/heads/main")
    assert (seen.known, seen.sha, bool(seen.reason)) == (False, None, True)
    assert not push_to(scratch.path, "origin", scratch.head, REF).done


def test_hooks_of_the_repository_do_not_run_at_a_push(pair: tuple[ScratchRepository, Path], tmp_path: Path) -> None:
    scratch, _ = pair
    trap = scratch.path / ".git" / "hooks" / "pre-push"
    trap.parent.mkdir(exist_ok=True)
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\nexit 1\n")
    trap.chmod(0o755)
    assert push_to(scratch.path, "origin", scratch.head, REF).done
    assert not (tmp_path / "sprung").exists()
