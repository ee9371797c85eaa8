"""What a campaign is: a named queue with its defaults, slots, lanes and boundaries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from workloop.domain.clock import Instant
from workloop.domain.contract import Contract
from workloop.domain.ids import CampaignId
from workloop.domain.item import Verification
from workloop.domain.rank import STEP_US

BOUNDARY_WORDS_REFUSED = frozenset(
    {
        "access", "auth", "authentication", "browser", "build", "credential", "credentials", "deploy", "deployment",
        "environment", "fixture", "fixtures", "flaky", "lag", "login", "network", "password", "preview", "server",
        "signin", "test", "tests", "timeout", "token", "tool", "tooling", "tools",
    }
)  # fmt: skip


class CampaignState(StrEnum):
    """Whether a campaign hands out work."""

    ACTIVE = "active"
    PAUSED = "paused"
    CLOSED = "closed"


class Independence(StrEnum):
    """What must differ between a builder and its verifier."""

    EXECUTOR = "executor"
    PRINCIPAL = "principal"


class Landing(StrEnum):
    """What the loop does with a verified result."""

    NONE = "none"
    LOCAL_MERGE = "local-merge"
    PUSH = "push"
    PR = "pr"

    @property
    def remote(self) -> bool:
        """Tell whether a result counts as landed only where a remote shows it."""
        return self in (Landing.PUSH, Landing.PR)


def empty_contract() -> Contract:
    """Return defaults that add nothing to an item."""
    return Contract(title="", objective="", verification=Verification.BOTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """The limits that one item gets when it does not name its own; the lease is in seconds."""

    lease_seconds: int = 1800
    verify_lease_seconds: int = 1200
    attempts_max: int = 5
    expiries_max: int = 5
    rounds_max: int = 3
    priority: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSettings:
    """What holds for a whole campaign.

    `boundaries` maps each human-only decision to the question it asks. `grantable` names the authorities that an
    item may ask for. `candidates_max` is the number of unverified results above which no new work is handed out.
    """

    slots: int = 3
    candidates_max: int = 20
    rank_step_us: int = STEP_US
    independence: Independence = Independence.EXECUTOR
    landing: Landing = Landing.NONE
    lanes: tuple[str, ...] = ()
    boundaries: Mapping[str, str] = field(default_factory=dict[str, str])
    grantable: tuple[str, ...] = ()
    ceilings: Ceilings = Ceilings()
    defaults: Contract = field(default_factory=empty_contract)


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A campaign as the store keeps it."""

    id: CampaignId
    slug: str
    state: CampaignState
    paused_until: Instant | None
    pause_reason: str
    settings: CampaignSettings
    settings_version: int
    created_at: Instant


def opened(campaign_id: CampaignId, slug: str, settings: CampaignSettings, now: Instant) -> Campaign:
    """Return a campaign as it begins: active, under its first settings."""
    return Campaign(
        id=campaign_id,
        slug=slug,
        state=CampaignState.ACTIVE,
        paused_until=None,
        pause_reason="",
        settings=settings,
        settings_version=1,
        created_at=now,
    )


def boundary_refused(name: str) -> str | None:
    """Return the word that makes a name unfit as a human-only boundary, or None when it is fit."""
    words = name.lower().replace("-", " ").replace("_", " ").split()
    return next((word for word in words if word in BOUNDARY_WORDS_REFUSED), None)


def paused(campaign: Campaign, now: Instant) -> bool:
    """Tell whether a campaign hands out nothing at this instant; a pause with an end lapses by itself."""
    if campaign.state is not CampaignState.PAUSED:
        return False
    return campaign.paused_until is None or campaign.paused_until > now
