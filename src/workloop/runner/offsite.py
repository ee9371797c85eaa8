"""How unfinished work gets onto a remote beside every branch, if nothing in it looks like a secret or is too big."""

from dataclasses import dataclass

from workloop.domain.errors import WorkloopError
from workloop.runner.git import ANY_FAILURE, git
from workloop.runner.gitfacts import NO_COMMIT, commit_of, move_ref
from workloop.runner.leaks import leaks
from workloop.runner.registry import WIP_REFS, Workspace
from workloop.runner.remote import PushWord, RefPush, Remote, fetch_tip, push, require_same, seen_at, unpublished
from workloop.runner.repository import Repository

UNSENT_REFS = "refs/workloop/unsent/"
SHOWN_MAX = 5


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
    if unpublished(repository, sha, tip):
        return f"it stands on commits of {repository.integration_branch} that the remote lacks"
    return "; ".join(leaks(repository, sha, tip)[:SHOWN_MAX])


def _unsent(item_id: str, attempt: int) -> str:
    return f"{UNSENT_REFS}{item_id}/{attempt}"
