"""Git behind walls, with the real one: what a session commits arrives, nothing else of it reaches the repository."""

import json
import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from workloop.domain.errors import Fault
from workloop.runner.command import Command, CommandEnd, run_command
from workloop.runner.git import RefMovedError
from workloop.runner.sandbox.enclosure import Network, Rooms, find_enclosure, git_rooms
from workloop.runner.sandbox.receiving import Received, receive

BRANCH = "workloop/itm_1/a-feature"
IDENTITY = {
    "GIT_AUTHOR_NAME": "A Session",
    "GIT_AUTHOR_EMAIL": "session@example.org",
    "GIT_COMMITTER_NAME": "A Session",
    "GIT_COMMITTER_EMAIL": "session@example.org",
}


def git(where: Path, *words: str) -> str:
    env = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull}
    ran = subprocess.run(("git", "-C", str(where), *words), env=env, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


class Stage:
    """A repository of an operator with two items' work trees, and sessions in the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repo = folder / "project"
        self.repo.mkdir()
        git(self.repo, "init", "--quiet", "-b", "main")
        (self.repo / "code.py").write_text("one = 1\n")
        git(self.repo, "add", ".")
        git(self.repo, "commit", "--quiet", "-m", "first")
        git(self.repo, "branch", "workloop/itm_2/other")
        self.tree, self.other = folder / "trees" / "itm_1-1", folder / "trees" / "itm_2-1"
        git(self.repo, "worktree", "add", "--quiet", "-b", BRANCH, str(self.tree))
        git(self.repo, "worktree", "add", "--quiet", str(self.other), "workloop/itm_2/other")
        self.common = self.repo / ".git"
        self.own = self.common / "worktrees" / "itm_1-1"
        self.first = git(self.repo, "rev-parse", "main")

    def session(self, script: str, rooms: Rooms | None = None) -> CommandEnd:
        return run_command(
            Command(
                command=script,
                folder=self.folder / "run",
                cwd=self.tree,
                log_path=self.folder / "log",
                timeout_seconds=60,
                env={"PATH": os.environ["PATH"], "HOME": str(Path.home()), "LC_ALL": "C", **IDENTITY},
                enclosure=find_enclosure("bwrap", Network.OPEN),
                rooms=rooms or git_rooms(self.tree, BRANCH),
            )
        )

    def works(self, script: str) -> str:
        end = self.session(f"set -e\n{script}")
        assert end.exit_code == 0, end.output_tail
        return end.output_tail

    def tip(self, branch: str = BRANCH) -> str:
        return git(self.repo, "rev-parse", f"refs/heads/{branch}")


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


Forge = Callable[[Stage], str]


def stand_in(stage: Stage) -> Path:
    return stage.common / "workloop" / "itm_1-1" / "repository"


def test_an_object_under_the_name_of_another_one_is_refused(stage: Stage) -> None:
    """A forged object of the base would be what the host's checks are compared with."""
    name = git(stage.tree, "hash-object", "--stdin", "-w", "--path=x", "code.py")
    forged = zlib.compress(b"blob 9\0assert 1\n")
    git_rooms(stage.tree, BRANCH)
    place = stand_in(stage) / "objects" / "ab"
    place.mkdir()
    (place / ("c" * 38)).write_bytes(forged)
    (place / ("d" * 38)).write_bytes(zlib.compress(b"blob 8\0assert 1\n"))
    (place / ("e" * 38)).write_bytes(forged + b"more")
    (place / ("f" * 38)).symlink_to("/etc/passwd")
    os.mkfifo(place / ("0" * 38))
    good = stand_in(stage) / "objects" / name[:2]
    good.mkdir(exist_ok=True)
    (good / name[2:]).write_bytes(forged)

    received = receive(stage.tree)

    assert (received.objects, len(received.refused)) == (0, 3)
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


@pytest.mark.parametrize("content", ["ref: refs/heads/main", "../../HEAD", "z" * 40, "", "0" * 40])
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
