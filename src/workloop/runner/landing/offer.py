"""How a verified commit is offered as a pull request and followed until the remote's branch contains it."""

from dataclasses import dataclass, replace

from workloop.domain.pullrequest import PrWord, PullRequest, judge_pull_request
from workloop.runner.delivery import Delivery, DeliveryOrder, DeliveryWord, push_result
from workloop.runner.git import ANY_FAILURE, git
from workloop.runner.gitfacts import commit_of, is_ancestor, tree_of
from workloop.runner.landing.merging import checked_merge, withheld
from workloop.runner.landing.order import Guards, Landing, LandingOrder, LandingOutcome
from workloop.runner.landing.pulls import PullRequests
from workloop.runner.landing.push import catch_up, unpushed_base
from workloop.runner.remote import Remote, fetch_tip, require_same

UNDELIVERED = {
    DeliveryWord.SET_ASIDE: LandingOutcome.CLAIM_LOST,
    DeliveryWord.DIVERGED: LandingOutcome.PUSH_REFUSED,
    DeliveryWord.REFUSED: LandingOutcome.PUSH_REFUSED,
    DeliveryWord.UNCONFIRMED: LandingOutcome.UNCONFIRMED,
}
JUDGED = {
    PrWord.CONFLICT: LandingOutcome.CONFLICT,
    PrWord.RED: LandingOutcome.PR_RED,
    PrWord.CLOSED: LandingOutcome.PR_CLOSED,
    PrWord.ELSEWHERE: LandingOutcome.PR_WAITS,
    PrWord.WAITS: LandingOutcome.PR_WAITS,
    PrWord.READY: LandingOutcome.PR_WAITS,
    PrWord.MERGED: LandingOutcome.UNCONFIRMED,
}


@dataclass(frozen=True, slots=True)
class Offer:
    """One look at a pull request, and what it asks for: opening it, waiting, merging it, or seeing that it is in."""

    remote: Remote
    pulls: PullRequests
    order: LandingOrder
    sha: str
    guards: Guards
    tip: str

    def ended(self, outcome: LandingOutcome, reason: str = "", **more: str | None) -> Landing:
        """Return how it stands."""
        found = Landing(outcome=outcome, sha=self.sha, tip_before=self.tip, reason=reason)
        return replace(found, **{name: value for name, value in more.items() if value})

    def run(self) -> Landing:
        """Look where the pull request stands and take the next step."""
        repository = self.remote.repository
        if is_ancestor(repository.path, self.sha, self.tip):
            return self.ended(LandingOutcome.ALREADY_LANDED)
        pr = self.pulls.of(repository, self.order.branch, self.sha)
        if pr is None:
            return self.open()
        if pr.state == "OPEN" and pr.head_sha != self.sha:
            return self.deliver(pr)
        verdict = judge_pull_request(pr, self.sha, repository.integration_branch, unchecked=self.pulls.allow_unchecked)
        if verdict.word is PrWord.MERGED:
            return self.merged(pr)
        if verdict.word is PrWord.READY and self.pulls.auto_merge:
            return self.merge(pr)
        submitted = pr.head_sha if pr.head_sha == self.sha else ""
        return self.ended(JUDGED[verdict.word], verdict.reason, url=pr.url, submitted=submitted)

    def open(self) -> Landing:
        """Check the merge, push the branch, open the pull request, and see that it is there."""
        repository = self.remote.repository
        private = unpushed_base(self.remote, self.sha, self.tip)
        if private:
            return self.ended(LandingOutcome.UNPUSHED_BASE, private)
        merged = checked_merge(repository, self.order, self.sha, self.tip, self.guards)
        if isinstance(merged, Landing):
            return merged
        delivery = self.push()
        if delivery.word is not DeliveryWord.DELIVERED:
            return self.ended(UNDELIVERED[delivery.word], delivery.reason)
        self.pulls.run(repository, self.pulls.open, self.facts())
        pr = self.pulls.of(repository, self.order.branch, self.sha)
        if pr is None:
            return self.ended(LandingOutcome.UNCONFIRMED, "no pull request can be seen", submitted=self.sha)
        return self.ended(LandingOutcome.PR_WAITS, f"{pr.url} was opened", url=pr.url, submitted=self.sha)

    def deliver(self, pr: PullRequest) -> Landing:
        """Bring an open pull request to the verified commit; what others pushed onto its branch stays."""
        held = withheld(self.remote.repository, self.sha, self.tip)
        if held is not None:
            return replace(held, url=pr.url)
        delivery = self.push()
        if delivery.word is not DeliveryWord.DELIVERED:
            return self.ended(UNDELIVERED[delivery.word], f"{pr.url}: {delivery.reason}", url=pr.url)
        return self.ended(LandingOutcome.PR_WAITS, f"{pr.url} was brought up to date", url=pr.url, submitted=self.sha)

    def merge(self, pr: PullRequest) -> Landing:
        """Check the merge result as it is now, have the pull request merged, and believe only the branch."""
        repository = self.remote.repository
        merged = checked_merge(repository, self.order, self.sha, self.tip, self.guards)
        if isinstance(merged, Landing):
            return replace(merged, url=pr.url)
        if not self.order.stands():
            return self.ended(LandingOutcome.CLAIM_LOST, url=pr.url)
        self.pulls.run(repository, self.pulls.merge, {**self.facts(), "number": str(pr.number)})
        after = replace(self, tip=fetch_tip(self.remote, repository.integration_branch))
        if is_ancestor(repository.path, self.sha, after.tip):
            return after.ended(LandingOutcome.LANDED, merge_sha=after.tip, url=pr.url, submitted=self.sha)
        now = self.pulls.of(repository, self.order.branch, self.sha)
        if now is not None and now.state == "MERGED":
            return after.merged(now)
        said = f"{pr.url} was asked to merge, and {repository.integration_branch} does not contain it yet"
        return after.ended(LandingOutcome.UNCONFIRMED, said, url=pr.url, submitted=self.sha)

    def merged(self, pr: PullRequest) -> Landing:
        """See whether what was merged under another SHA is our commit's content, by git alone."""
        path = self.remote.repository.path
        known = commit_of(path, pr.merge_sha) if pr.merge_sha else None
        if known is not None and is_ancestor(path, known, self.tip) and adds_nothing(self.remote, known, self.sha):
            return self.ended(LandingOutcome.LANDED, "squashed", merge_sha=known, url=pr.url)
        said = f"{pr.url} says that it was merged, and {self.remote.repository.integration_branch} does not contain it"
        return self.ended(LandingOutcome.UNCONFIRMED, said, url=pr.url)

    def push(self) -> Delivery:
        """Bring the verified commit to its branch on the remote."""
        order = self.order
        wanted = DeliveryOrder(
            item_id=order.item_id, attempt=order.attempt, sha=self.sha, branch=order.branch, stands=order.stands
        )
        return push_result(self.remote, wanted)

    def facts(self) -> dict[str, str]:
        """Return what the words in braces of a command stand for."""
        body = f"Item {self.order.item_id}, verified at {self.sha}."
        base = self.remote.repository.integration_branch
        return {"branch": self.order.branch, "base": base, "title": self.order.title, "body": body, "sha": self.sha}


def offer(remote: Remote, pulls: PullRequests, order: LandingOrder, sha: str, guards: Guards) -> Landing:
    """Take the next step of a pull request; landed is only what the remote's integration branch contains."""
    require_same(remote)
    tip = fetch_tip(remote, remote.repository.integration_branch)
    landing = Offer(remote, pulls, order, sha, guards, tip).run()
    if landing.contained:
        catch_up(remote)
    return landing


def adds_nothing(remote: Remote, merged: str, sha: str) -> bool:
    """Say whether merging a commit into what was merged would change nothing: its content is in already."""
    path = remote.repository.path
    tried = git(path, "merge-tree", "--write-tree", merged, sha, call=ANY_FAILURE)
    return tried.exit_code == 0 and tried.text == tree_of(path, merged)
