"""What a run may spend and has spent, in whole micro-dollars; what is reserved is settled, never forgotten."""

from workloop.repair.ledger.records import ChargeState
from workloop.repair.port import Charge


class Purse:
    """Counts a run's money: at most one phase has something reserved, and its bill decides what is left."""

    def __init__(self, cap_microusd: int) -> None:
        self.cap_microusd = cap_microusd
        self.spent_microusd = 0
        self.reserved_microusd = 0
        self.unknown_charges = 0

    @property
    def left_microusd(self) -> int:
        """Return what may still be spent; a bill above the cap leaves nothing, and is not forgotten."""
        return max(0, self.cap_microusd - self.spent_microusd)

    @property
    def overspent(self) -> bool:
        """Tell whether more was billed than was allowed."""
        return self.spent_microusd > self.cap_microusd

    def reserve(self) -> int:
        """Set all that is left aside for the one phase that begins now."""
        assert self.reserved_microusd == 0, "one phase spends at a time"
        self.reserved_microusd = self.left_microusd
        return self.reserved_microusd

    def settle(self, charge: Charge) -> None:
        """Book a phase's bill as it is, however large, and give the rest of the reserve back."""
        self.reserved_microusd = 0
        if charge.state is ChargeState.UNKNOWN:
            self.unknown_charges += 1
        else:
            self.spent_microusd += charge.microusd


def larger(first: Charge, second: Charge) -> Charge:
    """Return the bill to be booked where two were given for the same phase; unknown outweighs any sum."""
    for charge in (first, second):
        if charge.state is ChargeState.UNKNOWN:
            return charge
    return first if first.microusd >= second.microusd else second
