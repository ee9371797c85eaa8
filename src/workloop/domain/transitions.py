"""The state machine of an item: one table of (state, move) to state, and nothing else decides."""

from enum import StrEnum
from typing import Final

from workloop.domain.errors import Conflict
from workloop.domain.item import OPEN, TERMINAL, State


class Move(StrEnum):
    """What can happen to an item's state."""

    PROMOTE = "promote"
    CLAIM = "claim"
    RETRY = "retry"
    RELEASE = "release"
    EXPIRE = "expire"
    SUBMIT = "submit"
    FINISH = "finish"
    ACCEPT = "accept"
    REJECT = "reject"
    REPAIRED = "repaired"
    DEFER = "defer"
    PARK = "park"
    RESUME_PENDING = "resume_pending"
    RESUME_CANDIDATE = "resume_candidate"
    SUPERSEDE = "supersede"
    EXHAUST = "exhaust"
    CANCEL = "cancel"


S, M = State, Move

TRANSITIONS: Final[dict[tuple[State, Move], State]] = {
    (S.PROPOSED, M.PROMOTE): S.PENDING,
    (S.PENDING, M.CLAIM): S.IN_PROGRESS,
    (S.IN_PROGRESS, M.RETRY): S.PENDING,
    (S.IN_PROGRESS, M.RELEASE): S.PENDING,
    (S.IN_PROGRESS, M.EXPIRE): S.PENDING,
    (S.IN_PROGRESS, M.SUBMIT): S.CANDIDATE,
    (S.IN_PROGRESS, M.FINISH): S.SUCCEEDED,
    (S.CANDIDATE, M.ACCEPT): S.SUCCEEDED,
    (S.CANDIDATE, M.REJECT): S.REPAIRING,
    (S.REPAIRING, M.REPAIRED): S.CANDIDATE,
    (S.IN_PROGRESS, M.DEFER): S.DEFERRED,
    (S.PENDING, M.PARK): S.DEFERRED,
    (S.IN_PROGRESS, M.PARK): S.DEFERRED,
    (S.CANDIDATE, M.PARK): S.DEFERRED,
    (S.DEFERRED, M.RESUME_PENDING): S.PENDING,
    (S.DEFERRED, M.RESUME_CANDIDATE): S.CANDIDATE,
    (S.IN_PROGRESS, M.EXHAUST): S.FAILED,
    (S.CANDIDATE, M.EXHAUST): S.FAILED,
    (S.REPAIRING, M.EXHAUST): S.FAILED,
    **{(state, M.SUPERSEDE): S.SUPERSEDED for state in OPEN},
    **{(state, M.CANCEL): S.CANCELLED for state in OPEN},
}


def next_state(state: State, move: Move) -> State:
    """Return the state after a move; raises Conflict when the table does not know the pair."""
    after = TRANSITIONS.get((state, move))
    if after is None:
        ended = " and never changes again" if state in TERMINAL else ""
        raise Conflict(
            "TRANSITION_REFUSED",
            f"an item that is {state} cannot {move.value.replace('_', ' ')}: it is {state}{ended}",
            hint="ask why for the item's present state",
            state=state.value,
        )
    return after
