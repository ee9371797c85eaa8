"""What a fenced Codex worker may write outside of its work tree: what a commit needs, and not settings or hooks."""

import subprocess
import sys
import tomllib
from pathlib import Path

from workloop.runner.harness.codex.gitfolders import written_by_git
from workloop.runner.harness.codex.launch import CodexConfig, CodexHarness, CodexSandbox
from workloop.runner.harness.port import LaunchRequest


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def linked(folder: Path) -> tuple[Path, Path]:
    """Return a repository's own folder, and a work tree that is linked to it."""
    main, tree = folder / "main", folder / "tree"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", str(tree))
    return main / ".git", tree


def test_commit_in_a_linked_work_tree_writes_to_its_own_record_and_three_shared_folders(tmp_path: Path) -> None:
    own, tree = linked(tmp_path)
    assert written_by_git(tree) == (own / "worktrees" / "tree", own / "objects", own / "refs", own / "logs")


def test_plain_folder_and_whole_repository_need_nothing_outside(tmp_path: Path) -> None:
    own, _ = linked(tmp_path)
    assert written_by_git(tmp_path) == ()
    assert written_by_git(own.parent) == ()


def test_pointer_that_git_knows_nothing_of_opens_no_folder(tmp_path: Path) -> None:
    """A session that rewrites its own pointer must not widen the fence of the session after it."""
    own, tree = linked(tmp_path)
    victim = tmp_path / "victim" / "worktrees" / "x"
    (victim.parent.parent / "objects").mkdir(parents=True)
    victim.mkdir(parents=True)
    for target in (victim, own / "worktrees" / "gone", own, tmp_path):
        (tree / ".git").write_text(f"gitdir: {target}\n")
        assert written_by_git(tree) == ()
    (tree / ".git").unlink()
    (tree / ".git").symlink_to(own / "HEAD")
    assert written_by_git(tree) == ()


def test_fenced_worker_is_given_them_and_nobody_else_is(tmp_path: Path) -> None:
    own, tree = linked(tmp_path)
    roots = [str(path) for path in (own / "worktrees" / "tree", own / "objects", own / "refs", own / "logs")]
    assert given(tmp_path, tree, CodexSandbox.WORKSPACE) == roots
    assert given(tmp_path, tree, CodexSandbox.WORKSPACE, read_only=True) is None
    assert given(tmp_path, tree, CodexSandbox.FULL) is None
    assert given(tmp_path, own.parent, CodexSandbox.WORKSPACE) is None


def given(folder: Path, cwd: Path, sandbox: CodexSandbox, *, read_only: bool = False) -> list[str] | None:
    """Return the roots that a session's command line names."""
    session = folder / "session"
    session.mkdir(exist_ok=True)
    harness = CodexHarness(CodexConfig(binary=sys.executable, sandbox=sandbox, home_dir=folder / "home"))
    request = LaunchRequest(
        prompt="x",
        cwd=cwd,
        session_dir=session,
        session_id="11111111-2222-4333-8444-555555555555",
        environment={"PATH": "/usr/bin"},
        read_only=read_only,
    )
    name = "sandbox_workspace_write.writable_roots="
    found = [part.removeprefix(name) for part in harness.launch(request).argv if part.startswith(name)]
    return tomllib.loads(f"value = {found[0]}")["value"] if found else None
