"""What kind of night a seed makes: how many projects, which agents, phases and settings, who looks and who releases."""

import random
from dataclasses import dataclass
from datetime import UTC

from workloop.config import ActiveHours, PhaseConfig
from workloop.config.hours import Window
from workloop.domain.campaign import CampaignSettings, Landing
from workloop.domain.contract import Contract
from workloop.domain.gate import GateKey, GatePolicy, OnLimit
from workloop.domain.item import Verification

ONE, TWO = (GateKey(harness=name, account="default", tier="") for name in ("one", "two"))
BOTH = (PhaseConfig(name="implement"), PhaseConfig(name="review"))
ACROSS = (PhaseConfig(name="implement"), PhaseConfig(name="review", harness="two", tier="fast"))
BREAK = (Window(begin=420, end=570), Window(begin=630, end=420))
"""Always, but for the second hour and a half of the night."""


@dataclass(frozen=True)
class Scenario:
    """What is settled before the night begins."""

    landing: Landing
    slugs: tuple[str, ...]
    phases: tuple[PhaseConfig, ...]
    policy: GatePolicy
    two_resumes: bool
    hours: ActiveHours | None
    foreign: bool
    releaser: bool
    sessions_host: int | None
    skew_seconds: float

    @property
    def bystanders(self) -> int:
        """Return how many targets compete."""
        return len(self.slugs) + self.foreign - 1


def scenario(seed: int) -> Scenario:
    """Draw the kind of a night."""
    chance = random.Random(f"scenario {seed}")
    on_limit = chance.choices([OnLimit.WAIT, OnLimit.STOP, OnLimit.ASK], [80, 10, 10])[0]
    return Scenario(
        landing=chance.choice((Landing.NONE, Landing.LOCAL_MERGE)),
        slugs=("main", "side") if chance.random() < 0.25 else ("main",),
        phases=chance.choices([(), BOTH, ACROSS], [60, 20, 20])[0],
        policy=GatePolicy(on_limit=on_limit),
        two_resumes=chance.random() < 0.7,
        hours=ActiveHours(windows=BREAK, zone=UTC, time_zone="UTC") if chance.random() < 0.15 else None,
        foreign=chance.random() < 0.2,
        releaser=chance.random() < 0.6,
        sessions_host=2 if chance.random() < 0.15 else None,
        skew_seconds=chance.choice([0.0, 300.0, 300.0]),
    )


def campaign(landing: Landing) -> CampaignSettings:
    """Return a campaign in which everything is verified by host and session."""
    return CampaignSettings(
        landing=landing,
        boundaries={"spend-money": "May this cost money?"},
        defaults=Contract(title="", objective="", verification=Verification.BOTH, boundaries=("spend-money",)),
    )


def tracker() -> CampaignSettings:
    """Return somebody else's backlog, in which nothing is verified."""
    return CampaignSettings(defaults=Contract(title="", objective="", verification=Verification.NONE))
