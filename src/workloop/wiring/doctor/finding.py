"""What one look of the doctor says: how it stands, why, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from workloop.config import Settings, TargetSettings
from workloop.domain.errors import WorkloopError


class Level(StrEnum):
    """How a thing stands: fine, doubtful, or such that the loop would make no progress; skipped when nobody can say.

    What is skipped leaves nothing to be done, and proves nothing either.
    """

    FINE = "PASS"
    SKIPPED = "SKIP"
    DOUBTFUL = "WARN"
    BROKEN = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One look: what was looked at, how it stands, what was seen, and a remedy where it is not fine."""

    check: str
    level: Level
    detail: str
    remedy: str = ""

    def __post_init__(self) -> None:
        bare = self.level in (Level.FINE, Level.SKIPPED)
        assert bare == (not self.remedy), f"{self.check}: a remedy belongs to what is not fine"


def fine(check: str, detail: str) -> Finding:
    """Return that a thing is as it should be."""
    return Finding(check=check, level=Level.FINE, detail=detail)


def skipped(check: str, detail: str) -> Finding:
    """Return that a thing was not looked at, or that nothing can be known of it."""
    return Finding(check=check, level=Level.SKIPPED, detail=detail)


def doubtful(check: str, detail: str, remedy: str) -> Finding:
    """Return that a thing is unknown, or may surprise."""
    return Finding(check=check, level=Level.DOUBTFUL, detail=detail, remedy=remedy)


def broken(check: str, detail: str, remedy: str) -> Finding:
    """Return that the loop would make no progress."""
    return Finding(check=check, level=Level.BROKEN, detail=detail, remedy=remedy)


def refused(check: str, error: WorkloopError) -> Finding:
    """Return what a refusal says, which is what the loop itself would say."""
    return broken(check, f"{error.message} [{error.code}]", error.hint or "correct it, then run doctor again")


def entry_of(settings: Settings, target: TargetSettings, name: str) -> str:
    """Return where a table or key of a project stands in the loop's settings file."""
    return name if settings.loop.work_dir is not None else f"target.{target.name}.{name}"


def worst(findings: Sequence[Finding]) -> Level:
    """Return the worst level there is."""
    levels = {finding.level for finding in findings}
    return next((level for level in (Level.BROKEN, Level.DOUBTFUL) if level in levels), Level.FINE)
