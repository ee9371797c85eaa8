"""What the sessions of one phase may still spend together, call by call: a worst case is set aside before each."""

import threading
from collections.abc import Callable
from typing import Final

from workloop.domain.session import Tokens
from workloop.repair.port import Charge, settled, unknown
from workloop.runner.meter.port import CallCharge, CallPlan, CallRefusal, Dialect

BYTES_A_TOKEN: Final = 4
SPENT: Final = "BUDGET_SPENT"
BASIS: Final = "metered"

Price = Callable[[Dialect, str, Tokens], int | None]
"""What tokens of a model cost in micro-dollars; None where nobody knows."""


class PhaseAllowance:
    """One phase's money; called from the meter's thread, read from the supervisor's.

    A call that says how long its answer may become is let through only if its worst case fits into what is left; of
    one that does not, what it sends is counted, so that only its answer can pass the limit.
    """

    def __init__(self, cap_microusd: int, price: Price) -> None:
        self.cap_microusd = cap_microusd
        self.price = price
        self.turn = threading.Lock()
        self.spent_microusd = 0
        self.held: dict[tuple[str, int], int] = {}
        self.refused = 0
        self.doubt = ""

    def admit(self, plan: CallPlan) -> CallRefusal | None:
        """Say why the call may not be sent, or set its worst case aside and return None."""
        tokens = Tokens(input=plan.input_bytes // BYTES_A_TOKEN, output=plan.output_tokens_max or 0)
        worst = self.price(plan.dialect, plan.model, tokens)
        with self.turn:
            used = self.spent_microusd + sum(self.held.values())
            if worst is not None and used + worst <= self.cap_microusd and used < self.cap_microusd:
                self.held[plan.session_id, plan.number] = worst
                return None
            self.refused += 1
        needs = "of a model without a known price" if worst is None else f"that may cost {worst}"
        message = f"maxSpendUsd: {used} of {self.cap_microusd} micro-dollars are used, which leaves no room for a call"
        return CallRefusal(code=SPENT, message=f"{message} {needs}")

    def charge(self, charge: CallCharge) -> None:
        """Book an admitted call that is over; one whose cost is a floor only leaves the phase's charge unknown."""
        with self.turn:
            self.held.pop((charge.session_id, charge.number), None)
            self.spent_microusd += charge.cost_micros or 0
            if charge.cost_micros is None or not charge.exact:
                self.doubt = self.doubt or f"call {charge.number} ended {charge.outcome} with a cost that nobody knows"

    def doubted(self, why: str) -> None:
        """Note that something was spent that did not come through the meter."""
        with self.turn:
            self.doubt = self.doubt or why

    def bill(self) -> Charge:
        """Return what the phase cost by the meter; calls that are still under way are in nobody's books."""
        with self.turn:
            doubt = self.doubt or ("calls are still under way" if self.held else "")
            return unknown(doubt) if doubt else settled(self.spent_microusd, BASIS)
