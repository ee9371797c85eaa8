"""How an error is told over HTTP: which status each kind gets, and the problem document."""

import json
from typing import Any, Final

from starlette.responses import Response

from workloop.client import problem
from workloop.domain.errors import (
    BadRequest,
    BudgetSpent,
    Conflict,
    EvidenceRejected,
    Fault,
    Forbidden,
    IntegrityFault,
    LeaseLost,
    NotFound,
    Refusal,
    StoreUnavailable,
    WorkloopError,
)

RETRY_AFTER_SECONDS = 1
STATUS_OF: Final[dict[str, int]] = {
    Refusal.kind: 400,
    BadRequest.kind: 400,
    Forbidden.kind: 403,
    NotFound.kind: 404,
    Conflict.kind: 409,
    LeaseLost.kind: 409,
    EvidenceRejected.kind: 422,
    BudgetSpent.kind: 402,
    Fault.kind: 500,
    IntegrityFault.kind: 500,
    StoreUnavailable.kind: 503,
}
UNAUTHORIZED = 401


def json_bytes(facts: dict[str, Any]) -> bytes:
    """Write facts as compact JSON in plain ASCII."""
    return json.dumps(facts, separators=(",", ":")).encode()


def problem_response(error: WorkloopError, status: int | None = None) -> Response:
    """Answer an error as application/problem+json."""
    code = status or STATUS_OF.get(error.kind, 500)
    headers: dict[str, str] = {}
    if isinstance(error, StoreUnavailable):
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    if code == UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    body = json_bytes({**problem(error), "status": code})
    return Response(body, code, headers, media_type="application/problem+json")
