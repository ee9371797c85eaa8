"""When so many sessions of one agent die on a target that the agent is to blame and not the items."""

from collections import defaultdict, deque

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.rates import Ended, FleetPolicy, fleet
from workloop.driver.scheduling.situation import Halt

KEPT = 50
REST_US = 60 * 60 * SECOND_US


class Fleets:
    """The newest sessions of every harness on one target, and which of the harnesses rests there."""

    def __init__(self, policy: FleetPolicy | None = None) -> None:
        self.policy = policy
        self.ended: defaultdict[str, deque[Ended]] = defaultdict(lambda: deque[Ended](maxlen=KEPT))
        self.halts: dict[str, Halt] = {}
        self.unasked: list[str] = []
        self.questions: dict[str, tuple[str, str]] = {}

    def add(self, session: Ended, now: Instant) -> Halt | None:
        """Count a session; returns the rest that its harness is now given, if it is."""
        harness = session.population.harness
        counted = self.ended[harness]
        counted.append(session)
        found = fleet(list(counted), self.policy)
        if not found.pause:
            return None
        counted.clear()
        said = f"{harness} rests on this target: {found.why} ({found.failed} of {found.sessions})"
        self.halts[harness] = Halt(reason=said, until=Instant(now + REST_US))
        if harness not in self.questions:
            self.unasked.append(harness)
        return self.halts[harness]

    def to_ask_about(self) -> list[str]:
        """Return the harnesses whose rest nobody was asked about, each once."""
        found, self.unasked = self.unasked, []
        return found

    def resting(self, now: Instant) -> dict[str, Halt]:
        """Return the harnesses that rest now."""
        return {harness: halt for harness, halt in self.halts.items() if halt.holds(now)}

    def asked(self, harness: str, question: tuple[str, str]) -> None:
        """Note what a person was asked about a rest: at which item, and under which number."""
        self.questions[harness] = question

    def lift(self, harness: str) -> None:
        """Let a harness work again."""
        self.halts.pop(harness, None)
        self.questions.pop(harness, None)

    def clear(self) -> None:
        """Let every harness work again."""
        self.halts.clear()
        self.questions.clear()
