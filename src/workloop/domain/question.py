"""What waits for a person: boundaries a contract names and brakes the host sets, each with one question."""

from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.clock import Instant
from workloop.domain.ids import CampaignId, ItemId
from workloop.domain.item import State


class QuestionKind(StrEnum):
    """Who raised a question, and so what an answer clears."""

    BOUNDARY = "boundary"
    BRAKE = "brake"


class Brake(StrEnum):
    """Why the host parked an item by itself."""

    NO_PROGRESS = "no_progress"
    VERIFICATION_EXHAUSTED = "verification_exhausted"
    REMEDY_NEEDED = "remedy_needed"
    TAKEN_ELSEWHERE = "taken_elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A durable question; (item_id, number) is its identity and at most one per item is open."""

    item_id: ItemId
    number: int
    campaign_id: CampaignId
    kind: QuestionKind
    name: str
    asks: str
    evidence: str
    resume_when: str
    owner: str
    resume_state: State
    raised_at: Instant
    answered_at: Instant | None = None
    answered_by: str | None = None
    answer: str | None = None


class FactKind(StrEnum):
    """What may be said about an item outside its state."""

    SUBMITTED = "submitted"
    VERIFIED = "verified"
    LANDED = "landed"
    STILL_GREEN = "still_green"
    RED_AFTER_LANDING = "red_after_landing"
    LANDING_REFUSED = "landing_refused"
    SUCCEEDED_BY = "succeeded_by"


LANDING_SETTLED = frozenset({FactKind.LANDED, FactKind.LANDING_REFUSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """An append-only statement about an item; (item_id, number) is its identity."""

    item_id: ItemId
    number: int
    kind: FactKind
    ref: str
    at: Instant
    by: str
