"""How the host talks to a remote repository: no prompts, no force, bounded time, and what it sent is read back."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workloop.runner.git import ANY_FAILURE, GitCall, GitOutput, git

REMOTE_SECONDS = 120.0
CARRIED = ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY")
SSH = "ssh -oBatchMode=yes -oConnectTimeout=10"
QUIET = {"GIT_ASKPASS": "true", "SSH_ASKPASS": "true", "GCM_INTERACTIVE": "never"}
PLAIN_PUSH = ("push.recurseSubmodules=no", "push.followTags=false", "push.gpgSign=false")
OLDER_HTTP = ("http.version=HTTP/1.1", "http.postBuffer=157286400")
REASON_CHARACTERS_MAX = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Where a reference of a remote stands; `known` is false when the remote gave no answer, and `reason` says why."""

    known: bool
    sha: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """Whether a commit was sent and seen on the remote afterwards; `reason` is the remote's or git's own word."""

    done: bool
    reason: str = ""


def remote_environment(cwd: Path) -> Mapping[str, str]:
    """Return what git is given to reach a remote: the operator's own ways in, and nobody to ask."""
    found = {name: os.environ[name] for name in CARRIED if os.environ.get(name)}
    if "GIT_SSH_COMMAND" not in found and not git(cwd, "config", "core.sshCommand", call=ANY_FAILURE).text:
        found["GIT_SSH_COMMAND"] = SSH
    return {**QUIET, **found}


def seen_on(cwd: Path, remote: str, ref: str) -> Seen:
    """Ask a remote where a full reference stands."""
    answer = remote_git(cwd, "ls-remote", "--refs", "--", remote, ref)
    if answer.exit_code != 0:
        return Seen(known=False, reason=reason_of(answer))
    found = [line.partition("\t") for line in answer.text.splitlines()]
    return Seen(known=True, sha=next((sha for sha, _, name in found if name == ref), None))


def push_to(cwd: Path, remote: str, sha: str, ref: str) -> Pushed:
    """Send a commit to a full reference, which must not be moved back by it; only what is read back counts."""
    answer = push_once(cwd, remote, sha, ref)
    if answer.exit_code != 0 and "RPC failed" in answer.error and "curl 22" in answer.error:
        answer = push_once(cwd, remote, sha, ref, OLDER_HTTP)
    seen = seen_on(cwd, remote, ref)
    if seen.known and seen.sha == sha:
        return Pushed(done=True)
    if answer.exit_code != 0:
        return Pushed(done=False, reason=reason_of(answer))
    return Pushed(done=False, reason=seen.reason or f"{ref} is at {seen.sha or 'nothing'} afterwards")


def push_once(cwd: Path, remote: str, sha: str, ref: str, also: tuple[str, ...] = ()) -> GitOutput:
    """Push plainly, whatever the configuration would add to it."""
    settings = (*PLAIN_PUSH, f"remote.{remote}.mirror=false", *also)
    return remote_git(cwd, "push", "--porcelain", "--no-verify", "--", remote, f"{sha}:{ref}", settings=settings)


def remote_git(cwd: Path, *words: str, settings: tuple[str, ...] = ()) -> GitOutput:
    """Run git against a remote, with settings that outrank the configured ones; its failure is an answer."""
    counted = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, setting in enumerate(settings):
        key, _, value = setting.partition("=")
        counted |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    environment = {**remote_environment(cwd), **counted}
    return git(cwd, *words, call=GitCall(accept=(0, 1, 128), env=environment, timeout_seconds=REMOTE_SECONDS))


def reason_of(answer: GitOutput) -> str:
    """Return the line that says why a remote's answer is a failure."""
    lines = [*answer.text.splitlines(), *answer.error.splitlines()]
    refused = [line for line in lines if line.startswith("!")]
    said = [line for line in lines if line.startswith(("fatal:", "error:", "remote:")) and line != "remote:"]
    return " ".join(" ".join((*refused, *said) or lines or ("no answer",)).split())[:REASON_CHARACTERS_MAX]
