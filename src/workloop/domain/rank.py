"""Which ready item goes first, and how long the last can wait.

rank = ready_at + priority * step, lower first. With the default step of 216 seconds an item of priority p that became
ready at t goes before every item of priority q that becomes ready later than t + (p - q) * step: so an item waits, for
others than those already ahead of it, at most (p - 1) * step: 59.9 hours at the lowest priority of 1000, 5.9 hours at
the ordinary 100. A campaign that wants strict order sets the step to STRICT_STEP_US, a century.
"""

from workloop.domain.clock import Instant

PRIORITY_LOWEST_NUMBER = 1
PRIORITY_HIGHEST_NUMBER = 1000
PRIORITY_DEFAULT = 100
STEP_US = 216_000_000
STRICT_STEP_US = 100 * 365 * 86_400 * 1_000_000
FOLLOW_UP_LEAD = 10


def rank(ready_at: Instant, priority: int, step_us: int) -> int:
    """Return an item's place among the ready, lower first."""
    return ready_at + priority * step_us


def wait_bound_us(priority: int, step_us: int) -> int:
    """Return the longest time for which later arrivals can be served before an item of this priority."""
    return (priority - PRIORITY_LOWEST_NUMBER) * step_us


def follow_up_priority(root_priority: int) -> int:
    """Return the priority of a verify or repair item: ahead of ordinary work, and of its own root."""
    return max(PRIORITY_LOWEST_NUMBER, min(root_priority, PRIORITY_DEFAULT) - FOLLOW_UP_LEAD)
