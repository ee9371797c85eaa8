"""How the host runs git: no hooks, no prompts, its own identity, bounded time and output."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from workloop.domain.errors import Fault
from workloop.runner.ending import watched

IDENTITY_NAME = "Workloop"
IDENTITY_EMAIL = "workloop@localhost"
ERROR_CHARACTERS_MAX = 4_000
OUTPUT_BYTES_MAX = 64 * 1024 * 1024
ANSWER_SECONDS = 120.0
# What goes over every file of a tree takes as long as the tree is big and the disk is slow; the rest answers or hangs.
TREE_SECONDS = 3600.0
OVER_TREES = frozenset({"add", "checkout", "diff", "merge", "read-tree", "reset", "rm", "stash", "status", "worktree"})
LOOK_SECONDS = 0.1
INHERITED = ("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR")
# A session can write the repository's own configuration, so what it could make the host run is off here.
HOST_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "rerere.enabled=false",
    "submodule.recurse=false",
    "protocol.ext.allow=never",
)


class GitError(Fault):
    """Git failed; details carry its exit code and the end of its error output."""

    kind = "git"


class RefMovedError(GitError):
    """A reference was not where it was expected, so it was left as it is."""

    kind = "ref-moved"
    retryable_by_default = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCall:
    """The settings of one run: accepted exit codes, extra environment, input and bounds.

    Without a time of its own a call has two minutes, and one that goes over a whole tree an hour.
    """

    accept: tuple[int, ...] = (0,)
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: bytes = b""
    timeout_seconds: float | None = None
    output_bytes_max: int = OUTPUT_BYTES_MAX


class GitOutput(NamedTuple):
    """What git answered."""

    exit_code: int
    raw: bytes
    error: str

    @property
    def text(self) -> str:
        """Return the output as text without its last line end."""
        return os.fsdecode(self.raw).rstrip("\n")

    @property
    def fields(self) -> list[str]:
        """Return the output split at NUL, as -z writes it."""
        return [part for part in os.fsdecode(self.raw).split("\0") if part]


PLAIN = GitCall()
YES_OR_NO = GitCall(accept=(0, 1))
ANY_FAILURE = GitCall(accept=(0, 1, 128))


def git(cwd: Path, *arguments: str, call: GitCall = PLAIN) -> GitOutput:
    """Run git in a directory; raises GitError for an exit code the call does not accept."""
    configured = [part for setting in HOST_CONFIG for part in ("-c", setting)]
    argv = ["git", *configured, "-C", str(cwd), *arguments]
    with _scratch() as out, _scratch() as err:
        exit_code = _run(argv, call, seconds_for(arguments[0], call), (out, err))
        error = _tail(err)
        raw = _bounded(out, call, arguments)
    if exit_code not in call.accept:
        raise GitError(
            "GIT_FAILED",
            f"git {arguments[0]} ended with {exit_code}: {error[-400:].strip() or 'no message'}",
            hint=_hint(error),
            exit_code=exit_code,
            stderr=error,
            arguments=list(arguments[:20]),
        )
    return GitOutput(exit_code, raw, error)


def seconds_for(verb: str, call: GitCall) -> float:
    """Return how long a call may take."""
    if call.timeout_seconds is not None:
        return call.timeout_seconds
    return TREE_SECONDS if verb in OVER_TREES else ANSWER_SECONDS


def git_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Build git's environment: a short allow-list, no prompts, no replaced objects, the host's identity."""
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_EDITOR": "true",
        "GIT_AUTHOR_NAME": IDENTITY_NAME,
        "GIT_AUTHOR_EMAIL": IDENTITY_EMAIL,
        "GIT_COMMITTER_NAME": IDENTITY_NAME,
        "GIT_COMMITTER_EMAIL": IDENTITY_EMAIL,
        **extra,
    }


def printable(path: str) -> str:
    """Return a path as clean text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def printables(paths: Sequence[str]) -> tuple[str, ...]:
    """Return paths as clean text, sorted."""
    return tuple(sorted(printable(path) for path in paths))


def _run(argv: list[str], call: GitCall, seconds: float, streams: tuple[IO[bytes], IO[bytes]]) -> int:
    out, err = streams
    with _scratch() as given:
        given.write(call.stdin)
        given.seek(0)
        process = _start(argv, call, (given, out, err))
    try:
        _wait(process.pid, call, seconds, streams)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        exit_code = process.wait()
    return exit_code


def _start(
    argv: list[str], call: GitCall, streams: tuple[IO[bytes], IO[bytes], IO[bytes]]
) -> "subprocess.Popen[bytes]":
    given, out, err = streams
    try:
        return subprocess.Popen(
            argv, stdin=given, stdout=out, stderr=err, env=git_environment(call.env), start_new_session=True
        )
    except FileNotFoundError as missing:
        raise GitError("GIT_MISSING", "git is not installed", hint="install git 2.38 or newer") from missing


def _wait(pid: int, call: GitCall, seconds: float, streams: tuple[IO[bytes], IO[bytes]]) -> None:
    """Return at the end, or when it has printed too much; raises GitError when it takes too long."""
    deadline = time.monotonic() + seconds
    with watched(pid) as ends_within:
        while not ends_within(min(LOOK_SECONDS, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                raise GitError(
                    "GIT_TIMEOUT",
                    f"git took longer than {seconds:g} seconds",
                    hint="another process may hold the repository; try again",
                    retryable=True,
                )
            if max(os.fstat(stream.fileno()).st_size for stream in streams) > call.output_bytes_max:
                return


def _scratch() -> IO[bytes]:
    """Open a file that nobody else finds, in memory where there is such a thing."""
    return os.fdopen(os.memfd_create("git"), "w+b") if hasattr(os, "memfd_create") else tempfile.TemporaryFile()


def _tail(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - ERROR_CHARACTERS_MAX))
    return stream.read().decode("utf-8", "replace")


def _bounded(stream: IO[bytes], call: GitCall, arguments: Sequence[str]) -> bytes:
    size = stream.seek(0, os.SEEK_END)
    if size > call.output_bytes_max:
        raise GitError("GIT_OUTPUT_TOO_LARGE", f"git {arguments[0]} printed {size} bytes", size=size)
    stream.seek(0)
    return stream.read()


def _hint(error: str) -> str:
    if "dubious ownership" in error:
        return "the repository belongs to another user; name it in git's safe.directory setting"
    if ".lock" in error:
        return "another git process may be running there; if none is, remove the lock file it names"
    return ""
