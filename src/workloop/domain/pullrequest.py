"""What a pull request must show before it counts: open at the verified commit, mergeable, with checks that passed."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json, JsonObject, Reader

NAMED_MAX = 5


class RunWord(StrEnum):
    """How one check of a pull request stands; what is not known counts as pending."""

    PASSED = "passed"
    FAILED = "failed"
    PENDING = "pending"
    SKIPPED = "skipped"


CONCLUSIONS = {
    "SUCCESS": RunWord.PASSED,
    "NEUTRAL": RunWord.SKIPPED,
    "SKIPPED": RunWord.SKIPPED,
    "FAILURE": RunWord.FAILED,
    "CANCELLED": RunWord.FAILED,
    "TIMED_OUT": RunWord.FAILED,
    "ACTION_REQUIRED": RunWord.FAILED,
    "STARTUP_FAILURE": RunWord.FAILED,
    "STALE": RunWord.FAILED,
    "ERROR": RunWord.FAILED,
}


class Run(NamedTuple):
    """One check of a pull request."""

    name: str
    word: RunWord


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request as it was last seen."""

    number: int
    url: str
    state: str
    head_sha: str
    base: str
    mergeable: str = ""
    merge_state: str = ""
    draft: bool = False
    merge_sha: str = ""
    runs: tuple[Run, ...] = ()


class PrWord(StrEnum):
    """What a pull request means for the item."""

    READY = "ready"
    WAITS = "waits"
    RED = "red"
    CONFLICT = "conflict"
    MERGED = "merged"
    CLOSED = "closed"
    ELSEWHERE = "elsewhere"


class PrVerdict(NamedTuple):
    """What a pull request means, and why; whatever is not known makes it wait."""

    word: PrWord
    reason: str


def read_pull_request(value: Json) -> PullRequest:
    """Read what the command says of a pull request; raises BadRequest when it cannot be read."""
    reader = Reader(value, "pull request")
    merge = reader.take("mergeCommit")
    return PullRequest(
        number=reader.whole("number", default=0, lowest=1, highest=2**53),
        url=reader.text("url"),
        state=reader.text("state", required=True),
        head_sha=reader.text("headRefOid", required=True),
        base=reader.text("baseRefName", required=True),
        mergeable=reader.text("mergeable"),
        merge_state=reader.text("mergeStateStatus"),
        draft=reader.flag("isDraft"),
        merge_sha=Reader(merge, "mergeCommit").text("oid") if merge is not None else "",
        runs=tuple(read_run(run, path) for path, run in reader.entries("statusCheckRollup")),
    )


def read_run(value: Json, path: str) -> Run:
    """Read one check: a run with a conclusion, or a status that another system reported."""
    reader = Reader(value, path)
    name = reader.text("name") or reader.text("context")
    if not name:
        raise BadRequest("BAD_REQUEST", f"{path} has no name", hint="update the command that tells of pull requests")
    if reader.values.get("state") is not None:
        return Run(name, CONCLUSIONS.get(reader.text("state"), RunWord.PENDING))
    done = reader.text("status") == "COMPLETED"
    return Run(name, CONCLUSIONS.get(reader.text("conclusion"), RunWord.PENDING) if done else RunWord.PENDING)


def read_pull_requests(value: Json) -> tuple[PullRequest, ...]:
    """Read a list of pull requests; what is no list is not the absence of them."""
    if not isinstance(value, list):
        raise BadRequest("BAD_REQUEST", "expected a list of pull requests", hint="look at what the command prints")
    wrapped: JsonObject = {"list": value}
    return tuple(read_pull_request(one) for _, one in Reader(wrapped).entries("list"))


def judge_pull_request(pr: PullRequest, sha: str, base: str, *, unchecked: bool) -> PrVerdict:
    """Say what a pull request means; with `unchecked`, one without any check may be merged all the same."""
    if pr.state == "MERGED":
        return PrVerdict(PrWord.MERGED, f"merged as {pr.merge_sha or 'nothing that is told'}")
    if pr.state != "OPEN":
        return PrVerdict(PrWord.CLOSED, f"{pr.url} was closed without being merged: reopen it, or cancel the item")
    if pr.head_sha != sha or pr.base != base:
        said = f"{pr.url} is from {pr.head_sha} into {pr.base}, not from the verified {sha} into {base}"
        return PrVerdict(PrWord.ELSEWHERE, said)
    if pr.mergeable == "CONFLICTING" or pr.merge_state == "DIRTY":
        return PrVerdict(PrWord.CONFLICT, f"{pr.url} conflicts with {base}, so no check can run on it")
    return judge_runs(pr, unchecked=unchecked)


def judge_runs(pr: PullRequest, *, unchecked: bool) -> PrVerdict:
    """Judge by the checks: none at all is no pass, one that runs makes it wait, one that failed makes it red."""
    pending, failed = named(pr, RunWord.PENDING), named(pr, RunWord.FAILED)
    if pending:
        return PrVerdict(PrWord.WAITS, f"{pr.url} waits for its checks: {pending}")
    if failed:
        return PrVerdict(PrWord.RED, f"checks of {pr.url} failed: {failed}")
    if not named(pr, RunWord.PASSED) and not unchecked:
        skipped = named(pr, RunWord.SKIPPED)
        said = f"only skipped checks: {skipped}" if skipped else "no checks"
        return PrVerdict(PrWord.WAITS, f"{pr.url} has {said}, and silence is no pass")
    if pr.mergeable != "MERGEABLE":
        return PrVerdict(PrWord.WAITS, f"whether {pr.url} can be merged is not known yet")
    if pr.draft:
        return PrVerdict(PrWord.WAITS, f"{pr.url} is a draft")
    skipped = named(pr, RunWord.SKIPPED)
    return PrVerdict(PrWord.READY, f"{pr.url} can be merged" + (f"; skipped: {skipped}" if skipped else ""))


def named(pr: PullRequest, word: RunWord) -> str:
    """Name the checks of a pull request that stand like this."""
    names = [run.name for run in pr.runs if run.word is word]
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more
