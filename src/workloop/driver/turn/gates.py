"""Which agent accounts may be used now: what their sessions showed, kept over restarts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from workloop.domain import availability
from workloop.domain.availability import worth_telling
from workloop.domain.clock import Instant, to_text
from workloop.domain.gate import Admission, Entry, Gate, GateKey, GatePolicy, GateState, Seen, Source
from workloop.driver.project import Tell
from workloop.driver.scheduling.situation import GateView, Standing


class Gates:
    """Every gate that anything is known of; `kept` is given each change."""

    def __init__(self, policy: GatePolicy, tell: Tell, kept: Callable[[Sequence[Gate]], None]) -> None:
        self.policy = policy
        self.tell = tell
        self.kept = kept
        self.known: dict[GateKey, Gate] = {}

    def restore(self, gates: Iterable[Gate], now: Instant) -> None:
        """Take up what an earlier run knew; a session that was to try a gate died with it and told nothing."""
        for gate in gates:
            self.known[gate.key] = availability.probe_lost(gate, now, self.policy)

    def admission(self, key: GateKey, now: Instant) -> Admission:
        """Say what may start behind a gate."""
        return availability.admission(self.known.values(), key, now)

    def view(self, key: GateKey, now: Instant, *, probes: bool) -> GateView:
        """Return how a gate stands for the scheduler; `probes` tells whether its agent can be tried cheaply.

        A limit is tried by a cheap session before its stated end, and by a real one from its end on.
        """
        found = self.admission(key, now)
        gate = found.by
        if found.entry is Entry.GO or gate is None:
            return GateView(key=key)
        match gate.state:
            case GateState.STOPPED:
                return GateView(key=key, standing=Standing.STOPPED, remedy=remedy(gate), by=gate.key)
            case GateState.PROBING:
                return GateView(key=key, standing=Standing.PROBING, by=gate.key)
            case GateState.LIMITED | GateState.OPEN:
                end = max(gate.until or now, gate.try_at or now)
                early = gate.try_at if probes and gate.try_at is not None and gate.try_at < end else None
                stated = gate.source is Source.STATED
                view = GateView(key=key, standing=Standing.LIMITED, until=end, probe_at=early, by=gate.key)
                return replace(view, stated=stated)

    def met(self, key: GateKey, seen: Seen) -> list[Gate]:
        """Take note of how a session ended; returns the gates that are stopped by it and were not before."""
        return self.change(availability.after(self.known.values(), key, seen, self.policy))

    def trying(self, key: GateKey, now: Instant) -> None:
        """Let one session try a shut gate; nothing else passes until it told something."""
        gate = self.known.get(key)
        if gate is not None and gate.state is GateState.LIMITED:
            self.change([availability.probing(gate, now)])

    def untold(self, key: GateKey, now: Instant) -> None:
        """Shut a gate again whose session told nothing."""
        gate = self.known.get(key)
        if gate is not None:
            self.change([availability.probe_lost(gate, now, self.policy)])

    def reopen(self, key: GateKey) -> None:
        """Open a gate by a person's word."""
        gate = self.known.get(key)
        if gate is not None and gate.state is not GateState.OPEN:
            self.change([availability.reopened(gate)])

    def reopen_named(self, name: str) -> None:
        """Open every gate of that name: a whole one, or the harness of several."""
        for key in list(self.known):
            if name in ("", key.harness, str(key)):
                self.reopen(key)

    def asked(self, key: GateKey, question: str) -> None:
        """Note what a person was asked about a stopped gate."""
        self.change([replace(self.known[key], question=question)])

    def stopped(self) -> list[Gate]:
        """Return the gates that wait for a person."""
        return [gate for gate in self.known.values() if gate.state is GateState.STOPPED]

    def change(self, gates: Sequence[Gate]) -> list[Gate]:
        """Let gates stand anew, tell of what a person should hear, and keep it."""
        fresh: list[Gate] = []
        changed = [gate for gate in gates if self.known.get(gate.key) != gate]
        for gate in changed:
            before = self.known.get(gate.key)
            self.known[gate.key] = gate
            if worth_telling(before, gate):
                self.tell_of(gate)
            if gate.state is GateState.STOPPED and (before is None or before.state is not GateState.STOPPED):
                fresh.append(gate)
        if changed:
            self.kept(changed)
        return fresh

    def tell_of(self, gate: Gate) -> None:
        """Say how a gate stands now."""
        facts = {"gate": str(gate.key), "detail": gate.detail}
        match gate.state:
            case GateState.OPEN:
                self.tell("reopened", {"gate": str(gate.key)})
            case GateState.STOPPED:
                self.tell("stopped", {**facts, "remedy": gate.remedy})
            case GateState.LIMITED | GateState.PROBING:
                until = to_text(gate.until) if gate.until is not None else ""
                self.tell("limited", {**facts, "until": until})


def remedy(gate: Gate) -> str:
    """Say what stopped a gate and what a person must do."""
    cause = gate.cause.value if gate.cause is not None else ""
    return "; ".join(part for part in (f"{cause}: {gate.detail}".strip(": "), gate.remedy) if part)
