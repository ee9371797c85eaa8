"""How the meter asks whether a call may still be sent, and tells what it came to."""

import threading
from typing import Final

from workloop.domain.session import Tokens
from workloop.domain.spend import Amount
from workloop.driver.spending.purse import Purse, said_of
from workloop.runner.meter.port import CallCharge, CallOutcome, CallPlan, CallRefusal

BYTES_A_TOKEN: Final = 4
SPENT: Final = "BUDGET_SPENT"
SEEN_WHOLE: Final = frozenset({CallOutcome.OK, CallOutcome.FAILED})


class PurseAllowance:
    """One session's allowance: calls under way count with what they send, at least; of answers nobody knows.

    So a ceiling is passed by no more than the answers of the calls that were under way when it was reached.
    """

    def __init__(self, purse: Purse) -> None:
        self.purse = purse
        self.turn = threading.Lock()
        self.sent: dict[int, int] = {}
        self.refused = 0

    def admit(self, plan: CallPlan) -> CallRefusal | None:
        """Say why the call may not be sent, or keep what it sends aside and return None."""
        with self.turn:
            sends = plan.input_bytes // BYTES_A_TOKEN
            used = self.purse.used() + Amount(Tokens(input=sum(self.sent.values())))
            cut = self.purse.granted().crossed(used)
            if cut is None:
                self.sent[plan.number] = sends
                return None
            self.refused += 1
            self.purse.cut = self.purse.cut or cut
        return CallRefusal(code=SPENT, message=said_of(cut, used))

    def charge(self, charge: CallCharge) -> None:
        """Book an admitted call that is over."""
        with self.turn:
            self.sent.pop(charge.number, None)
        whole = charge.exact and charge.outcome in SEEN_WHOLE
        self.purse.meter(charge.tokens, charge.cost_micros, whole=whole)
