"""The state machine whole: every state with every move."""

from itertools import product

import pytest

from workloop.domain.errors import Conflict
from workloop.domain.item import OPEN, TERMINAL, State
from workloop.domain.transitions import TRANSITIONS, Move, next_state

DESIGN_TABLE = """
proposed promote pending
pending claim in_progress
in_progress retry pending
in_progress release pending
in_progress expire pending
in_progress submit candidate
in_progress finish succeeded
candidate accept succeeded
candidate reject repairing
repairing repaired candidate
in_progress defer deferred
pending park deferred
in_progress park deferred
candidate park deferred
deferred resume_pending pending
deferred resume_candidate candidate
in_progress exhaust failed
candidate exhaust failed
repairing exhaust failed
"""


def expected() -> dict[tuple[State, Move], State]:
    """Return the table of the design, written out by hand."""
    table = {}
    for line in DESIGN_TABLE.split("\n"):
        if line:
            before, move, after = line.split()
            table[State(before), Move(move)] = State(after)
    for state in OPEN:
        table[state, Move.SUPERSEDE] = State.SUPERSEDED
        table[state, Move.CANCEL] = State.CANCELLED
    return table


@pytest.mark.parametrize(("state", "move"), list(product(State, Move)))
def test_every_pair_of_state_and_move_is_decided(state: State, move: Move) -> None:
    """DESIGN 3.1: a pair is in the table or refused by a stable code."""
    after = expected().get((state, move))
    if after is not None:
        assert next_state(state, move) is after
        return
    with pytest.raises(Conflict) as caught:
        next_state(state, move)
    assert caught.value.code == "TRANSITION_REFUSED"
    assert caught.value.hint


def test_terminal_states_have_no_way_out() -> None:
    """DESIGN 3.1: a terminal row never changes again."""
    assert {state for state, _ in TRANSITIONS} & TERMINAL == set()
    assert {State.SUCCEEDED, State.FAILED, State.SUPERSEDED, State.CANCELLED} == TERMINAL


def test_every_state_can_be_reached_and_every_open_one_left_for_good() -> None:
    """DESIGN 3.1: no state is decoration, and no open state is a trap."""
    for start in (State.PROPOSED, State.PENDING):
        assert reachable(start) | {State.PROPOSED} == set(State)
    for state in OPEN:
        assert reachable(state) & {State.SUCCEEDED}


def reachable(start: State) -> set[State]:
    """Return every state that moves lead to."""
    found, frontier = {start}, [start]
    while frontier:
        here = frontier.pop()
        for (before, _), after in TRANSITIONS.items():
            if before is here and after not in found:
                found.add(after)
                frontier.append(after)
    return found
