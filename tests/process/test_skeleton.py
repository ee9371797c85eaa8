"""What a repository of exactly one commit is like, made without asking git to make one."""

import os
import subprocess
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.runner.repository import open_repository
from workloop.runner.workspace import clean_checkout


def run(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(argv, env=environment, capture_output=True, check=True, text=True).stdout.strip()


@pytest.mark.parametrize("names", ["sha1", "sha256"])
def test_a_checkout_is_a_repository_as_git_would_have_made_it(tmp_path: Path, names: str) -> None:
    """Decision: its settings are those of `git init`, its files and index those of the commit, and it can commit."""
    origin, other = tmp_path / "origin ü", tmp_path / "other"
    for folder in (origin, other):
        folder.mkdir()
        run(folder, "init", "--quiet", "--template=", f"--object-format={names}", "--initial-branch=main")
    (origin / "run.sh").write_text("echo\n")
    (origin / "run.sh").chmod(0o755)
    (origin / "link").symlink_to("run.sh")
    run(origin, "add", "--all")
    run(origin, "commit", "--quiet", "--message=one")
    sha = run(origin, "rev-parse", "HEAD")
    repository = open_repository(origin, tmp_path / "state")
    checkout = clean_checkout(repository, sha, repository.folder("checkouts") / "c", created=Instant(1)).path
    assert run(checkout, "config", "--local", "--list") == run(other, "config", "--local", "--list")
    assert run(checkout, "rev-parse", "HEAD") == sha
    assert (run(checkout, "status", "--porcelain", "--ignored"), run(checkout, "for-each-ref")) == ("", "")
    assert run(checkout, "fsck", "--strict", "--no-dangling") == ""
    assert os.access(checkout / "run.sh", os.X_OK)
    assert (checkout / "link").readlink() == Path("run.sh")
    run(checkout, "commit", "--quiet", "--allow-empty", "--message=two")
    assert run(origin, "rev-parse", "HEAD") == sha
