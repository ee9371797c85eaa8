"""What is remembered of checks between rounds: only what can lead to more runs, or save a second look at a red base."""

import hashlib
import json

from workloop.domain.checks import Check
from workloop.runner.checks.plan import CheckPlan
from workloop.runner.checks.tree import files
from workloop.runner.repository import Repository

MOODY = "moody-checks"
RED = "red-bases"


def is_moody(repository: Repository, check: Check) -> bool:
    """Tell whether a check once passed and failed on one commit."""
    return (repository.folder(MOODY) / _name(_facts(check))).exists()


def remember_moody(repository: Repository, check: Check) -> None:
    """Keep in mind that a check is subject to chance."""
    (repository.folder(MOODY) / _name(_facts(check))).touch()


def was_red(repository: Repository, plan: CheckPlan, check: Check) -> bool:
    """Tell whether a check has failed on this base every time in some round before, so that one more look is enough."""
    return (repository.folder(RED) / _on_base(plan, check)).exists()


def remember_red(repository: Repository, plan: CheckPlan, check: Check) -> None:
    """Keep in mind that a check failed on a base more than once and never passed."""
    (repository.folder(RED) / _on_base(plan, check)).touch()


def _on_base(plan: CheckPlan, check: Check) -> str:
    overlay = files(plan.overlay_dir) if plan.overlay_dir else ()
    laid = [[str(source), hashlib.sha256(source.read_bytes()).hexdigest()] for source in overlay]
    return _name([plan.base_sha, plan.mutation, laid, *_facts(check)])


def _facts(check: Check) -> list[object]:
    return [check.command, check.cwd, check.timeout_seconds, check.red_exit_codes]


def _name(facts: list[object]) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
