"""What OpenAI's API answers when it refuses, by cause; shared by every dialect of it."""

from collections.abc import Mapping

from workloop.testing.model.conversation import JsonObject
from workloop.testing.model.dialect import HttpError
from workloop.testing.model.moves import Cause, Fail

WINDOW_MINUTES = 300
WEEK_MINUTES = 10_080
PLAN = "plus"

ERRORS: Mapping[Cause, tuple[int, str, str | None, str]] = {
    "usage_limit": (429, "usage_limit_reached", None, "The usage limit has been reached"),
    "rate_limit": (429, "requests", "rate_limit_exceeded", "Rate limit reached on requests per min. Try again in 1s."),
    "overloaded": (503, "server_error", "server_is_overloaded", "The server is overloaded or not ready yet."),
    "server_error": (500, "server_error", None, "The server had an error while processing your request."),
    "auth": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: scripted."),
    "forbidden": (403, "invalid_request_error", "unsupported_country_region_territory", "Country not supported"),
    "credit": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "model_missing": (404, "invalid_request_error", "model_not_found", "The model does not exist."),
    "context": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 210000 tokens.",
    ),
}


def refuse(fail: Fail) -> HttpError:
    """Return the whole refusal: status, body and headers."""
    status = ERRORS[fail.cause][0] if fail.cause in ERRORS else fail.status
    return HttpError(status=status, body={"error": error_of(fail)}, headers=headers_of(fail))


def error_of(fail: Fail) -> JsonObject:
    """Return the error object alone."""
    if fail.cause not in ERRORS:
        return {"type": fail.kind, "code": fail.kind, "param": None, "message": fail.message}
    _status, kind, code, message = ERRORS[fail.cause]
    if fail.cause == "usage_limit":
        times = {"resets_at": fail.resets_at, "resets_in_seconds": fail.retry_after}
        return {"type": kind, "message": message, "plan_type": PLAN, **times}
    return {"type": kind, "code": code, "param": None, "message": message}


def headers_of(fail: Fail) -> Mapping[str, str]:
    """Return the headers that say when to come back."""
    match fail.cause:
        case "":
            return fail.headers
        case "rate_limit":
            return {"retry-after": str(fail.retry_after)}
        case "usage_limit":
            windows = {"primary": (100, WINDOW_MINUTES, 0), "secondary": (41, WEEK_MINUTES, 250_000)}
            headers = {"x-codex-active-limit": "codex", "x-codex-plan-type": PLAN}
            for name, (used, minutes, later) in windows.items():
                headers[f"x-codex-{name}-used-percent"] = f"{used}.0"
                headers[f"x-codex-{name}-window-minutes"] = str(minutes)
                headers[f"x-codex-{name}-reset-at"] = str(fail.resets_at + later)
            return headers
        case _:
            return {}
