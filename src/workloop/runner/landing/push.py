"""How a verified commit gets onto the remote's branch: merged onto its newest tip, checked, pushed, and seen there."""

from dataclasses import dataclass

from workloop.runner.git import git
from workloop.runner.gitfacts import HEADS, is_ancestor
from workloop.runner.landing.local import advance
from workloop.runner.landing.merging import checked_merge
from workloop.runner.landing.order import Guards, Landing, LandingOrder, LandingOutcome
from workloop.runner.remote import (
    SEEN_REFS,
    PushWord,
    RefPush,
    Remote,
    RemoteError,
    fetch_tip,
    push,
    require_same,
    unpublished,
)
from workloop.runner.repository import integration_tip

TRIES = 3


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to land on a tip of the remote."""

    remote: Remote
    order: LandingOrder
    sha: str
    guards: Guards

    def ended(self, outcome: LandingOutcome, tip: str, reason: str = "", merge: str | None = None) -> Landing:
        """Return how it ended."""
        return Landing(outcome=outcome, sha=self.sha, tip_before=tip, merge_sha=merge, reason=reason)

    def run(self) -> Landing:
        """Merge onto the remote's tip as it is now, check, push, and read back what the remote has."""
        repository = self.remote.repository
        tip = fetch_tip(self.remote, repository.integration_branch)
        if is_ancestor(repository.path, self.sha, tip):
            return self.ended(LandingOutcome.ALREADY_LANDED, tip)
        private = unpushed_base(self.remote, self.sha, tip)
        if private:
            return self.ended(LandingOutcome.UNPUSHED_BASE, tip, private)
        merged = checked_merge(repository, self.order, self.sha, tip, self.guards)
        if isinstance(merged, Landing):
            return merged
        if not self.order.stands():
            return self.ended(LandingOutcome.CLAIM_LOST, tip, merge=merged)
        return self.pushed(tip, merged)

    def pushed(self, tip: str, merge: str) -> Landing:
        """Push a checked merge; what counts is what the remote shows afterwards, whatever the push said."""
        branch = self.remote.repository.integration_branch
        answer = push(self.remote, RefPush(merge, HEADS + branch))
        try:
            after = fetch_tip(self.remote, branch)
        except RemoteError as unknown:
            return self.ended(LandingOutcome.UNCONFIRMED, tip, unknown.message, merge)
        if is_ancestor(self.remote.repository.path, merge, after):
            return self.ended(LandingOutcome.LANDED, tip, merge=merge)
        outcomes = {PushWord.BEHIND: LandingOutcome.BRANCH_MOVED, PushWord.REFUSED: LandingOutcome.PUSH_REFUSED}
        outcome = outcomes.get(answer.word, LandingOutcome.UNCONFIRMED)
        return self.ended(outcome, tip, answer.said or f"{branch} does not show the push", merge)


def push_merge(remote: Remote, order: LandingOrder, sha: str, guards: Guards) -> Landing:
    """Land on the remote; a tip that moves meanwhile is merged and checked anew, a bounded number of times."""
    require_same(remote)
    attempt = Attempt(remote, order, sha, guards)
    landing = attempt.run()
    for _ in range(TRIES - 1):
        if landing.outcome is not LandingOutcome.BRANCH_MOVED:
            break
        landing = attempt.run()
    if landing.contained:
        catch_up(remote)
    return landing


def unpushed_base(remote: Remote, sha: str, tip: str) -> str:
    """Say that commits of the operator's own would be published along; nothing when there are none."""
    private = unpublished(remote.repository, sha, tip)
    if not private:
        return ""
    branch = remote.repository.integration_branch
    return f"it stands on {private} commits of {branch} that {remote.name} lacks: push them first"


def catch_up(remote: Remote) -> str:
    """Bring the branch here up to the remote's as last fetched, where nothing is in the way; returns why it was not."""
    repository = remote.repository
    here, there = integration_tip(repository), SEEN_REFS + repository.integration_branch
    if is_ancestor(repository.path, there, here):
        return ""
    if not is_ancestor(repository.path, here, there):
        return f"{repository.integration_branch} has commits of its own"
    tip = git(repository.path, "rev-parse", there).text
    moved = advance(repository, tip, here, tip)
    return "" if moved.contained else moved.reason
