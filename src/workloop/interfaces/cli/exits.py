"""How each way of ending becomes an exit code."""

from typing import Final

from workloop.domain.errors import WorkloopError

OK: Final = 0
UNEXPECTED: Final = 1
USAGE: Final = 2
NOTHING: Final = 3
CONFLICT: Final = 4
EVIDENCE: Final = 5
STOPPED: Final = 6
NOT_FOUND: Final = 7
UNAVAILABLE: Final = 8
INTEGRITY: Final = 9
LIMITED: Final = 75
DENIED: Final = 77
INTERRUPTED: Final = 130
TERMINATED: Final = 143

BY_KIND: Final = {
    "bad-request": USAGE,
    "not-found": NOT_FOUND,
    "conflict": CONFLICT,
    "lease-lost": CONFLICT,
    "evidence": EVIDENCE,
    "budget": STOPPED,
    "forbidden": DENIED,
    "unavailable": UNAVAILABLE,
    "integrity": INTEGRITY,
    "refusal": CONFLICT,
}
MEANINGS: Final = {
    OK: "done",
    UNEXPECTED: "something unexpected",
    USAGE: "the command or an argument is wrong",
    NOTHING: "nothing is claimable now",
    CONFLICT: "the state of things forbids it, or the lease is lost",
    EVIDENCE: "the evidence does not prove the outcome",
    STOPPED: "a budget or a brake stopped it",
    NOT_FOUND: "there is no such thing",
    UNAVAILABLE: "the store cannot be used now",
    INTEGRITY: "the store is damaged or not a store",
    LIMITED: "an agent's usage limit is reached",
    DENIED: "the credential may not do this",
    INTERRUPTED: "interrupted",
    TERMINATED: "terminated",
}


def exit_code(error: WorkloopError) -> int:
    """Return the exit code of an error."""
    return BY_KIND.get(error.kind, UNEXPECTED)
