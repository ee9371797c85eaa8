"""How a campaign's defaults and an item's own wishes become one contract."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from workloop.domain.campaign import Campaign, CampaignSettings
from workloop.domain.contract import Contract, OutcomeKind, canonical_text
from workloop.domain.errors import BadRequest, Conflict, NotFound
from workloop.domain.item import Verification
from workloop.domain.new_item import NewItem

CONTRACT_BYTES_MAX = 64 * 1024


class Named(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str:
        """Return its name."""
        ...


Entry = TypeVar("Entry", bound=Named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A contract with its canonical text, and the limits that go with the item."""

    contract: Contract
    text: str
    priority: int
    lease_seconds: int
    attempts_max: int
    expiries_max: int
    rounds_max: int


def merge(campaign: Campaign, item: NewItem) -> Merged:
    """Merge typed field by field; raises Refusal where the two contradict or ask too much or for what is not there."""
    settings = campaign.settings
    contract = merge_contract(settings, item)
    text = canonical_text(contract)
    if len(text.encode()) > CONTRACT_BYTES_MAX:
        raise BadRequest(
            "TOO_LARGE",
            f"{item.key}: the contract is larger than {CONTRACT_BYTES_MAX} bytes",
            hint="move long texts into files of the repository and name them in source_refs",
            field="objective",
        )
    ceilings = settings.ceilings
    return Merged(
        contract=contract,
        text=text,
        priority=ceilings.priority if item.priority is None else item.priority,
        lease_seconds=item.lease_seconds or ceilings.lease_seconds,
        attempts_max=item.attempts_max or ceilings.attempts_max,
        expiries_max=item.expiries_max or ceilings.expiries_max,
        rounds_max=item.rounds_max or ceilings.rounds_max,
    )


def merge_contract(settings: CampaignSettings, item: NewItem) -> Contract:
    """Apply the rule of each field: the item wins, both are joined, or they must agree."""
    defaults = settings.defaults
    waived = {waiver.partition(":")[0] for waiver in item.waived}
    waivable = {entry.id for entry in (*defaults.checks, *defaults.evidence)}
    for name in sorted(waived - waivable):
        raise unknown_name(item.key, "default check or slot", name, waivable, "WAIVER_UNKNOWN")
    verification = item.verification or defaults.verification
    checks = join(defaults.checks, item.checks, waived)
    outcomes = item.outcomes or defaults.outcomes
    if verification is Verification.HOST and not checks:
        raise BadRequest(
            "CHECKS_REQUIRED",
            f"{item.key}: verification by the host needs at least one check",
            hint="add a check, or let a session verify",
            field="checks",
        )
    if item.lane is not None and item.lane not in settings.lanes:
        raise NotFound(
            "LANE_UNKNOWN",
            f"{item.key}: the campaign has no lane {item.lane!r}",
            hint=f"the campaign's lanes: {', '.join(sorted(settings.lanes)) or 'none'}",
            field="lane",
        )
    return Contract(
        title=item.title,
        objective=item.objective,
        family=item.family,
        subject=item.subject,
        source_refs=join_texts(defaults.source_refs, item.source_refs),
        tools=join_texts(defaults.tools, item.tools),
        lane=item.lane or defaults.lane,
        checks=checks,
        evidence=join(defaults.evidence, item.evidence, waived),
        outcomes=outcomes or (OutcomeKind.COMMIT,),
        authority_allow=allowed(settings, item),
        authority_deny=join_texts(defaults.authority_deny, item.authority_deny),
        boundaries=boundaries(settings, item),
        versions=agreed_versions(item.key, defaults.versions, item.versions),
        protected=join_texts(defaults.protected, item.protected),
        verification=verification,
        waived=item.waived,
    )


def join_texts(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Join two lists of texts, each text once, in order."""
    if not first and not second:
        return ()
    return tuple(dict.fromkeys((*first, *second)))


def join(first: tuple[Entry, ...], second: tuple[Entry, ...], waived: set[str]) -> tuple[Entry, ...]:
    """Join two lists by id; the second's entry replaces the first's, waived defaults are left out."""
    if not first and len(second) < 2:
        return second
    joined = {entry.id: entry for entry in first if entry.id not in waived}
    joined.update({entry.id: entry for entry in second})
    return tuple(joined.values())


def allowed(settings: CampaignSettings, item: NewItem) -> tuple[str, ...]:
    """Join authorities; an item may ask only for grantable ones, and a denial beats a permission."""
    if not item.authority_allow and not settings.defaults.authority_allow:
        return ()
    for wish in item.authority_allow:
        if wish not in settings.grantable:
            raise unknown_name(item.key, "authority", wish, settings.grantable, "AUTHORITY_NOT_GRANTABLE")
    denied = {*settings.defaults.authority_deny, *item.authority_deny}
    joined = join_texts(settings.defaults.authority_allow, item.authority_allow)
    return tuple(authority for authority in joined if authority not in denied)


def boundaries(settings: CampaignSettings, item: NewItem) -> tuple[str, ...]:
    """Choose the boundaries: the item's own list replaces the default, within the campaign's catalogue."""
    if item.boundaries is None:
        return settings.defaults.boundaries
    for name in item.boundaries:
        if name not in settings.boundaries:
            raise unknown_name(item.key, "boundary", name, settings.boundaries, "BOUNDARY_UNKNOWN")
    return item.boundaries


def agreed_versions(key: str, first: Mapping[str, str], second: Mapping[str, str]) -> Mapping[str, str]:
    """Join versions; the same name with two values is refused."""
    for name in first.keys() & second.keys():
        if first[name] != second[name]:
            raise Conflict(
                "VERSION_MISMATCH",
                f"{key}: version {name} is {first[name]} in the campaign and {second[name]} in the item",
                hint="use the campaign's version or change the campaign first",
                field="versions",
            )
    return {**first, **second}


def unknown_name(key: str, what: str, name: str, known: Iterable[str], code: str) -> BadRequest:
    """Build the refusal of a name that the campaign does not list."""
    listed = ", ".join(sorted(known)) or "none"
    return BadRequest(
        code, f"{key}: the campaign has no {what} {name!r}", hint=f"the campaign lists: {listed}", field=what
    )


def differing_paths(first: Mapping[str, object], second: Mapping[str, object]) -> list[str]:
    """Return the top-level fields in which two contracts differ."""
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
