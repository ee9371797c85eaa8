"""What a session's end means for its item and for the loop: one row per class."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workloop.domain.session import SessionClass


class ItemEnd(StrEnum):
    """How the loop ends a claim that its session did not settle."""

    RETRY = "retry"
    INFRA = "infra"
    FORFEIT = "forfeit"


class LoopEnd(StrEnum):
    """What the loop does after such a session."""

    NEXT = "next"
    PAUSE = "pause"
    STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """What follows for the item and the loop, and what the next attempt does differently."""

    item: ItemEnd
    loop: LoopEnd
    next_action: str


def row(item: ItemEnd, loop: LoopEnd, next_action: str) -> Consequence:
    """Write one row of the table."""
    return Consequence(item=item, loop=loop, next_action=next_action)


R, INFRA, F = ItemEnd.RETRY, ItemEnd.INFRA, ItemEnd.FORFEIT

CONSEQUENCES: Final[dict[SessionClass, Consequence]] = {
    SessionClass.CLEAN: row(R, LoopEnd.NEXT, "end with work_loop: the last session stopped without settling"),
    SessionClass.LIMITED: row(INFRA, LoopEnd.PAUSE, "wait for the limit's reset"),
    SessionClass.TRANSIENT: row(INFRA, LoopEnd.NEXT, "try again a little later"),
    SessionClass.AUTH: row(INFRA, LoopEnd.STOP, "log the agent in again"),
    SessionClass.BILLING: row(INFRA, LoopEnd.STOP, "settle the account's billing"),
    SessionClass.CONFIG: row(INFRA, LoopEnd.STOP, "correct the harness's configuration"),
    SessionClass.MODEL_MISSING: row(INFRA, LoopEnd.STOP, "name a model that exists"),
    SessionClass.CONTEXT: row(R, LoopEnd.NEXT, "read less at once: the context ran out"),
    SessionClass.TURN_CAP: row(R, LoopEnd.NEXT, "reach the objective in fewer turns: the cap was hit"),
    SessionClass.COST_CAP: row(R, LoopEnd.NEXT, "spend less: the session's ceiling was hit"),
    SessionClass.REFUSAL: row(R, LoopEnd.NEXT, "approach it in another way: the model refused"),
    SessionClass.DENIED: row(R, LoopEnd.NEXT, "do without the tool that was denied"),
    SessionClass.DEAD: row(R, LoopEnd.NEXT, "begin anew: the session produced nothing"),
    SessionClass.HUNG: row(F, LoopEnd.NEXT, "begin anew: the session stopped making progress"),
    SessionClass.CRASHED: row(R, LoopEnd.NEXT, "begin anew: the session's process died"),
    SessionClass.STOPPED: row(INFRA, LoopEnd.NEXT, "go on: the operator stopped the session"),
}

HOST_ADVICE: Final = frozenset(row.next_action for row in CONSEQUENCES.values())
