"""Which results succeeded and still have to land, for the loop that lands them and for people who ask."""

from workloop.domain.campaign import Campaign, Landing
from workloop.domain.evidence import SHA
from workloop.domain.ids import CampaignId
from workloop.domain.item import Item, Role, State
from workloop.domain.question import LANDING_SETTLED
from workloop.store.port import Reading

PAGE = 500


def not_landed(tx: Reading, campaign_id: CampaignId) -> list[str]:
    """Return the keys of results that succeeded and have not been landed or refused, oldest first."""
    found: list[str] = []
    page = tx.items_to_land(campaign_id, None, PAGE)
    while page:
        found += [item.key for item in page if is_commit(item)]
        page = tx.items_to_land(campaign_id, page[-1].id, PAGE)
    return found


def is_commit(item: Item) -> bool:
    """Tell whether an item's result is a commit."""
    return item.role is Role.WORK and item.candidate_sha is not None and SHA.fullmatch(item.candidate_sha) is not None


def to_land(tx: Reading, item: Item) -> bool:
    """Tell whether an item is a commit that still has to land."""
    return is_commit(item) and not any(fact.kind in LANDING_SETTLED for fact in tx.facts_of(item.id))


def waits_to_land(tx: Reading, campaign: Campaign, item: Item) -> bool:
    """Tell whether an item succeeded in a campaign that lands results, and has not landed."""
    return campaign.settings.landing is not Landing.NONE and item.state is State.SUCCEEDED and to_land(tx, item)


def count_to_land(tx: Reading, campaign: Campaign) -> int:
    """Count the results of a campaign that wait to land."""
    return 0 if campaign.settings.landing is Landing.NONE else len(not_landed(tx, campaign.id))
