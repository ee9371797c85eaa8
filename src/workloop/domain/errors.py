"""Every way in which Workloop says no, as one tree with stable codes.

WorkloopError
├── Refusal             expected and typed: the rules say no, nothing was written
│   ├── BadRequest          the call itself is wrong
│   ├── NotFound            no such campaign, item, lane or question
│   ├── Conflict            the state of things forbids it
│   │   └── LeaseLost           a stale claim; the holder must stop writing
│   ├── EvidenceRejected    the proof is missing, stale or not durable
│   ├── BudgetSpent         a ceiling on spending has no room left
│   └── Forbidden           the credential may not do this
└── Fault               the outside failed; may be tried again when retryable
    ├── StoreUnavailable    busy, full, read-only or gone
    └── IntegrityFault      the store contradicts itself or cannot be trusted
"""

from collections.abc import Mapping
from typing import ClassVar

Detail = str | int | bool | None | list[str] | Mapping[str, str | int | bool | None] | list[Mapping[str, str | int]]


class WorkloopError(Exception):
    """An error with a stable code, a hint for the next step, and facts for machines."""

    kind: ClassVar[str] = "error"
    retryable_by_default: ClassVar[bool] = False

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        retryable: bool | None = None,
        facts: Mapping[str, Detail] | None = None,
        **details: Detail,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.retryable = self.retryable_by_default if retryable is None else retryable
        self.details: dict[str, Detail] = {**(facts or {}), **details}

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Refusal(WorkloopError):
    """The rules say no and nothing was written."""

    kind = "refusal"


class BadRequest(Refusal):
    """The call is malformed: a field is missing, unknown, or out of range."""

    kind = "bad-request"


class NotFound(Refusal):
    """The named thing does not exist."""

    kind = "not-found"


class Conflict(Refusal):
    """The present state forbids the call."""

    kind = "conflict"


class LeaseLost(Conflict):
    """The claim is no longer the caller's; it must stop writing at once."""

    kind = "lease-lost"

    def __init__(self, message: str, *, code: str = "LEASE_LOST") -> None:
        super().__init__(
            code,
            message,
            hint="stop writing now; the work you committed is kept, claim again to go on",
            stop_writing=True,
        )


class EvidenceRejected(Refusal):
    """The claim is still yours, but what you brought does not prove the outcome."""

    kind = "evidence"


class BudgetSpent(Refusal):
    """A ceiling on what may be spent leaves no room; nothing was spent."""

    kind = "budget"


class Forbidden(Refusal):
    """The credential may not do this."""

    kind = "forbidden"


class Fault(WorkloopError):
    """Something outside the rules failed."""

    kind = "fault"


class StoreUnavailable(Fault):
    """The store cannot be used now; nothing was written."""

    kind = "unavailable"
    retryable_by_default = True


class IntegrityFault(Fault):
    """The store is damaged, foreign or newer than this program; it is left as it is."""

    kind = "integrity"
