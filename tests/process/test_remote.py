"""What the host sends to a real remote arrives, or it is said why not; nothing is ever forced."""

from pathlib import Path

import pytest

from workloop.domain.errors import Refusal
from workloop.runner.remote import PushWord, RefPush, Remote, RemoteError, find_remote, push, require_same, seen_at
from workloop.runner.repository import open_repository
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

REF = "refs/heads/work"
Pair = tuple[ScratchRepository, Path, Remote]


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """A repository, its bare remote called origin that has its main, and that remote as the loop found it."""
    scratch = scratch_repository(tmp_path / "repo")
    bare = tmp_path / "bare ü.git"
    scratch.git("init", "--quiet", "--bare", str(bare))
    scratch.git("remote", "add", "origin", str(bare))
    scratch.git("push", "--quiet", "origin", "main")
    return scratch, bare, find_remote(open_repository(scratch.path, tmp_path / "state"), "origin")


def hook(bare: Path, name: str, text: str) -> None:
    path = bare / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_commit_is_sent_and_seen_there(pair: Pair) -> None:
    scratch, _, remote = pair
    sha = scratch.commit({"a.txt": "x\n"})
    assert seen_at(remote, REF) is None
    assert push(remote, RefPush(sha, REF)).word is PushWord.THERE
    assert seen_at(remote, REF) == sha
    assert push(remote, RefPush(sha, REF)).word is PushWord.THERE


def test_no_setting_makes_a_push_a_forced_one(pair: Pair) -> None:
    """E15: a remote that moved on keeps what it has, whatever the repository's settings say, and that is told."""
    scratch, _, remote = pair
    old, newer = scratch.head, scratch.commit({"a.txt": "x\n"})
    push(remote, RefPush(newer, REF))
    scratch.git("config", "remote.origin.push", f"+refs/heads/main:{REF}")
    scratch.git("config", "remote.origin.mirror", "true")
    assert push(remote, RefPush(old, REF)).word is PushWord.BEHIND
    assert seen_at(remote, REF) == newer


def test_the_word_of_a_remote_that_refuses_is_told(pair: Pair) -> None:
    scratch, bare, remote = pair
    hook(bare, "pre-receive", "echo 'branches are closed on Sundays' >&2; exit 1")
    refused = push(remote, RefPush(scratch.head, REF))
    assert refused.word is PushWord.REFUSED
    assert "branches are closed on Sundays" in refused.said


def test_what_a_remote_took_and_did_not_keep_is_seen(pair: Pair) -> None:
    """F02: a remote that says yes is asked again."""
    scratch, bare, remote = pair
    hook(bare, "post-receive", f"unset GIT_QUARANTINE_PATH\ngit update-ref -d {REF}")
    assert push(remote, RefPush(scratch.head, REF)).word is PushWord.THERE
    assert seen_at(remote, REF) is None


def test_what_cannot_be_reached_is_unknown_and_not_absent(pair: Pair) -> None:
    """E15: no answer is no proof that nothing is there."""
    scratch, bare, remote = pair
    bare.rename(bare.with_name("elsewhere"))
    with pytest.raises(RemoteError):
        seen_at(remote, "refs/heads/main")
    assert push(remote, RefPush(scratch.head, REF)).word is PushWord.UNKNOWN


def test_a_remote_whose_address_was_changed_is_not_used(pair: Pair, tmp_path: Path) -> None:
    """Security: a session without walls may rewrite where work is sent."""
    scratch, _, remote = pair
    require_same(remote)
    scratch.git("remote", "set-url", "--push", "origin", str(tmp_path / "mine.git"))
    with pytest.raises(Refusal) as refused:
        require_same(remote)
    assert refused.value.code == "REMOTE_CHANGED"


def test_hooks_of_the_repository_do_not_run_at_a_push(pair: Pair, tmp_path: Path) -> None:
    scratch, _, remote = pair
    hook(scratch.path / ".git", "pre-push", f"touch '{tmp_path}/sprung'\nexit 1")
    assert push(remote, RefPush(scratch.head, REF)).word is PushWord.THERE
    assert not (tmp_path / "sprung").exists()
