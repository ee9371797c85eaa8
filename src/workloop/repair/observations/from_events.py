"""What the events of sessions say about their harness, computed from the events alone: same events, same findings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workloop.domain.session import SessionEvent
from workloop.repair.observations.excuses import charged, is_slow
from workloop.repair.observations.finding import (
    EVIDENCE_MAX,
    PLACES_MAX,
    SUBJECT_CHARACTERS_MAX,
    EvidenceRef,
    Observation,
    ObservationKind,
    ObservationSource,
    fingerprint,
)
from workloop.repair.observations.lines import digest_at, digest_of
from workloop.repair.observations.pairs import Pair, paired
from workloop.repair.observations.thresholds import Thresholds

NO_THRESHOLDS = Thresholds()
Key = tuple[ObservationKind, str, str]


@dataclass
class Tally:
    """What is known of one possible finding so far."""

    count: int = 0
    longest_ms: int = 0
    places: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    def add(self, session_id: str, pair: Pair) -> None:
        """Count one call more."""
        self.count += 1
        self.longest_ms = max(self.longest_ms, pair.took_us // 1_000)
        self.places.setdefault(session_id, set()).update(pair.places)


def observations_from_events(
    events: Iterable[SessionEvent], thresholds: Thresholds = NO_THRESHOLDS
) -> tuple[Observation, ...]:
    """Return what can be held against the harness, in a fixed order; each is a reason to look and no verdict.

    The events may be of several sessions; those of one session are in their order.
    """
    sessions = by_session(events)
    tallies: dict[Key, Tally] = {}
    for session_id, own in sessions.items():
        for pair in paired(own).pairs:
            for key in keys_of(pair, thresholds):
                tallies.setdefault(key, Tally()).add(session_id, pair)
    found = [
        observation(key, tallies[key], sessions, thresholds)
        for key in sorted(tallies)
        if measured(key, tallies[key]) >= threshold(key, thresholds)
    ]
    return tuple(found)


def unpaired(events: Iterable[SessionEvent]) -> Mapping[str, tuple[int, ...]]:
    """Return by session the places of calls without an end and of ends without a call: nothing is concluded of them."""
    lone = {session_id: paired(own).unpaired for session_id, own in by_session(events).items()}
    return {session_id: places for session_id, places in lone.items() if places}


def by_session(events: Iterable[SessionEvent]) -> dict[str, list[SessionEvent]]:
    """Sort events by their session, which comes in the order of its id."""
    sessions: dict[str, list[SessionEvent]] = {}
    for event in events:
        sessions.setdefault(event.session_id, []).append(event)
    return dict(sorted(sessions.items()))


def keys_of(pair: Pair, thresholds: Thresholds) -> list[Key]:
    """Return the findings that one call counts for."""
    name = pair.call.name[:SUBJECT_CHARACTERS_MAX]
    if not name:
        return []
    kind = charged(pair, thresholds)
    keys: list[Key] = [] if kind is None else [(kind, name, pair.end.result.value)]
    return [*keys, (ObservationKind.SLOW_TOOL, name, "")] if is_slow(pair, thresholds) else keys


def measured(key: Key, tally: Tally) -> int:
    """Return what is compared with the threshold: milliseconds of a slow tool, else how often."""
    return tally.longest_ms if key[0] is ObservationKind.SLOW_TOOL else tally.count


def threshold(key: Key, thresholds: Thresholds) -> int:
    """Return what a finding must reach."""
    match key[0]:
        case ObservationKind.TOOL_ERROR:
            return thresholds.errors
        case ObservationKind.MISSING_TOOL:
            return thresholds.missing
        case ObservationKind.SLOW_TOOL:
            return thresholds.slow_ms_for(key[1])


def observation(
    key: Key, tally: Tally, sessions: Mapping[str, Sequence[SessionEvent]], thresholds: Thresholds
) -> Observation:
    """Say a finding with the evidence for it."""
    kind, name, signature = key
    refs = [evidence(sessions[session_id], places) for session_id, places in tally.places.items()]
    return Observation(
        fingerprint=fingerprint(kind, name, signature),
        kind=kind,
        subject=name,
        evidence=tuple(refs[:EVIDENCE_MAX]),
        measured=measured(key, tally),
        threshold=threshold(key, thresholds),
        source=ObservationSource.EVENTS,
    )


def evidence(events: Sequence[SessionEvent], places: Iterable[int]) -> EvidenceRef:
    """Point at some events of a session."""
    kept = tuple(sorted(places)[:PLACES_MAX])
    return EvidenceRef(
        session_id=events[0].session_id, places=kept, digest=digest_at(events, kept), stream=digest_of(events)
    )


def evidence_holds(ref: EvidenceRef, events: Iterable[SessionEvent]) -> bool:
    """Say whether a piece of evidence is what stands at its places in exactly these events."""
    own = by_session(events).get(ref.session_id, [])
    return digest_of(own) == ref.stream and digest_at(own, ref.places) == ref.digest
