"""How unfinished work gets onto a remote beside every branch, if nothing in it looks like a secret or is too big."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from workloop.domain.errors import WorkloopError
from workloop.runner.git import ANY_FAILURE, GitCall, git, printable
from workloop.runner.gitfacts import NO_COMMIT, commit_of, is_ancestor, move_ref
from workloop.runner.registry import WIP_REFS, Workspace
from workloop.runner.remote import PushWord, RefPush, Remote, fetch_tip, push, require_same, seen_at
from workloop.runner.repository import Repository
from workloop.runner.snapshot import FILE_BYTES_MAX, SECRET_CONTENT, TOTAL_BYTES_MAX, looks_secret

UNSENT_REFS = "refs/workloop/unsent/"
SHOWN_MAX = 5
OBJECT = re.compile(rb"([0-9a-f]{40,64}) (\w+) (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Where on the remote a commit was read back; without a reference, why it is not there."""

    ref: str = ""
    reason: str = ""


def note_unsent(workspace: Workspace, sha: str) -> None:
    """Write down, in the repository itself, that a commit is to be sent, so that no kill forgets it."""
    ref = _unsent(workspace.item_id, workspace.attempt)
    known = commit_of(workspace.repo, ref)
    if known != sha:
        move_ref(workspace.repo, ref, sha, known or NO_COMMIT)


def send_all(remote: Remote) -> dict[str, Sent]:
    """Send what was written down and is not sent yet; returns what came of each, by its reference here.

    What is there, or must never be there, is struck off; what failed for now stays for the next time.
    """
    repository = remote.repository
    listed = git(repository.path, "for-each-ref", "--format=%(refname) %(objectname)", UNSENT_REFS).text.splitlines()
    found: dict[str, Sent] = {}
    for line in listed:
        ref, sha = line.split(" ")
        try:
            found[ref], final = send(remote, sha, WIP_REFS + ref.removeprefix(UNSENT_REFS))
        except WorkloopError as failed:
            found[ref], final = Sent(reason=str(failed)), False
        if final:
            git(repository.path, "update-ref", "-d", ref, sha, call=ANY_FAILURE)  # it may name a newer commit by now
    return found


def send(remote: Remote, sha: str, ref: str) -> tuple[Sent, bool]:
    """Push one commit beside the branches and read it back; tells also whether trying again would be idle."""
    require_same(remote)
    tip = fetch_tip(remote, remote.repository.integration_branch)
    problem = why_not(remote.repository, sha, tip)
    if problem:
        return Sent(reason=problem), True
    pushed = push(remote, RefPush(sha, ref))
    if pushed.word is PushWord.BEHIND:
        ref = f"{ref}.{sha[:12]}"
        pushed = push(remote, RefPush(sha, ref))
    if seen_at(remote, ref) == sha:
        return Sent(ref=ref), True
    return Sent(reason=pushed.said or "the remote does not show it"), False


def why_not(repository: Repository, sha: str, tip: str) -> str:
    """Say why a commit must not be sent: private commits below it, secrets, or too much; nothing when it may."""
    fork = git(repository.path, "merge-base", sha, repository.integration_ref, call=ANY_FAILURE)
    if fork.exit_code == 0 and fork.text and not is_ancestor(repository.path, fork.text.splitlines()[0], tip):
        return f"it stands on commits of {repository.integration_branch} that the remote lacks"
    bad, total = list[str](), 0
    for path, size, reason in _new_files(repository, sha, tip):
        total += size
        if reason:
            bad.append(f"{printable(path)} {reason}")
    if bad:
        return "; ".join(bad[:SHOWN_MAX])
    return "its files are too big in all" if total > TOTAL_BYTES_MAX else ""


def _new_files(repository: Repository, sha: str, tip: str) -> Iterator[tuple[str, int, str]]:
    """Yield each version of a file that the remote lacks, in any commit: its path, its size, and what is wrong."""
    listed = git(repository.path, "rev-list", "--objects", sha, "--not", tip).text.splitlines()
    paths = {name: path for name, _, path in (line.partition(" ") for line in listed) if path}
    asked = GitCall(stdin="".join(f"{name}\n" for name in paths).encode("ascii"))
    for line in git(repository.path, "cat-file", "--batch-check", call=asked).raw.splitlines():
        found = OBJECT.fullmatch(line)
        if found is None or found[2] != b"blob":
            continue
        name, size = found[1].decode("ascii"), int(found[3])
        yield paths[name], size, _wrong(repository, name, paths[name], size)


def _wrong(repository: Repository, blob: str, path: str, size: int) -> str:
    if size > FILE_BYTES_MAX:
        return "is too big"
    if looks_secret(PurePosixPath(path).name):
        return "looks like a secret by its name"
    if SECRET_CONTENT.search(git(repository.path, "cat-file", "blob", blob).raw):
        return "looks like a secret by its content"
    return ""


def _unsent(item_id: str, attempt: int) -> str:
    return f"{UNSENT_REFS}{item_id}/{attempt}"
