"""What the meter asks of whoever holds the budgets, and what it tells them of each call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from workloop.domain.clock import Instant
from workloop.domain.session import Tokens


class Dialect(StrEnum):
    """The way of speaking that a call's path shows."""

    ANTHROPIC = "anthropic"
    RESPONSES = "responses"
    CHAT = "chat"


class CallOutcome(StrEnum):
    """How a call ended; tokens of a call that is unknown are a floor, never the whole."""

    OK = "ok"
    FAILED = "failed"
    ABORTED = "aborted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """A call that wants to be sent; output_tokens_max is what it asks for, if it says so."""

    session_id: str
    number: int
    dialect: Dialect
    model: str
    input_bytes: int
    output_tokens_max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCharge:
    """A call that is over, and what it cost.

    exact: the tokens are the provider's own final figure; otherwise they are what was known when it ended, with the
    input guessed from the size of the request where nothing better was said. priced_as is the model whose price was
    taken, which is another one than model when that has no known price; cost_micros is None when nothing was priced.
    first_byte_us is the time from the request to the first byte of the answer. Instants are the meter's own clock.
    """

    session_id: str
    number: int
    dialect: Dialect
    model: str
    tokens: Tokens
    cost_micros: int | None
    priced_as: str
    outcome: CallOutcome
    status: int | None
    began: Instant
    ended: Instant
    first_byte_us: int | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRefusal:
    """Why a call may not be sent: a stable code, and a sentence that names limit, unit, used and the knob."""

    code: str
    message: str


class Allowance(Protocol):
    """The holder of one session's budgets; quick, never blocking, called on the meter's thread."""

    def admit(self, plan: CallPlan) -> CallRefusal | None:
        """Say why the call may not be sent, or keep its worst case aside and return None."""
        ...

    def charge(self, charge: CallCharge) -> None:
        """Book an admitted call that is over; called exactly once for each, refused ones excepted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Where a session's calls go, per family of dialects, and the key they are sent with.

    URLs are what the CLI itself would use as its base: without /v1 for Anthropic, with it for OpenAI. api_key None
    passes the session's own authorization through unchanged. subscription: nothing is billed for a call, which is then
    counted in tokens and booked at no cost.
    """

    anthropic_url: str = "https://api.anthropic.com"
    openai_url: str = "https://api.openai.com/v1"
    api_key: str | None = field(default=None, repr=False)
    subscription: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterReading:
    """What one session's calls came to; unknown_calls are those whose tokens are only a floor."""

    calls: int = 0
    refused: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost_micros: int | None = None
    unknown_calls: int = 0
    models: Mapping[str, int] = field(default_factory=dict[str, int])
