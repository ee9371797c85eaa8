"""How an installed version of an agent program stands to the tested ones, and what a policy makes of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.versions import VersionPolicy

NUMBER = re.compile(r"(?<![\w.])v?(\d{1,6}(?:\.\d{1,6}){1,3})(?:[-+][0-9A-Za-z.+-]{1,40})?")
MINOR_PARTS = 2


class VersionStanding(StrEnum):
    """How an installed version stands to the tested ones; unjudged is a program without any."""

    TESTED = "tested"
    NEAR = "near"
    UNTESTED = "untested"
    UNKNOWN = "unknown"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionVerdict:
    """The installed version, how it stands, and a sentence that says so."""

    version: str
    standing: VersionStanding
    sentence: str

    def allows(self, policy: VersionPolicy) -> bool:
        """Say whether sessions may be started."""
        doubtful = self.standing in {VersionStanding.UNTESTED, VersionStanding.UNKNOWN}
        return policy != VersionPolicy.REFUSE or not doubtful

    def warns(self, policy: VersionPolicy) -> bool:
        """Say whether a person should hear of it."""
        told = {VersionStanding.NEAR, VersionStanding.UNTESTED, VersionStanding.UNKNOWN}
        return policy != VersionPolicy.ALLOW and self.standing in told


def version_in(printed: str) -> str:
    """Return the version in what a program printed or a session reported; empty when there is none."""
    found = NUMBER.search(printed)
    return found[0].removeprefix("v") if found else ""


def judge_version(name: str, printed: str, tested: Sequence[str]) -> VersionVerdict:
    """Judge an installed version, as printed, against the tested ones of its harness."""
    version = version_in(printed)
    standing = standing_of(version, tested)
    known = ", ".join(tested)
    sentence = {
        VersionStanding.TESTED: f"{name} {version} is a tested version",
        VersionStanding.NEAR: f"{name} {version} is close to a tested version ({known})",
        VersionStanding.UNTESTED: f"{name} {version} was never tested; tested are {known}",
        VersionStanding.UNKNOWN: f"{name} does not say its version; tested are {known}",
        VersionStanding.UNJUDGED: f"{name} is a program of your own: no version of it is tested",
    }[standing]
    return VersionVerdict(version=version, standing=standing, sentence=sentence)


def standing_of(version: str, tested: Sequence[str]) -> VersionStanding:
    """Compare by the numbers: the same, the same major and minor, or neither."""
    if not tested:
        return VersionStanding.UNJUDGED
    if not version:
        return VersionStanding.UNKNOWN
    if version in tested:
        return VersionStanding.TESTED
    minors = {numbers(one)[:MINOR_PARTS] for one in tested}
    return VersionStanding.NEAR if numbers(version)[:MINOR_PARTS] in minors else VersionStanding.UNTESTED


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, what follows them left out."""
    found = NUMBER.search(version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()
