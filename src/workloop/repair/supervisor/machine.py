"""What may follow what in a bench run, as one table; whatever is not in it cannot happen."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Step(StrEnum):
    """Where a run stands."""

    SELECT = "select"
    TASK = "task"
    ACCEPT = "accept"
    OBSERVE = "observe"
    CONFIRM = "confirm"
    REPAIR = "repair"
    REGRESSION = "regression"
    REPRODUCER = "reproducer"
    ACTIVATE = "activate"
    REJECT = "reject"
    OUTCOME = "outcome"
    STOPPED = "stopped"


class Event(StrEnum):
    """How a step went."""

    TAKEN = "taken"
    CANDIDATE = "candidate"
    NO_CANDIDATE = "no-candidate"
    JUDGED = "judged"
    FOUND = "found"
    NOTHING = "nothing"
    PASSED = "passed"
    FAILED = "failed"
    ACTIVATED = "activated"
    AGAIN = "again"
    GIVEN_UP = "given-up"
    STOP = "stop"


TABLE: Final[Mapping[tuple[Step, Event], Step]] = {
    (Step.SELECT, Event.TAKEN): Step.TASK,
    (Step.TASK, Event.CANDIDATE): Step.ACCEPT,
    (Step.TASK, Event.NO_CANDIDATE): Step.OBSERVE,
    (Step.ACCEPT, Event.JUDGED): Step.OBSERVE,
    (Step.OBSERVE, Event.FOUND): Step.CONFIRM,
    (Step.OBSERVE, Event.NOTHING): Step.OUTCOME,
    (Step.CONFIRM, Event.PASSED): Step.REPAIR,
    (Step.CONFIRM, Event.FAILED): Step.OBSERVE,
    (Step.REPAIR, Event.CANDIDATE): Step.REGRESSION,
    (Step.REPAIR, Event.NO_CANDIDATE): Step.REJECT,
    (Step.REGRESSION, Event.PASSED): Step.REPRODUCER,
    (Step.REGRESSION, Event.FAILED): Step.REJECT,
    (Step.REPRODUCER, Event.PASSED): Step.ACTIVATE,
    (Step.REPRODUCER, Event.FAILED): Step.REJECT,
    (Step.ACTIVATE, Event.ACTIVATED): Step.OBSERVE,
    (Step.REJECT, Event.AGAIN): Step.REPAIR,
    (Step.REJECT, Event.GIVEN_UP): Step.OBSERVE,
    (Step.OUTCOME, Event.AGAIN): Step.TASK,
    (Step.OUTCOME, Event.GIVEN_UP): Step.SELECT,
    **{(step, Event.STOP): Step.STOPPED for step in Step if step is not Step.STOPPED},
}


def next_step(step: Step, event: Event) -> Step:
    """Return the step that follows; raises ValueError for what cannot happen."""
    try:
        return TABLE[step, event]
    except KeyError as error:
        raise ValueError(f"{event.value!r} cannot happen in step {step.value!r}") from error
