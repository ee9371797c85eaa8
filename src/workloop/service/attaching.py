"""How evidence is kept before a claim is settled, so that a crash does not lose it."""

from collections.abc import Sequence
from typing import TypedDict

from workloop.domain.errors import BadRequest
from workloop.domain.evidence import NewEvidence
from workloop.service.call import Call
from workloop.service.ending import owned
from workloop.service.proving import keep

PIECES_MAX = 100


class AttachAnswer(TypedDict):
    """How many pieces a claim's evidence has now."""

    key: str
    kept: int


def attach(call: Call, token: str, brought: Sequence[NewEvidence]) -> AttachAnswer:
    """Keep evidence under a live claim; the host's becomes a receipt of the candidate under judgement."""
    item, claim = owned(call, token)
    if not 1 <= len(brought) <= PIECES_MAX:
        raise BadRequest("BAD_REQUEST", f"attach 1 to {PIECES_MAX} pieces", hint="split the list", field="evidence")
    kept = keep(call, item, claim, brought, item.candidate_sha)
    return {"key": item.key, "kept": len(kept)}
