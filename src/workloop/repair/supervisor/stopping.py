"""How a run is brought to its end from wherever it stands: one exception with the reason, the first of which counts."""

from typing import Final

from workloop.repair.ledger.records import StopReason


class StopRun(Exception):
    """The run may do nothing more but close its driver and its ledger."""

    def __init__(self, reason: StopReason, detail: str = "") -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail


ORDERLY: Final = frozenset({StopReason.QUEUE_COMPLETE, StopReason.QUEUE_COMPLETE_WITH_FAILURES, StopReason.MAX_TASKS})
"""Reasons that say nothing went wrong; a driver that cannot be closed outweighs them."""
