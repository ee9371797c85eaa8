"""Git behind walls, with the real one: what a session commits arrives, nothing else of it reaches the repository."""

import json
from pathlib import Path

import pytest
from git_stage import BRANCH, Stage, git, stand_in
from walls import NEEDS_WALLS

from workloop.domain.errors import Fault
from workloop.runner.git import RefMovedError
from workloop.runner.sandbox.enclosure import Rooms, git_rooms
from workloop.runner.sandbox.receiving import Received, receive

pytestmark = NEEDS_WALLS


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_commit_of_a_session_arrives_when_the_host_receives_it_and_not_before(stage: Stage) -> None:
    said = stage.works("echo two = 2 >> code.py; git commit -qam second; git rev-parse HEAD")

    assert stage.tip() == stage.first
    received = receive(stage.tree)
    assert received == Received(objects=3, tip=said.strip(), refused=())
    assert stage.tip() == said.strip()
    assert git(stage.tree, "status", "--porcelain") == ""
    assert git(stage.repo, "fsck", "--strict", "--no-dangling") == ""
    assert receive(stage.tree) == Received()


@pytest.mark.parametrize(
    "script",
    [
        "echo 1 > new; git add new; git commit -qm a; git commit -q --amend -m b; git reset -q --hard HEAD",
        "echo 1 > new; git add new; git commit -qm a; echo 2 > new; git commit -qam b; git rebase -q -f HEAD~2",
        "echo 1 > new; git add new; git stash -q; git stash pop -q; git commit -qm a; git tag mine; git tag -d mine",
        """git checkout -q -b aside; echo 1 > new; git add new; git commit -qm a
        git checkout -q -; git merge -q aside; git branch -q -d aside""",
        """echo 1 > new; git add new; git commit -qm a; git revert --no-edit HEAD; git cherry-pick HEAD~1
        git fsck --strict; git gc -q --prune=now; git bisect start -q; git bisect reset""",
        """git worktree add -q --detach ../spare main; git clone -q . ../copy
        git log --all --oneline; git status; git diff main""",
    ],
)
def test_what_people_do_with_git_works_inside(stage: Stage, script: str) -> None:
    inside = stage.works(f"{script}\ngit rev-parse HEAD").splitlines()[-1]

    receive(stage.tree, ended=True)

    assert stage.tip() == inside
    assert git(stage.tree, "rev-parse", "HEAD") == inside
    assert git(stage.tree, "status", "--porcelain") == ""
    assert "missing" not in git(stage.repo, "fsck", "--no-dangling")


def test_what_is_only_staged_is_known_to_the_host_too(stage: Stage) -> None:
    stage.works("echo staged > new; git add new; echo later > new")

    receive(stage.tree, ended=True)

    assert git(stage.tree, "show", ":new") == "staged"
    assert git(stage.tree, "write-tree")


def test_a_pack_of_a_session_arrives(stage: Stage) -> None:
    said = stage.works("echo 1 > new; git add new; git commit -qm a; git repack -q -a -d -l; git rev-parse HEAD")

    received = receive(stage.tree)

    assert received.tip == said.strip()
    assert git(stage.repo, "show", f"{BRANCH}:new") == "1"
    assert receive(stage.tree) == Received()


def test_the_next_session_goes_on_where_the_last_one_ended_though_nobody_received_it(stage: Stage) -> None:
    """As after a loop that was killed in between."""
    stage.works("echo 1 > new; git add new; git commit -qm a")
    said = stage.works("git log --format=%s; git rev-parse HEAD").split()

    assert said[:2] == ["a", "first"]
    assert stage.tip() == said[-1]


def test_the_stand_in_of_a_work_tree_that_is_gone_is_received_and_dropped(stage: Stage) -> None:
    said = stage.works("echo 1 > new; git add new; git commit -qm a; git rev-parse HEAD")
    git(stage.repo, "worktree", "remove", "--force", str(stage.tree))

    git_rooms(stage.other, "workloop/itm_2/other")

    assert stage.tip() == said.strip()
    assert [path.name for path in (stage.common / "workloop").iterdir()] == ["itm_2-1"]


def test_the_stand_in_of_a_work_tree_that_is_gone_stays_when_its_branch_was_moved(stage: Stage) -> None:
    stage.works("echo 1 > new; git add new; git commit -qm a")
    git(stage.repo, "worktree", "remove", "--force", str(stage.tree))
    elsewhere = git(stage.repo, "commit-tree", "-p", "main", "-m", "else", "main^{tree}")
    git(stage.repo, "update-ref", f"refs/heads/{BRANCH}", elsewhere)

    git_rooms(stage.other, "workloop/itm_2/other")

    assert stage.tip() == elsewhere
    assert stand_in(stage).is_dir()


def test_work_on_a_branch_of_the_sessions_own_is_kept_on_the_side_and_head_stays_on_it(stage: Stage) -> None:
    said = stage.works("git checkout -q -b my/idea; echo 1 > new; git add new; git commit -qm a; git rev-parse HEAD")

    receive(stage.tree, ended=True)

    assert stage.tip() == stage.first
    assert git(stage.repo, "rev-parse", "refs/workloop/side/itm_1-1/heads/my/idea") == said.strip()
    assert git(stage.tree, "rev-parse", "HEAD") == said.strip()
    assert git(stage.tree, "status", "--porcelain") == ""


def test_a_branch_moved_by_somebody_else_is_not_overwritten(stage: Stage) -> None:
    stage.works("echo 1 > new; git add new; git commit -qm a")
    elsewhere = git(stage.repo, "commit-tree", "-p", "main", "-m", "else", "main^{tree}")
    git(stage.repo, "update-ref", f"refs/heads/{BRANCH}", elsewhere)

    with pytest.raises(RefMovedError):
        receive(stage.tree)

    assert stage.tip() == elsewhere


def test_a_session_sees_the_repository_without_its_secrets_and_without_the_other_items(stage: Stage) -> None:
    git(stage.repo, "config", "remote.origin.url", "https://me:hunter2@example.org/p.git")
    git(stage.repo, "config", "http.https://example.org/.extraheader", "AUTHORIZATION: basic aHVudGVyMg==")
    git(stage.repo, "config", "credential.helper", "store --file=hunter2")
    git(stage.repo, "config", "core.sshCommand", "ssh -i hunter2")
    git(stage.repo, "config", "user.name", 'An "odd"\\ name')
    (stage.repo / ".env").write_text("hunter2")

    said = stage.works(
        f"git config --list --local; cat {stage.common}/config; ls -A {stage.repo}; cd {stage.other}; ls -A; cd -;"
        " git for-each-ref; git config user.name"
    )

    assert "hunter2" not in said
    assert "aHVudGVyMg" not in said
    assert "remote.origin.url=https://example.org/p.git" in said
    assert "heads/workloop/itm_2" not in said
    assert ".env" not in said
    assert "code.py" not in said
    assert said.endswith('An "odd"\\ name\n')


def test_the_other_work_trees_are_hidden_wherever_they_lie_and_however_new_they_are(stage: Stage) -> None:
    third = stage.folder / "trees" / "itm_3-1"
    git(stage.repo, "worktree", "add", "--quiet", "--detach", str(third))

    assert set(git_rooms(stage.tree, BRANCH).hidden) == {stage.repo, stage.other, third}


def test_a_repository_that_shares_objects_with_another_one_works_inside(stage: Stage) -> None:
    borrower = stage.folder / "borrower"
    git(stage.folder, "clone", "--quiet", "--shared", str(stage.repo), str(borrower))
    stage.repo, stage.common = borrower, borrower / ".git"
    stage.tree = stage.folder / "trees" / "itm_3-1"
    git(borrower, "worktree", "add", "--quiet", "-b", BRANCH, str(stage.tree), "origin/main")

    said = stage.works("git log --oneline; echo 1 > new; git add new; git commit -qm a; git rev-parse HEAD")

    assert receive(stage.tree).tip == said.split()[-1]
    assert git(borrower, "fsck", "--no-dangling") == ""


def test_a_shallow_repository_works_inside(stage: Stage) -> None:
    git(stage.repo, "commit", "--quiet", "--allow-empty", "-m", "second")
    shallow = stage.folder / "shallow"
    git(stage.folder, "clone", "--quiet", "--depth=1", f"file://{stage.repo}", str(shallow))
    stage.repo, stage.tree = shallow, stage.folder / "trees" / "itm_4-1"
    git(shallow, "worktree", "add", "--quiet", "-b", BRANCH, str(stage.tree), "origin/main")

    said = stage.works("git log --format=%s; echo 1 > new; git add new; git commit -qm a; git rev-parse HEAD")

    assert said.split()[0] == "second"
    assert receive(stage.tree).tip == said.split()[-1]


def test_large_files_that_git_points_at_arrive_under_their_true_name_alone(stage: Stage) -> None:
    true = "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"  # of "hi" with a line break
    place = f"{stage.common}/lfs/objects/98/ea"
    end = stage.session(f"mkdir -p {place}; echo hi > {place}/{true}; echo no > {place}/{true[:-1]}5")

    assert end.exit_code == 0
    received = receive(stage.tree)

    assert (stage.common / "lfs/objects/98/ea" / true).read_text() == "hi\n"
    assert [one.partition(":")[0] for one in received.refused] == [f"lfs/objects/98/ea/{true[:-1]}5"]


def test_a_checkout_that_is_a_repository_by_itself_keeps_its_rules(stage: Stage) -> None:
    checkout = stage.folder / "checkout"
    git(stage.folder, "clone", "--quiet", str(stage.repo), str(checkout))
    before = (checkout / ".git" / "config").read_bytes()
    stage.tree = checkout

    end = stage.session(
        "git config core.fsmonitor evil; echo evil > .git/hooks/post-checkout; echo x > .git/config.worktree;"
        "mv .git/hooks .git/hooks2; rm -rf .git/config; echo 1 > new; git add new && git commit -qm a",
        git_rooms(checkout),
    )

    assert end.exit_code == 0, end.output_tail
    assert (checkout / ".git" / "config").read_bytes() == before
    assert not (checkout / ".git" / "hooks" / "post-checkout").exists()
    assert (checkout / ".git" / "config.worktree").read_bytes() == b""


def test_a_folder_without_git_is_just_a_room(tmp_path: Path) -> None:
    assert git_rooms(tmp_path) == Rooms(writable=(tmp_path,))
    assert receive(tmp_path) == Received()


@pytest.mark.parametrize("file", ["commondir", "gitdir"])
def test_a_work_tree_whose_files_contradict_each_other_is_given_to_nobody(stage: Stage, file: str) -> None:
    elsewhere = stage.folder / "evil"
    elsewhere.mkdir()
    (stage.own / file).write_text(f"{elsewhere}/.git\n")

    with pytest.raises(Fault, match="SANDBOX_GIT_MISPLACED"):
        git_rooms(stage.tree, BRANCH)


def test_without_a_name_head_says_the_branch_only_if_it_is_one_of_ours(stage: Stage) -> None:
    git_rooms(stage.tree)
    assert record_of(stage)["branch"] == BRANCH

    (stage.own / "HEAD").write_text("ref: refs/heads/main\n")
    git_rooms(stage.tree)
    assert record_of(stage)["branch"] is None


def record_of(stage: Stage) -> dict[str, object]:
    return json.loads((stage.common / "workloop" / "itm_1-1" / "record.json").read_text())
