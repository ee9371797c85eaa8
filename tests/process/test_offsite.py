"""Unfinished work gets a copy on the remote where the operator wants one, and nothing that must not leave does."""

from dataclasses import replace
from pathlib import Path

import pytest

from workloop.config import DiskConfig
from workloop.domain.clock import Instant
from workloop.domain.errors import Refusal
from workloop.driver.gitshop import GitShop
from workloop.driver.workshop import PutAway, WorkOrder, WorkTree
from workloop.runner.remote import find_remote, seen_at
from workloop.runner.repository import open_repository
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

REF = "refs/workloop/wip/01abc/1"
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def shop(tmp_path: Path) -> GitShop:
    """A workshop whose unfinished work goes to a bare remote, too."""
    scratch = scratch_repository(tmp_path / "repo", {"a.txt": "one\n"})
    scratch.git("init", "--quiet", "--bare", str(tmp_path / "bare.git"))
    scratch.git("remote", "add", "origin", str(tmp_path / "bare.git"))
    scratch.git("push", "--quiet", "origin", "main")
    repository = open_repository(scratch.path, tmp_path / "state")
    return GitShop(repository, disk=DiskConfig(free_bytes_min=1), offsite=find_remote(repository, "origin"))


def made(shop: GitShop, attempt: int = 1) -> WorkTree:
    return shop.make(WorkOrder(root_id="01abc", attempt=attempt, title="thing", created=Instant(attempt)))


def inside(tree: WorkTree) -> ScratchRepository:
    return ScratchRepository(path=tree.path)


def bare(shop: GitShop) -> ScratchRepository:
    return ScratchRepository(path=shop.repository.path.with_name("bare.git"))


def unsent(shop: GitShop) -> str:
    return ScratchRepository(path=shop.repository.path).git("for-each-ref", "refs/workloop/unsent/")


def put(shop: GitShop, tree: WorkTree) -> PutAway:
    return shop.put_away(tree, "killed")


def test_f01_uncommitted_and_unpushed_work_is_on_the_remote_when_its_tree_goes(shop: GitShop) -> None:
    """F01, F02: read back before anything goes; branches of the remote are not touched."""
    tree = made(shop)
    done = inside(tree).commit({"b.txt": "committed\n"})
    (tree.path / "a.txt").write_text("changed\n")
    put_away = put(shop, tree)
    assert (put_away.stays, put_away.unsent, tree.path.exists()) == ("", "", False)
    assert bare(shop).git("show", f"{REF}:a.txt") == "changed"
    assert bare(shop).git("rev-parse", f"{REF}^") == done
    assert bare(shop).git("for-each-ref", "--format=%(refname)") == f"refs/heads/main\n{REF}"
    assert unsent(shop) == ""


def test_commits_of_a_clean_tree_are_sent_and_a_tree_without_work_sends_nothing(shop: GitShop) -> None:
    tree = made(shop)
    assert put(shop, tree).unsent == ""
    assert bare(shop).git("for-each-ref", "refs/workloop/") == ""
    tree = made(shop, 2)
    done = inside(tree).commit({"b.txt": "committed\n"})
    put(shop, tree)
    assert bare(shop).git("rev-parse", "refs/workloop/wip/01abc/2") == done


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({".env": "X=1\n"}, ".env looks like a secret by its name"),
        ({"notes.txt": f"token {TOKEN}\n"}, "notes.txt looks like a secret by its content"),
        ({"big.bin": "x" * (5 * 1024 * 1024 + 1)}, "big.bin is too big"),
    ],
)
def test_what_a_session_committed_is_looked_at_before_it_leaves_the_machine(
    shop: GitShop, files: dict[str, str], reason: str
) -> None:
    """Security: a later commit that takes a secret out again does not take it out of the history that is sent."""
    tree = made(shop)
    inside(tree).commit(files)
    inside(tree).commit({**dict.fromkeys(files), "b.txt": "work\n"})
    put_away = put(shop, tree)
    assert (put_away.unsent, put_away.stays) == (reason, "")
    assert bare(shop).git("for-each-ref", "refs/workloop/") == ""
    assert unsent(shop) == ""


def test_the_operators_own_unpushed_commits_do_not_leave_below_the_work(shop: GitShop) -> None:
    scratch = ScratchRepository(path=shop.repository.path)
    scratch.commit({"private.txt": "not yet\n"})
    tree = made(shop)
    inside(tree).commit({"b.txt": "work\n"})
    assert put(shop, tree).unsent == "it stands on commits of main that the remote lacks"
    assert bare(shop).git("for-each-ref", "refs/workloop/") == ""


def test_a_remote_that_is_away_gets_the_work_when_it_is_back(shop: GitShop) -> None:
    """F02: what is to be sent is written down in the repository, and no kill or outage forgets it."""
    place = bare(shop).path
    place.rename(place.with_name("elsewhere"))
    tree = made(shop)
    sha = inside(tree).commit({"b.txt": "work\n"})
    assert "could not be asked" in put(shop, tree).unsent
    assert not tree.path.exists()
    place.with_name("elsewhere").rename(place)
    replace(shop).collect(Instant(1))
    assert bare(shop).git("rev-parse", REF) == sha
    assert unsent(shop) == ""


def test_a_remote_that_refuses_keeps_the_work_here_and_is_told(shop: GitShop) -> None:
    hook = bare(shop).path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'only branches here' >&2\nexit 1\n")
    hook.chmod(0o755)
    tree = made(shop)
    sha = inside(tree).commit({"b.txt": "work\n"})
    assert "only branches here" in put(shop, tree).unsent
    assert sha in unsent(shop)


def test_a_side_reference_of_the_remote_is_never_moved_back(shop: GitShop) -> None:
    """Nothing forced: another history under the same name gets a name of its own beside it."""
    scratch = ScratchRepository(path=shop.repository.path)
    other = scratch.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "another loop's")
    scratch.git("push", "--quiet", "origin", f"{other}:{REF}")
    tree = made(shop)
    sha = inside(tree).commit({"b.txt": "work\n"})
    assert put(shop, tree).unsent == ""
    assert shop.offsite is not None
    assert (seen_at(shop.offsite, REF), seen_at(shop.offsite, f"{REF}.{sha[:12]}")) == (other, sha)


def test_a_remote_that_is_not_there_is_refused_when_the_loop_begins(shop: GitShop) -> None:
    with pytest.raises(Refusal) as refused:
        find_remote(shop.repository, "backup")
    assert refused.value.code == "REMOTE_UNKNOWN"
