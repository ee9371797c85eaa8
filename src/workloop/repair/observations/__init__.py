"""Findings about a harness in the events of its sessions, and all that a driver needs of them in one place."""

from workloop.repair.observations.finding import (
    EvidenceRef,
    Observation,
    ObservationKind,
    ObservationSource,
    fingerprint,
)
from workloop.repair.observations.from_events import evidence_holds, observations_from_events, unpaired
from workloop.repair.observations.lines import lines_of
from workloop.repair.observations.reading import EvidenceState, Reading, read_events
from workloop.repair.observations.suggestions import Reproducer, Suggestion, admit
from workloop.repair.observations.thresholds import Thresholds

__all__ = [
    "EvidenceRef",
    "EvidenceState",
    "Observation",
    "ObservationKind",
    "ObservationSource",
    "Reading",
    "Reproducer",
    "Suggestion",
    "Thresholds",
    "admit",
    "evidence_holds",
    "fingerprint",
    "lines_of",
    "observations_from_events",
    "read_events",
    "unpaired",
]
