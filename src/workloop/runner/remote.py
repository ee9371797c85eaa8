"""What the host asks of a remote: where a branch is there, its commits, and a push that never forces."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from workloop.domain.errors import Refusal
from workloop.runner.git import ANY_FAILURE, GitCall, GitError, git
from workloop.runner.gitfacts import HEADS, SHA, commits_between, is_ancestor, require_commit
from workloop.runner.repository import Repository

SEEN_REFS = "refs/workloop/remote/"
# What git and ssh need of the environment to reach a remote as the operator would, beyond what every run sees.
REACHING = (
    "SSH_AUTH_SOCK",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "GIT_ASKPASS",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "no_proxy",
)
BEHIND_WORDS = ("fetch first", "non-fast-forward", "cannot lock ref", "stale info", "failed to update ref")
CAUSES = ("ssh:", "fatal:")
PLAIN_PUSH = ("--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")


class RemoteError(GitError):
    """A remote could not be asked, so nothing is known of it; it may be there again later."""

    kind = "remote"
    retryable_by_default = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where work is delivered: the operator's repository, and the address that was found when the loop began."""

    repository: Repository
    name: str
    url: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def call(self) -> GitCall:
        """Return how git is run against it: with what reaches it, and every end accepted."""
        return GitCall(accept=(0, 1, 2, 128), env=self.environment)


class PushWord(StrEnum):
    """How a push ended: there, behind what the remote has, not taken, or unknown because the answer was lost."""

    THERE = "there"
    BEHIND = "behind"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Push(NamedTuple):
    """How a push ended, and what the remote said."""

    word: PushWord
    said: str = ""


class RefPush(NamedTuple):
    """A commit and the reference on the remote that is to have it."""

    sha: str
    ref: str


def find_remote(
    repository: Repository, name: str, environment: Mapping[str, str] = os.environ, allowed: Sequence[str] = ()
) -> Remote:
    """Find a remote by its name, or take an address as it is; raises Refusal when the repository has none."""
    visible = {word: environment[word] for word in (*REACHING, *allowed) if word in environment}
    if "/" in name or ":" in name:
        return Remote(repository=repository, name=name, url=name, environment=visible)
    return Remote(repository=repository, name=name, url=address_of(repository, name), environment=visible)


def address_of(repository: Repository, name: str) -> str:
    """Return where a remote of that name is pushed to; raises Refusal when there is none."""
    found = git(repository.path, "remote", "get-url", "--push", "--", name, call=GitCall(accept=(0, 2, 128)))
    if found.exit_code != 0 or not found.text:
        raise Refusal(
            "REMOTE_UNKNOWN",
            f"{repository.path} has no remote {name!r}",
            hint=f"git remote add {name} ADDRESS, or name another one as landing.remote",
        )
    return found.text


def require_same(remote: Remote) -> None:
    """Raise Refusal when the name means another address than when the loop began: a session may have changed it."""
    if remote.name == remote.url:
        return
    now = address_of(remote.repository, remote.name)
    if now != remote.url:
        raise Refusal(
            "REMOTE_CHANGED",
            f"{remote.name} was {remote.url} and is {now}",
            hint="put it back, or start the loop again if you changed it",
        )


def seen_at(remote: Remote, ref: str) -> str | None:
    """Return the SHA that a reference has on the remote now; raises RemoteError when it cannot be asked."""
    asked = git(remote.repository.path, "ls-remote", "--quiet", remote.url, ref, call=remote.call)
    if asked.exit_code != 0:
        raise unreachable(remote, asked.error)
    rows = (line.split("\t") for line in asked.text.splitlines())
    return next((row[0] for row in rows if len(row) == 2 and row[1] == ref and SHA.fullmatch(row[0])), None)


def fetch_tip(remote: Remote, branch: str) -> str:
    """Fetch a branch of the remote into a reference of the loop's own, and return where it is."""
    kept = f"{SEEN_REFS}{branch}"
    flags = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
    got = git(remote.repository.path, "fetch", *flags, remote.url, f"+{HEADS}{branch}:{kept}", call=remote.call)
    if got.exit_code != 0:
        raise unreachable(remote, got.error)
    return require_commit(remote.repository.path, kept)


def push(remote: Remote, *wanted: RefPush) -> Push:
    """Push commits, all or none, without force: what the remote has and they do not contain stays.

    What came of it is asked of the remote afterwards, whatever the word is.
    """
    specs = [f"{one.sha}:{one.ref}" for one in wanted]
    atomic = ("--atomic",) if len(specs) > 1 else ()
    pushed = git(remote.repository.path, "push", *PLAIN_PUSH, *atomic, remote.url, *specs, call=remote.call)
    if pushed.exit_code == 0:
        return Push(PushWord.THERE)
    rejected = [line.split("\t")[-1] for line in pushed.text.splitlines() if line.startswith("!")]
    if not rejected:
        return Push(PushWord.UNKNOWN, unreachable(remote, pushed.error).message)
    said = "; ".join((*rejected, *remote_words(pushed.error)))
    behind = any(word in line for line in rejected for word in BEHIND_WORDS)
    return Push(PushWord.BEHIND if behind else PushWord.REFUSED, said)


def remote_words(error: str) -> tuple[str, ...]:
    """Return what the remote itself said in an error output."""
    lines = (line.removeprefix("remote:").strip() for line in error.splitlines() if line.startswith("remote:"))
    return tuple(line for line in lines if line)[-5:]


def unreachable(remote: Remote, error: str) -> RemoteError:
    """Build the fault of a remote that did not answer."""
    lines = error.strip().splitlines() or ["it said nothing"]
    cause = "; ".join(line.strip() for line in lines if line.startswith(CAUSES)) or lines[-1]
    return RemoteError(
        "REMOTE_AWAY",
        f"{remote.name} could not be asked: {cause[:300]}",
        hint="look at the network and at your credentials for it; the loop tries again",
    )


def unpublished(repository: Repository, sha: str, tip: str) -> int:
    """Count the operator's own commits below one that a remote's tip lacks: on the branch here, not on the remote's."""
    base = git(repository.path, "merge-base", sha, repository.integration_ref, call=ANY_FAILURE)
    if base.exit_code != 0 or is_ancestor(repository.path, base.text, tip):
        return 0
    return commits_between(repository.path, tip, base.text)
