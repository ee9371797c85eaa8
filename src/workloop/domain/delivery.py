"""How far a result has come in the world outside the queue: four statements, none of them true before it was seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from workloop.domain.campaign import Landing
from workloop.domain.checks import CheckKind
from workloop.domain.clock import Instant
from workloop.domain.contract import Contract
from workloop.domain.item import Item, State, Verification
from workloop.domain.question import Fact, FactKind
from workloop.domain.verdict import Outcome, Verdict

MENDED_MAX = 3
GONE = "it had landed, and the branch no longer contains it"
AFTER = "\n\nThis is the item whose work they guard:\n\n"


class Known(StrEnum):
    """Whether a statement holds; unknown is never taken for yes."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One of the four statements: whether it holds, since when, by whose look, and what shows it or is missing."""

    name: str
    known: Known
    ref: str = ""
    at: Instant | None = None
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the queue knows of one root item's delivery."""

    item: Item
    contract: Contract
    facts: Sequence[Fact]
    verdicts: Sequence[Verdict]
    landing: Landing

    def newest(self, *kinds: FactKind) -> Fact | None:
        """Return the newest fact of some kinds."""
        return next((fact for fact in reversed(self.facts) if fact.kind in kinds), None)


def delivery_of(record: Record) -> tuple[Statement, Statement, Statement, Statement]:
    """State how far an item's result has come: submitted, verified, landed, still green."""
    return submitted(record), verified(record), landed(record), still_green(record)


def stated(name: str, known: Known, fact: Fact, reason: str = "") -> Statement:
    """Return a statement that a fact carries."""
    return Statement(name=name, known=known, ref=fact.ref, at=fact.at, by=fact.by, reason=reason)


def unknown(name: str, reason: str) -> Statement:
    """Return a statement that nobody can make yet."""
    return Statement(name=name, known=Known.UNKNOWN, reason=reason)


def submitted(record: Record) -> Statement:
    """State whether the result itself was seen on the remote."""
    name, sha = FactKind.SUBMITTED.value, record.item.candidate_sha
    if sha is None:
        return unknown(name, "there is no result yet")
    fact = record.newest(FactKind.SUBMITTED)
    if fact is not None and fact.ref.endswith(sha):
        return stated(name, Known.YES, fact)
    if not record.landing.remote:
        return unknown(name, f"landing is {record.landing}, so no remote is looked at")
    landing = record.newest(FactKind.LANDED)
    if landing is not None:
        return stated(name, Known.YES, landing, "the integration branch of the remote contains it")
    return unknown(name, f"the remote has not been seen to have {sha}")


def verified(record: Record) -> Statement:
    """State what the verdict on the newest result was."""
    name, sha = FactKind.VERIFIED.value, record.item.candidate_sha
    if record.item.verification is Verification.NONE:
        return unknown(name, "the contract asks for no verification")
    mine = [verdict for verdict in record.verdicts if verdict.ref == sha]
    if not mine:
        return unknown(name, "there is no result yet" if sha is None else f"there is no verdict on {sha} yet")
    verdict = mine[-1]
    known = {Outcome.PASSED: Known.YES, Outcome.REJECTED: Known.NO}.get(verdict.outcome, Known.UNKNOWN)
    reason = "" if known is Known.YES else f"{verdict.outcome}: {', '.join(verdict.failed_checks) or 'see the verdict'}"
    return Statement(name=name, known=known, ref=verdict.ref, at=verdict.at, by=verdict.executor, reason=reason)


def landed(record: Record) -> Statement:
    """State whether the integration branch was seen to contain the result."""
    name = FactKind.LANDED.value
    fact = record.newest(FactKind.LANDED, FactKind.LANDING_REFUSED)
    if fact is not None:
        yes = fact.kind is FactKind.LANDED
        gone = GONE if record.newest(FactKind.LANDED) is not None else "it was refused for good"
        return stated(name, Known.YES if yes else Known.NO, fact, "" if yes else gone)
    if record.landing is Landing.NONE:
        return unknown(name, "landing is none: whoever merges it does so unseen")
    if record.item.state is not State.SUCCEEDED:
        return unknown(name, "it lands after its verdict")
    return unknown(name, "it waits to land")


def still_green(record: Record) -> Statement:
    """State what the guards said when the integration branch was last looked at after the landing."""
    name = FactKind.STILL_GREEN.value
    if record.newest(FactKind.LANDED) is None:
        return unknown(name, "it has not landed")
    if landed(record).known is not Known.YES:
        return unknown(name, GONE)
    fact = record.newest(FactKind.STILL_GREEN, FactKind.RED_AFTER_LANDING)
    if fact is None:
        guarded = any(check.kind is CheckKind.GUARDS for check in record.contract.checks)
        reason = "the branch has not moved, or been looked at, since" if guarded else "its contract names no guards"
        return unknown(name, reason)
    green = fact.kind is FactKind.STILL_GREEN
    return stated(name, Known.YES if green else Known.NO, fact, "" if green else "a repair is made for it")


def mended(key: str, contract: Contract, broken: Sequence[str], tip: str) -> Contract:
    """Return the contract of a repair after landing: what is red must be shown red and become green, all else holds."""
    names = ", ".join(broken)
    checks = tuple(
        replace(check, kind=CheckKind.PROVES, red_on_base=True)
        if check.id in broken
        else replace(check, kind=CheckKind.GUARDS)
        for check in contract.checks
    )
    objective = f"Since {key} landed, these checks went red on the integration branch at {tip}: {names}.\n"
    objective += f"Find out why, and make them pass again without taking anything else back.{AFTER}"
    original = contract.objective or contract.title
    title = f"Make {names} pass again"
    return replace(contract, title=title[:200], objective=objective + original.rpartition(AFTER)[2], checks=checks)


def repairs_above(key: str) -> int:
    """Count how many repairs after landing an item's own key comes from."""
    return key.count("~g")
