"""What one round of checks is asked and what it answers."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.domain.checks import Check, CheckResult, RerunPolicy
from workloop.domain.clock import Instant
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """What to check; run names this round of checks and must be new, overlay_dir holds the operator's own tests.

    Every run has an empty HOME of its own unless one is given. With a mutation, a command that is run in each checkout
    before the check, one can see whether the check notices. With `laid_over` a candidate that changed what judges it is
    not refused: the base's takes the place of all of it.
    """

    run: str
    item_id: str
    base_sha: str
    candidate_sha: str
    checks: tuple[Check, ...]
    now: Instant
    protected: tuple[str, ...] = ()
    overlay_dir: Path | None = None
    allowed_variables: tuple[str, ...] = ()
    home: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    enclosure: Enclosure = BARE
    rooms: Rooms = field(default_factory=Rooms)
    reruns: RerunPolicy = field(default_factory=RerunPolicy)
    mutation: str = ""
    laid_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The receipts, in the contract's order; with violations nothing was run."""

    results: tuple[CheckResult, ...]
    violations: tuple[str, ...] = ()

    @property
    def green(self) -> bool:
        """Say whether something was checked and all of it is green; nothing examined is not green."""
        return bool(self.results) and not self.violations and all(result.green for result in self.results)
