"""How the meter says no in each dialect, so that an agent CLI ends at once instead of trying again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from workloop.runner.meter.port import CallRefusal, Dialect
from workloop.runner.signatures import METER_REFUSED

MARK = "workloop meter"
UNREACHABLE = 502
JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of the meter's own."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def spent(dialect: Dialect, refusal: CallRefusal) -> Answer:
    """Say that a call may not be sent, as something that no CLI tries again: Codex would, if it were about money."""
    status = 400 if dialect is Dialect.RESPONSES else 402
    return answer(dialect, status, refusal.code, refusal.message, mark=METER_REFUSED)


def unauthorized(dialect: Dialect) -> Answer:
    """Say that no open session has this key."""
    message = "this key belongs to no running session"
    return answer(dialect, 401, "METER_KEY_UNKNOWN", message)


def closed(dialect: Dialect, what: str) -> Answer:
    """Say that the meter does not let this through."""
    return answer(dialect, 404, "METER_PATH_CLOSED", f"not let through, because it could not be counted: {what}")


def malformed(dialect: Dialect, problem: str) -> Answer:
    """Say that a request cannot be counted as it is."""
    return answer(dialect, 400, "METER_CALL_UNCOUNTABLE", problem)


def too_big(dialect: Dialect, bytes_max: int) -> Answer:
    """Say that a request is bigger than any the meter holds."""
    return answer(dialect, 413, "METER_CALL_TOO_BIG", f"a request may have {bytes_max} bytes")


def unreachable(dialect: Dialect, reason: str) -> Answer:
    """Say that the provider could not be reached or broke off before it answered; to be tried again."""
    return answer(dialect, UNREACHABLE, "METER_UPSTREAM", reason)


def no_upgrade() -> Answer:
    """Tell a client that wants a WebSocket to speak plain HTTP, which it knows as well."""
    refused = answer(Dialect.RESPONSES, 426, "METER_NO_WEBSOCKET", "only plain HTTP is counted here")
    return Answer(status=refused.status, body=refused.body, headers={**refused.headers, "upgrade": "HTTP/1.1"})


KINDS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "invalid_request_error"),
    401: ("authentication_error", "invalid_request_error"),
    402: ("billing_error", "insufficient_quota"),
    404: ("not_found_error", "invalid_request_error"),
    413: ("request_too_large", "invalid_request_error"),
    426: ("invalid_request_error", "invalid_request_error"),
    UNREACHABLE: ("api_error", "server_error"),
}


def answer(dialect: Dialect, status: int, code: str, message: str, *, mark: str = MARK) -> Answer:
    """Write an error as this dialect's provider would; what is the provider's failure may be tried again."""
    theirs, openais = KINDS[status]
    told = f"{mark}: {code}: {message}"
    match dialect:
        case Dialect.ANTHROPIC:
            body: dict[str, object] = {"type": "error", "error": {"type": theirs, "message": told}}
        case Dialect.RESPONSES | Dialect.CHAT:
            code_of = {401: "invalid_api_key", 402: "insufficient_quota"}.get(status, code.lower())
            body = {"error": {"type": openais, "code": code_of, "param": None, "message": told}}
    headers = {"content-type": JSON_TYPE, "x-workloop-refusal": code}
    if status != UNREACHABLE:
        headers["x-should-retry"] = "false"
    return Answer(status=status, body=msgspec.json.encode(body), headers=headers)
