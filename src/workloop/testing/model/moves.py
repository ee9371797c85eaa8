"""What a scripted model can do next: call a tool, say something, or fail in one of the known ways."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workloop.testing.model.conversation import Conversation, JsonObject

Stop = Literal["end_turn", "max_tokens", "refusal"]
Cause = Literal[
    "",
    "usage_limit",
    "rate_limit",
    "overloaded",
    "server_error",
    "auth",
    "forbidden",
    "credit",
    "model_missing",
    "context",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens that one answer reports, in the four buckets of the bill."""

    input: int = 400
    cache_read: int = 800
    cache_write: int = 0
    output: int = 60


@dataclass(frozen=True, slots=True)
class Call:
    """Call a tool: by the CLI's own name, or an MCP tool as (server, tool); `say` comes before it.

    One that is not offered is called only if `unoffered` says so, as a model does that believes in a tool by hearsay.
    """

    tool: str | tuple[str, str]
    arguments: JsonObject = field(default_factory=dict[str, object])
    say: str = ""
    usage: Usage | None = None
    unoffered: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """End the turn with a text."""

    text: str
    stop: Stop = "end_turn"
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Answer with an HTTP error, or with an error event after the stream has begun.

    Status, kind, message and headers are those of the Messages API; another dialect says what its own provider says
    for the same cause, and repeats them only where no cause is named.
    """

    status: int
    kind: str
    message: str
    cause: Cause = ""
    resets_at: int = 0
    retry_after: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    in_stream: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """Begin a streamed answer and drop the connection in the middle of it."""

    text: str = "I was about to"


@dataclass(frozen=True, slots=True)
class Hang:
    """Stay silent until the server closes: from the start, or after some text."""

    after: Literal["nothing", "text"] = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaky:
    """Fail the first tries of this step, then go on."""

    first: Fail | Cut | Hang
    tries: int
    then: Call | Say


Move = Call | Say | Fail | Cut | Hang | Flaky
Step = Move | Callable[[Conversation], Move]
Scenario = Sequence[Step]
Casting = Callable[[Conversation], Scenario]

OVER = Say("The script has no further move.")


def step_at(scenario: Scenario, number: int) -> Step:
    """Return the step with this number; beyond the end a failure goes on, anything else is over."""
    if number < len(scenario):
        return scenario[number]
    last = scenario[-1] if scenario else OVER
    return last if isinstance(last, Fail | Cut | Hang) else OVER


def by_brief(roles: Mapping[str, Scenario]) -> Casting:
    """Choose the scenario whose key, such as `role: work`, is a line of the brief."""

    def cast_for(conversation: Conversation) -> Scenario:
        for marker, scenario in roles.items():
            name, _, value = marker.partition(":")
            if conversation.briefs(name, value.strip()):
                return scenario
        return (Say(f"This script has no part for a brief without one of: {', '.join(roles)}"),)

    return cast_for


def usage_limit(*, resets_at: int, retry_after: int = 7200) -> Fail:
    """Refuse as a spent subscription window does; the reset time is in seconds since the epoch."""
    window = {"5h": (resets_at, "rejected", "1.0"), "7d": (resets_at + 250_000, "allowed", "0.41")}
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(resets_at),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-overage-status": "rejected",
        "anthropic-ratelimit-unified-overage-disabled-reason": "org_level_disabled",
        "retry-after": str(retry_after),
        "x-should-retry": "false",
    }
    for name, (reset, status, used) in window.items():
        headers[f"anthropic-ratelimit-unified-{name}-status"] = status
        headers[f"anthropic-ratelimit-unified-{name}-reset"] = str(reset)
        headers[f"anthropic-ratelimit-unified-{name}-utilization"] = used
    return Fail(
        status=429,
        kind="rate_limit_error",
        message="This request would exceed your account's rate limit. Please try again later.",
        cause="usage_limit",
        resets_at=resets_at,
        retry_after=retry_after,
        headers=headers,
    )


def rate_limited(*, retry_after: int = 1) -> Fail:
    """Refuse as a per-minute limit does."""
    return Fail(
        status=429,
        kind="rate_limit_error",
        message="This request would exceed your organization's rate limit of 50 requests per minute.",
        cause="rate_limit",
        retry_after=retry_after,
        headers={"retry-after": str(retry_after)},
    )


OVERLOADED = Fail(
    status=529,
    kind="overloaded_error",
    message="Overloaded",
    cause="overloaded",
    headers={"x-should-retry": "true"},
)
SERVER_ERROR = Fail(status=500, kind="api_error", message="Internal server error", cause="server_error")
BAD_KEY = Fail(status=401, kind="authentication_error", message="invalid x-api-key", cause="auth")
FORBIDDEN = Fail(
    status=403,
    kind="permission_error",
    cause="forbidden",
    message="Your account does not have permission to use this model.",
)
NO_CREDIT = Fail(
    status=400,
    kind="invalid_request_error",
    cause="credit",
    message="Your credit balance is too low to access the Anthropic API. "
    "Please go to Plans & Billing to upgrade or purchase credits.",
)
NO_MODEL = Fail(status=404, kind="not_found_error", message="model: scripted-model", cause="model_missing")
PROMPT_TOO_LONG = Fail(
    status=400,
    kind="invalid_request_error",
    message="prompt is too long: 210000 tokens > 200000 maximum",
    cause="context",
)
