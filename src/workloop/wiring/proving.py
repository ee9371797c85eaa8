"""How an item's checks are shown to be able to fail, before a session is spent on it."""

import threading
import uuid
from dataclasses import replace
from typing import Any

from workloop.config import Settings
from workloop.domain.checks import Check, CheckResult
from workloop.domain.contract import Contract
from workloop.domain.errors import NotFound
from workloop.domain.ids import id_text
from workloop.runner.checks import CheckPlan, run_checks
from workloop.runner.checks.proof import Showing, show_checks
from workloop.runner.gitfacts import require_commit
from workloop.runner.lineage import base_of
from workloop.runner.repository import Repository, integration_tip, open_repository
from workloop.service.call import contract_of, require_campaign, require_item
from workloop.wiring import make_project, open_queue

TAIL_CHARACTERS = 1500


def prove(settings: Settings, key: str, *, only: tuple[str, ...], commit: str, mutate: str) -> dict[str, Any]:
    """Run an item's checks on its base, on a spoilt base, and on a commit where one is given; changes nothing."""
    queue = open_queue(settings)
    try:
        project = make_project(settings, queue, lambda kind, facts: None, "host")
        with queue.store.read() as tx:
            item = require_item(tx, require_campaign(tx, queue.slug), key)
            contract = contract_of(tx, item)
    finally:
        queue.store.close()
    repository = open_repository(
        settings.place.repository, settings.place.folder / "git", settings.loop.integration_branch or None
    )
    root = item.lineage
    base = base_of(repository, id_text(root), require_commit(repository.path, commit or integration_tip(repository)))
    plan = CheckPlan(
        run=f"prove-{uuid.UUID(int=project.ids.bits(128), version=4).hex[:12]}",
        item_id=id_text(item.id),
        base_sha=base,
        candidate_sha=require_commit(repository.path, commit) if commit else base,
        checks=chosen(contract, key, only),
        now=project.now(),
        protected=contract.protected,
        overlay_dir=project.check_overlay,
        environment=project.check_environment,
        enclosure=project.check_walls.enclosure,
        rooms=project.check_walls.rooms,
        mutation=mutate,
    )
    return answer(repository, plan, key, with_commit=bool(commit))


def chosen(contract: Contract, key: str, only: tuple[str, ...]) -> tuple[Check, ...]:
    """Return the checks that are wanted; raises NotFound for one that the contract does not have."""
    known = {check.id: check for check in contract.checks}
    for name in only:
        if name not in known:
            raise NotFound("CHECK_UNKNOWN", f"{key} has no check {name}", hint=f"one of: {', '.join(known) or 'none'}")
    return tuple(check for check in contract.checks if not only or check.id in only)


def answer(repository: Repository, plan: CheckPlan, key: str, *, with_commit: bool) -> dict[str, Any]:
    """Run what is asked for and say what was seen."""
    halt = threading.Event()
    shown = [row_of(one) for one in show_checks(repository, plan, stop=halt)]
    facts: dict[str, Any] = {"key": key, "base": plan.base_sha, "sandbox": plan.enclosure.name, "checks": shown}
    facts["ready"] = bool(shown) and not any(row["problem"] for row in shown)
    if with_commit:
        report = run_checks(repository, unspoilt(plan), stop=halt)
        facts["commit"] = plan.candidate_sha
        facts["violations"] = list(report.violations)
        facts["results"] = [result_of(result) for result in report.results]
        facts["green"] = report.green
    return facts


def unspoilt(plan: CheckPlan) -> CheckPlan:
    """Return the plan that judges a commit as the loop would."""
    return replace(plan, mutation="", run=f"{plan.run}-commit")


def row_of(one: Showing) -> dict[str, Any]:
    """Write what was seen of one check."""
    return {
        "check": one.check.id,
        "kind": one.check.kind.value,
        "on_base": one.base.outcome.value,
        "runs": one.base.runs,
        "exit_code": one.base.end.exit_code,
        "seconds": round(one.base.end.duration_us / 1_000_000, 3),
        "control": one.control and one.control.value,
        "spoilt": one.mutated and one.mutated.value,
        "seen_red": one.seen_red,
        "problem": one.problem,
        "output": one.base.end.output_tail[-TAIL_CHARACTERS:],
        "spoilt_output": one.spoilt and one.spoilt.end.output_tail[-TAIL_CHARACTERS:],
        "log": str(one.base.log_path),
    }


def result_of(result: CheckResult) -> dict[str, Any]:
    """Write how a check judged the commit."""
    return {
        "check": result.check_id,
        "outcome": result.outcome_on_candidate.value,
        "green": result.green,
        "reason": result.reason.value,
        "log": result.log_path,
    }
