"""How verified work is landed with git, the way that is asked for, and how the branch is looked at afterwards."""

import threading
from dataclasses import dataclass, replace

from workloop.domain.campaign import Landing as LandingWay
from workloop.domain.checks import CheckOutcome, CheckResult, JudgeReason
from workloop.domain.standins import LIFTED
from workloop.driver.gittrees import GitTrees
from workloop.driver.workshop import CheckOrder, Landed, LandingWord, LandOrder
from workloop.runner.checks import CheckPlan, judging, run_checks
from workloop.runner.gitfacts import changes_of, commit_of, is_ancestor, require_commit
from workloop.runner.landing import (
    NO_WAYS,
    GuardVerdict,
    Landing,
    LandingOrder,
    LandingOutcome,
    LandingPolicy,
    Ways,
    land,
)
from workloop.runner.landing.push import catch_up
from workloop.runner.lineage import base_of, branches_of, new_branch
from workloop.runner.remote import fetch_tip, require_same
from workloop.runner.repository import integration_tip, repository_lock

REFUSED = frozenset(
    {LandingOutcome.CONFLICT, LandingOutcome.GUARDS_NOT_GREEN, LandingOutcome.PR_RED, LandingOutcome.WITHHELD}
)


@dataclass(frozen=True, slots=True)
class GitLandings(GitTrees):
    """Landing from one git repository; `ways` are those that lead out of it."""

    ways: Ways = NO_WAYS

    def land(self, order: LandOrder, stop: threading.Event) -> Landed:
        """Bring a verified commit to the integration branch, the way that is asked for."""
        branches = branches_of(self.repository, order.item_id)
        branch = branches[0] if branches else new_branch(order.item_id, order.title)
        wanted = LandingOrder(
            item_id=order.item_id,
            attempt=order.attempt,
            sha=order.sha,
            title=order.title,
            now=order.now,
            policy=LandingPolicy(order.landing.value),
            branch=branch,
            stands=order.stands,
        )
        return landed(land(self.repository, wanted, lambda merge: self.guarded(order, merge, stop), self.ways), branch)

    def guarded(self, order: LandOrder, merge: str, stop: threading.Event) -> GuardVerdict:
        """Run the guards on a merge; only a check that failed makes it red, and only passed ones make it green."""
        if not order.guards:
            return GuardVerdict(green=True, reason="the contract names no guards")
        check = CheckOrder(
            run=f"landing-{order.item_id}-{merge[:12]}",
            root_id=order.item_id,
            item_id=order.item_id,
            sha=merge,
            now=order.now,
            checks=order.guards,
            protected=order.protected,
            environment=order.environment,
            enclosure=order.enclosure,
            rooms=order.rooms,
            overlay=order.overlay,
        )
        # What it was merged into judges it: the files of the merge itself are the candidate's as well.
        report = run_checks(
            self.repository, plan_of(check, require_commit(self.repository.path, f"{merge}^1")), stop=stop
        )
        if report.violations:
            return GuardVerdict(green=False, reason=f"the merge changes what judges it: {', '.join(report.violations)}")
        results = report.results
        bad = [result.check_id for result in results if not result.green]
        red = any(not one.green and one.outcome_on_candidate is CheckOutcome.FAILED for one in results)
        whole = not bad and len(results) == len(order.guards)
        return GuardVerdict(green=whole, reason=", ".join(bad) or "all guards passed", unclear=not red)

    def arrived(self, landing: LandingWay) -> str:
        """Return where the integration branch is now, the remote's where work lands there."""
        if not landing.remote or self.ways.remote is None:
            return integration_tip(self.repository)
        require_same(self.ways.remote)
        with repository_lock(self.repository, "landing", seconds=0.0):
            tip = fetch_tip(self.ways.remote, self.repository.integration_branch)
            catch_up(self.ways.remote)
        return tip

    def missing(self, tip: str, commits: tuple[str, ...]) -> str:
        """Say that a tip of the integration branch contains none of the commits; nothing when it has one."""
        path = self.repository.path
        known = [sha for sha in commits if commit_of(path, sha) == sha]
        if any(is_ancestor(path, sha, tip) for sha in known):
            return ""
        return f"no longer contained in {self.repository.integration_branch}"

    def recheck(self, order: CheckOrder, base: str, stop: threading.Event) -> tuple[CheckResult, ...]:
        """Run checks on a commit of the integration branch, against one that was green there.

        One that passes there, but not with the files that judge it as they were before the item, is not green.
        """
        lifts = tuple(pattern for pattern in order.protected if pattern.startswith(LIFTED))
        seen = run_checks(self.repository, plan_of(replace(order, protected=lifts), base), stop=stop).results
        first = plan_of(order, base_of(self.repository, order.root_id, order.sha))
        plan = replace(first, run=f"{order.run}-judged", laid_over=True)
        changed = changes_of(self.repository.path, plan.base_sha, plan.candidate_sha)
        if not seen or not all(one.green for one in seen) or not judging(self.repository, plan, changed):
            return seen
        judged = run_checks(self.repository, plan, stop=stop).results
        return tuple(held_to_first(*pair) for pair in zip(seen, judged, strict=False))


def held_to_first(now: CheckResult, judged: CheckResult) -> CheckResult:
    """Return what a check shows now, unless it is green only by files that came later: then it shows nothing."""
    if judged.green:
        return now
    return replace(
        judged, outcome_on_candidate=CheckOutcome.ERROR, green=False, reason=JudgeReason.GREEN_BY_LATER_FILES
    )


def plan_of(order: CheckOrder, base: str) -> CheckPlan:
    """Return the plan of one round of checks against a base."""
    return CheckPlan(
        run=order.run,
        item_id=order.item_id,
        base_sha=base,
        candidate_sha=order.sha,
        checks=order.checks,
        now=order.now,
        protected=order.protected,
        overlay_dir=order.overlay,
        environment=order.environment,
        enclosure=order.enclosure,
        rooms=order.rooms,
    )


def landed(landing: Landing, branch: str) -> Landed:
    """Return what a landing means for the item."""
    submitted = f"{branch}@{landing.submitted}" if landing.submitted else ""
    outcome, reason = landing.outcome.value, ", ".join(landing.files) or landing.reason
    if landing.contained:
        sha = landing.merge_sha or landing.sha
        return Landed(word=LandingWord.LANDED, outcome=outcome, sha=sha, reason=reason, submitted=submitted)
    word = LandingWord.REFUSED if landing.outcome in REFUSED else LandingWord.LATER
    return Landed(word=word, outcome=outcome, sha=landing.sha, reason=reason, submitted=submitted)
