"""What each credential may do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workloop.domain.errors import Forbidden


class Grant(StrEnum):
    """The reach of a credential, from widest to narrowest."""

    OPERATOR = "operator"
    COORDINATOR = "coordinator"
    SESSION = "session"
    READER = "reader"


LANES = frozenset({"lane_acquire", "lane_record", "lane_clean", "lane_release"})
READS = frozenset({"status", "show", "list", "why"})
SESSION = LANES | {"show", "why", "heartbeat", "attach", "complete", "retry", "defer", "release", "add_items"}
COORDINATOR = SESSION | READS | {"claim", "verify", "supersede"}
OPERATOR = COORDINATOR | {"answer", "promote", "cancel", "pause", "resume"}

ALLOWED: Final[dict[Grant, frozenset[str]]] = {
    Grant.READER: READS,
    Grant.SESSION: SESSION,
    Grant.COORDINATOR: COORDINATOR,
    Grant.OPERATOR: OPERATOR,
}
HUMAN_ONLY = frozenset({"answer", "promote", "cancel", "pause", "resume"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who calls: a credential's name and reach; a session has its claim's token, and only the host makes receipts.

    sandbox is what the host runs its executors in, which is recorded on its claims; nobody else is believed.
    """

    principal: str
    grant: Grant
    host: bool = False
    token: str = ""
    sandbox: str = "none"


def require_allowed(actor: Actor, action: str) -> None:
    """Refuse an action that the caller's grant does not cover."""
    if action in ALLOWED[actor.grant]:
        return
    code = "HUMAN_ONLY" if action in HUMAN_ONLY else "FORBIDDEN"
    raise Forbidden(
        code,
        f"a {actor.grant} credential may not {action.replace('_', ' ')}",
        hint="ask a person with an operator credential" if code == "HUMAN_ONLY" else "use another credential",
    )
