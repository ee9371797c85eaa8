"""What a session forges in its stand-in reaches the repository under its true name, or not at all."""

import hashlib
import os
import zlib
from pathlib import Path

import pytest
from git_stage import BRANCH, Stage, git, stand_in
from walls import NEEDS_WALLS

from workloop.runner.sandbox.enclosure import git_rooms
from workloop.runner.sandbox.receiving import Received, receive

pytestmark = NEEDS_WALLS


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_an_object_under_the_name_of_another_one_is_refused(stage: Stage) -> None:
    """A forged object of the base would be what the host's checks are compared with."""
    name = git(stage.tree, "hash-object", "--stdin", "-w", "--path=x", "code.py")
    forged = zlib.compress(b"blob 9\0assert 1\n")
    git_rooms(stage.tree, BRANCH)
    place = stand_in(stage) / "objects" / "ab"
    place.mkdir()
    (place / ("c" * 38)).write_bytes(forged)
    (place / ("d" * 38)).write_bytes(zlib.compress(b"blob 8\0assert 1\n"))
    for false in (b"blob 8\0assert 1\n", b"evil 9\0assert 1\n"):
        true_name = hashlib.sha1(false, usedforsecurity=False).hexdigest()
        (stand_in(stage) / "objects" / true_name[:2]).mkdir()
        (stand_in(stage) / "objects" / true_name[:2] / true_name[2:]).write_bytes(zlib.compress(false))
    (place / ("e" * 38)).write_bytes(forged + b"more")
    (place / ("f" * 38)).symlink_to("/etc/passwd")
    os.mkfifo(place / ("0" * 38))
    good = stand_in(stage) / "objects" / name[:2]
    good.mkdir(exist_ok=True)
    (good / name[2:]).write_bytes(forged)

    received = receive(stage.tree)

    assert (received.objects, len(received.refused)) == (0, 5)
    assert not (stage.common / "objects" / "ab").is_dir() or not list((stage.common / "objects" / "ab").iterdir())
    assert git(stage.repo, "fsck", "--no-dangling") == ""


def test_a_pack_with_a_false_index_gives_only_what_it_truly_holds(stage: Stage) -> None:
    base = git(stage.repo, "rev-parse", "main:code.py")
    stage.works("echo forged > new; git add new; git commit -qm a; git repack -q -a -d -l")
    index = next((stand_in(stage) / "objects" / "pack").glob("*.idx"))
    index.chmod(0o600)
    raw = index.read_bytes()
    forged = git(stage.repo, "hash-object", str(stage.tree / "new"))
    index.write_bytes(raw.replace(bytes.fromhex(forged), bytes.fromhex(base)))

    received = receive(stage.tree)

    assert received.tip == stage.tip()
    assert git(stage.repo, "cat-file", "-p", base) == "one = 1"
    assert git(stage.repo, "cat-file", "-p", forged) == "forged"


def test_a_pack_that_is_damaged_is_refused(stage: Stage) -> None:
    stage.works("echo 1 > new; git add new; git commit -qm a; git repack -q -a -d -l")
    pack = next((stand_in(stage) / "objects" / "pack").glob("*.pack"))
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:-30])

    received = receive(stage.tree)

    assert (received.tip, len(received.refused)) == (None, 2)
    assert stage.tip() == stage.first


def test_a_commit_that_lacks_a_file_moves_no_branch(stage: Stage) -> None:
    stage.works("echo 1 > new; git add new; git commit -qm a")
    blob = git(stage.repo, "hash-object", str(stage.tree / "new"))
    (stand_in(stage) / "objects" / blob[:2] / blob[2:]).unlink()

    received = receive(stage.tree)

    assert received.tip is None
    assert "no commit with all that it stands for" in received.refused[0]
    assert stage.tip() == stage.first


@pytest.mark.parametrize("content", ["ref: refs/heads/main", "main", "../../HEAD", "z" * 40, "", "0" * 40])
def test_a_reference_that_is_no_plain_commit_moves_no_branch(stage: Stage, content: str) -> None:
    git_rooms(stage.tree, BRANCH)
    path = stand_in(stage) / "refs" / "heads" / BRANCH
    path.parent.mkdir(parents=True)
    path.write_text(content + "\n")

    assert receive(stage.tree, ended=True).tip is None
    assert (stage.tip(), stage.tip("main")) == (stage.first, stage.first)


def test_links_in_the_stand_in_lead_nowhere(stage: Stage) -> None:
    secret = stage.folder / "secret"
    (secret / "heads" / "workloop" / "itm_1").mkdir(parents=True)
    orphan = git(stage.repo, "commit-tree", "-m", "orphan", "main^{tree}")
    (secret / "heads" / BRANCH).write_text(orphan + "\n")
    git_rooms(stage.tree, BRANCH)
    for name in ("refs", "objects"):
        (stand_in(stage) / name).rename(stand_in(stage) / f"{name}-was")
    (stand_in(stage) / "refs").symlink_to(secret)
    (stand_in(stage) / "objects").symlink_to(stage.common / "objects")

    assert receive(stage.tree, ended=True) == Received()
    assert stage.tip() == stage.first


def test_links_in_a_work_trees_own_folder_are_taken_away_before_git_writes_through_them(stage: Stage) -> None:
    victim = stage.folder / "victim"
    victim.write_text("mine")
    stage.works(
        f"rm {stage.own}/index {stage.own}/logs/HEAD; ln -s {victim} {stage.own}/index;"
        f" ln -s {victim} {stage.own}/logs/HEAD"
    )

    received = receive(stage.tree, ended=True)
    git(stage.tree, "reset", "--quiet", "--mixed")

    assert sorted(received.refused) == ["a link was removed: index", "a link was removed: logs/HEAD"]
    assert victim.read_text() == "mine"
