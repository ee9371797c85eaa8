"""How the operator's own command finds, opens and merges pull requests; what it says is read strictly."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from workloop.domain.errors import BadRequest, Fault
from workloop.domain.pullrequest import PullRequest, read_pull_requests
from workloop.runner.repository import Repository

COMMAND_SECONDS = 60.0
OUTPUT_BYTES_MAX = 8 * 1024 * 1024
ERROR_BYTES_MAX = 2_000


class PullRequestFault(Fault):
    """The command for pull requests failed or could not be understood, so nothing is known."""

    kind = "pull-request"
    retryable_by_default = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequests:
    """The pull requests of one repository, through commands whose words in braces are filled in."""

    find: tuple[str, ...]
    open: tuple[str, ...]
    merge: tuple[str, ...]
    auto_merge: bool = False
    allow_unchecked: bool = False
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def of(self, repository: Repository, branch: str, sha: str) -> PullRequest | None:
        """Return a branch's pull request: the open one, else the newest, one at the commit before all others."""
        base = repository.integration_branch
        said = self.run(repository, self.find, {"branch": branch, "base": base, "sha": sha})
        try:
            found = read_pull_requests(json.loads(said))
        except (ValueError, BadRequest) as odd:
            raise PullRequestFault("PR_UNREADABLE", f"{self.find[0]} answered what cannot be read: {odd}") from odd
        ranked = sorted(found, key=lambda one: (one.head_sha == sha, one.state == "OPEN", one.number))
        return ranked[-1] if ranked else None

    def run(self, repository: Repository, words: tuple[str, ...], facts: Mapping[str, str]) -> str:
        """Run one of the commands in the operator's repository and return what it printed."""
        argv = [filled(word, facts) for word in words]
        said = ran(argv, repository.path, self.environment)
        if said.exit_code != 0:
            how = "took too long" if said.exit_code is None else f"ended with {said.exit_code}"
            last = said.error.strip()[-300:] or "it said nothing"
            raise PullRequestFault("PR_COMMAND_FAILED", f"{argv[0]} {how}: {last}", hint="try it by hand in the repo")
        return said.output


class Said(NamedTuple):
    """What a command printed, and its exit code: None when it was ended at its limit."""

    exit_code: int | None
    output: str
    error: str


def ran(argv: list[str], cwd: Path, environment: Mapping[str, str]) -> Said:
    """Run a command to its end or its limit, what it prints apart from what it complains of."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as missing:
            return Said(127, "", str(missing))
        try:
            code: int | None = process.wait(COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        out.seek(0)
        err.seek(max(0, err.seek(0, os.SEEK_END) - ERROR_BYTES_MAX))
        printed = out.read(OUTPUT_BYTES_MAX).decode("utf-8", "replace")
        return Said(code, printed, err.read().decode("utf-8", "replace"))


def filled(word: str, facts: Mapping[str, str]) -> str:
    """Fill in the words in braces of one argument, each once; what was filled in is not read again."""
    parts: list[str] = []
    rest = word
    while rest:
        places = [(rest.find(f"{{{name}}}"), name) for name in facts]
        at, name = min(((at, name) for at, name in places if at >= 0), default=(-1, ""))
        if at < 0:
            break
        parts += [rest[:at], facts[name]]
        rest = rest[at + len(name) + 2 :]
    return "".join([*parts, rest])
