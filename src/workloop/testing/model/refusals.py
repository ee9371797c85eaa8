"""What a provider of the OpenAI family answers for each cause of a failure."""

from collections.abc import Mapping
from types import MappingProxyType

from workloop.testing.model.dialect import HttpError
from workloop.testing.model.moves import Fail

Refusal = tuple[int, str, str | None, str]

BODIES: Mapping[str, Refusal] = MappingProxyType(
    {
        "usage_limit": (429, "usage_limit_reached", None, "The usage limit has been reached"),
        "rate_limit": (
            429,
            "requests",
            "rate_limit_exceeded",
            "Rate limit reached on requests per min: Limit 3.",
        ),
        "overloaded": (503, "server_error", "server_is_overloaded", "The server is overloaded or not ready yet."),
        "server_error": (500, "server_error", None, "The server had an error while processing your request."),
        "auth": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: dummy."),
        "forbidden": (403, "invalid_request_error", "unsupported_country_region_territory", "Region not supported"),
        "credit": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
        "model_missing": (404, "invalid_request_error", "model_not_found", "The model does not exist."),
        "context": (
            400,
            "invalid_request_error",
            "context_length_exceeded",
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 210000 tokens.",
        ),
    }
)


def refuse_like_openai(fail: Fail) -> HttpError:
    """Return the error for the cause of a failure; without one, what the move itself spells out."""
    unknown: Refusal = (fail.status, fail.kind, None, fail.message)
    status, kind, code, message = BODIES.get(fail.cause, unknown)
    error: dict[str, object] = {"type": kind, "code": code, "param": None, "message": message}
    if fail.resets_at:
        error["resets_at"] = fail.resets_at
    headers = {"retry-after": str(fail.retry_after)} if fail.retry_after else {}
    return HttpError(status=status, body={"error": error}, headers=headers if fail.cause else fail.headers)
