"""How a ledger says no: before it exists, or once it can no longer be written or believed."""

from typing import ClassVar

from workloop.domain.errors import Fault


class LedgerFault(Fault):
    """The ledger cannot be written or believed; nothing more may be done in its name."""

    kind: ClassVar[str] = "integrity"


class LedgerRefused(LedgerFault):
    """No ledger was made: what is at its path or above it forbids that, and was left as it is."""

    kind: ClassVar[str] = "bad-request"
