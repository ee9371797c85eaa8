"""How a verified commit reaches the integration branch, and what a refusal there makes of it."""

from workloop.domain.checks import CheckKind
from workloop.domain.evidence import SHA
from workloop.domain.ids import id_text
from workloop.domain.item import Item, Role, State
from workloop.domain.question import FactKind
from workloop.driver.project import Project
from workloop.runner.checks import CheckPlan, run_checks
from workloop.runner.landing import GuardVerdict, Landing, LandingOrder, LandingOutcome, land
from workloop.runner.repository import integration_tip
from workloop.service.call import contract_of, require_campaign, require_item
from workloop.service.closing import record_fact
from workloop.service.perform import run_as_host
from workloop.store.port import Reading

PAGE = 500
LANDED = frozenset({LandingOutcome.LANDED, LandingOutcome.ALREADY_LANDED})
REFUSED = frozenset({LandingOutcome.CONFLICT, LandingOutcome.GUARDS_NOT_GREEN})
SETTLED_FACTS = frozenset({FactKind.LANDED, FactKind.LANDING_REFUSED})


def wants_landing(project: Project) -> bool:
    """Tell whether the campaign lands its results."""
    with project.queue.store.read() as tx:
        return require_campaign(tx, project.queue.slug).settings.landing != "none"


def not_landed(project: Project) -> list[str]:
    """Return the keys of results that succeeded and have not been landed or refused, oldest first."""
    found: list[str] = []
    with project.queue.store.read() as tx:
        campaign = require_campaign(tx, project.queue.slug)
        page = tx.items_list(campaign.id, (State.SUCCEEDED,), None, PAGE)
        while page:
            found += [item.key for item in page if to_land(tx, item)]
            page = tx.items_list(campaign.id, (State.SUCCEEDED,), page[-1].id, PAGE)
    return found


def to_land(tx: Reading, item: Item) -> bool:
    """Tell whether an item is a commit that still has to land."""
    if item.role is not Role.WORK or item.candidate_sha is None or not SHA.fullmatch(item.candidate_sha):
        return False
    return not any(fact.kind in SETTLED_FACTS for fact in tx.facts_of(item.id))


def land_item(project: Project, key: str) -> bool:
    """Land one verified result and state what came of it; tells whether the matter is settled."""
    with project.queue.store.read() as tx:
        item = require_item(tx, require_campaign(tx, project.queue.slug), key)
        if item.state is not State.SUCCEEDED or not to_land(tx, item):
            return True
        checks = tuple(check for check in contract_of(tx, item).checks if check.kind is CheckKind.GUARDS)
    sha = item.candidate_sha or ""

    def guards(merge_sha: str) -> GuardVerdict:
        if not checks:
            return GuardVerdict(green=True, reason="the contract names no guards")
        plan = CheckPlan(
            run=f"landing-{id_text(item.id)}-{merge_sha[:12]}",
            item_id=id_text(item.id),
            base_sha=integration_tip(project.repository),
            candidate_sha=merge_sha,
            checks=checks,
            now=project.now(),
            environment=project.check_environment,
        )
        report = run_checks(project.repository, plan)
        red = [result.check_id for result in report.results if not result.green]
        return GuardVerdict(green=not red, reason=", ".join(red) or "all guards passed")

    order = LandingOrder(item_id=id_text(item.id), attempt=item.fence, sha=sha, title=item.title, now=project.now())
    landing = land(project.repository, order, guards)
    project.tell("landing", {"key": key, "outcome": landing.outcome.value, "reason": landing.reason})
    return state_outcome(project, key, landing)


def state_outcome(project: Project, key: str, landing: Landing) -> bool:
    """Write down a landing or its refusal; anything else is tried again."""
    if landing.outcome in LANDED:
        kind, ref = FactKind.LANDED, landing.merge_sha or landing.sha
    elif landing.outcome in REFUSED:
        kind, ref = FactKind.LANDING_REFUSED, f"{landing.outcome.value}: {', '.join(landing.files) or landing.reason}"
    else:
        return False
    run_as_host(project.queue, project.host, "record_fact", lambda call: record_fact(call, key, kind, ref))
    return True
