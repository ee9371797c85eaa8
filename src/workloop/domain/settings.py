"""How a campaign's settings are read from what a person wrote."""

from workloop.domain.campaign import CampaignSettings, Ceilings, Independence, Landing, boundary_refused
from workloop.domain.contract import Contract
from workloop.domain.ids import SLUG
from workloop.domain.item import Verification
from workloop.domain.lease import LEASE_SECONDS_MAX
from workloop.domain.new_item import read_checks, read_protected, read_slots, read_verification
from workloop.domain.rank import PRIORITY_HIGHEST_NUMBER, STEP_US, STRICT_STEP_US
from workloop.domain.reader import Json, Reader, bad, one_of

SLOTS_MAX = 1000


def read_settings(value: Json, path: str = "campaign") -> CampaignSettings:
    """Read a campaign's settings; raises BadRequest naming the field that is wrong or unknown."""
    reader = Reader(value, path)
    strict = reader.text("order", default="ageing")
    if strict not in ("ageing", "strict"):
        raise bad(reader.at("order"), f"{strict!r} is not ageing or strict")
    step = reader.whole("rank_step_seconds", default=STEP_US // 1_000_000, lowest=1, highest=86_400)
    settings = CampaignSettings(
        slots=reader.whole("slots", default=3, lowest=1, highest=SLOTS_MAX),
        candidates_max=reader.whole("candidates_max", default=20, lowest=1, highest=100_000),
        rank_step_us=STRICT_STEP_US if strict == "strict" else step * 1_000_000,
        independence=one_of(reader, "independence", Independence, reader.text("independence", default="executor")),
        landing=one_of(reader, "landing", Landing, reader.text("landing", default="none")),
        lanes=read_lanes(reader),
        boundaries=read_boundaries(reader),
        grantable=reader.texts("grantable"),
        ceilings=read_ceilings(reader.take("ceilings") or {}, reader.at("ceilings")),
        defaults=read_defaults(reader.take("defaults") or {}, reader.at("defaults")),
    )
    reader.done()
    for name in settings.defaults.boundaries:
        if name not in settings.boundaries:
            raise bad(f"{path}.defaults.boundaries", f"{name!r} is not in {path}.boundaries")
    for name in settings.defaults.authority_allow:
        if name not in settings.grantable:
            raise bad(f"{path}.defaults.authority_allow", f"{name!r} is not in {path}.grantable")
    return settings


def read_lanes(reader: Reader) -> tuple[str, ...]:
    """Read the names of the exclusive lanes."""
    lanes = reader.texts("lanes")
    for lane in lanes:
        if not SLUG.match(lane):
            raise bad(reader.at("lanes"), f"{lane!r} is not a name of lower-case letters, digits, '.', '-' and '_'")
    return lanes


def read_boundaries(reader: Reader) -> dict[str, str]:
    """Read the catalogue of human-only decisions: a name and the question it asks."""
    table = reader.table("boundaries")
    for name in table:
        word = boundary_refused(name)
        if word is not None:
            raise bad(
                f"{reader.at('boundaries')}.{name}",
                f"{word!r} is ordinary work, never a decision that only a person may take",
                code="BOUNDARY_ORDINARY",
                hint="name the decision itself, such as spend-money or delete-data",
            )
    return table


def read_ceilings(value: Json, path: str) -> Ceilings:
    """Read the limits that an item gets when it names none."""
    reader, usual = Reader(value, path), Ceilings()
    ceilings = Ceilings(
        lease_seconds=reader.whole("lease_seconds", default=usual.lease_seconds, lowest=1, highest=LEASE_SECONDS_MAX),
        verify_lease_seconds=reader.whole(
            "verify_lease_seconds", default=usual.verify_lease_seconds, lowest=1, highest=LEASE_SECONDS_MAX
        ),
        attempts_max=reader.whole("attempts_max", default=usual.attempts_max, lowest=1, highest=100),
        expiries_max=reader.whole("expiries_max", default=usual.expiries_max, lowest=1, highest=100),
        rounds_max=reader.whole("rounds_max", default=usual.rounds_max, lowest=1, highest=20),
        priority=reader.whole("priority", default=usual.priority, lowest=1, highest=PRIORITY_HIGHEST_NUMBER),
    )
    reader.done()
    return ceilings


def read_defaults(value: Json, path: str) -> Contract:
    """Read the contract that every item of a campaign starts from."""
    reader = Reader(value, path)
    for name in ("checks", "guards"):
        for at, check in reader.entries(name):
            if not isinstance(check, dict) or not check.get("id"):
                raise bad(f"{at}.id", "is required for a default", hint="items refer to it when they waive it")
    contract = Contract(
        title="",
        objective="",
        source_refs=reader.texts("source_refs"),
        tools=reader.texts("tools"),
        checks=read_checks(reader),
        evidence=read_slots(reader),
        authority_allow=reader.texts("authority_allow"),
        authority_deny=reader.texts("authority_deny"),
        boundaries=reader.texts("boundaries"),
        versions=reader.table("versions"),
        protected=read_protected(reader),
        verification=read_verification(reader) or Verification.BOTH,
    )
    reader.done()
    return contract
