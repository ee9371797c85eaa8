"""When a lane that failed is tried again, and from when on only a person's word lets it be tried."""

from dataclasses import dataclass
from typing import Final

from workloop.domain.clock import SECOND_US, Instant

WAITS_US: Final = tuple(seconds * SECOND_US for seconds in (2, 10, 60))


@dataclass(slots=True, kw_only=True)
class Trouble:
    """How often in a row a lane failed, why at last, and the question about it: an item's key and a number."""

    tries: int
    failures: int = 0
    why: str = ""
    evidence: str = ""
    again_at: Instant | None = None
    question: tuple[str, str] | None = None

    def failed(self, why: str, evidence: str, now: Instant) -> None:
        """Count one more failure."""
        self.failures += 1
        self.why, self.evidence = why, evidence
        self.again_at = Instant(now + self.wait_us)

    @property
    def wait_us(self) -> int:
        """Return how long it rests after its last failure."""
        return WAITS_US[min(max(self.failures, 1), len(WAITS_US)) - 1]

    @property
    def spent(self) -> bool:
        """Tell whether all tries are used up."""
        return self.failures >= self.tries

    def due(self, now: Instant) -> bool:
        """Tell whether it may be tried now."""
        return not self.spent and (self.again_at is None or self.again_at <= now)

    def over(self) -> None:
        """Forget everything: it went well, or a person says that it is mended."""
        self.failures, self.why, self.evidence, self.again_at, self.question = 0, "", "", None, None

    def asks(self, name: str) -> str:
        """Return what a person is asked about a lane."""
        return f"{beginning(name)} {self.why}. Mend it, and close what is left in it; then answer here. Is it mended?"


def beginning(name: str) -> str:
    """Return how every question about a lane begins, by which one that is open is found again."""
    return f"Lane {name} cannot be used:"
