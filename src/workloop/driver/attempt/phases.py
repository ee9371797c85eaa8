"""In which order a work item's sessions share it, with which agent and bounds, and when one may hand it to the next."""

from dataclasses import replace
from typing import Final

from workloop.config import PhaseConfig
from workloop.domain.clock import Instant
from workloop.domain.gate import MINUTE_US, Entry
from workloop.driver.attempt.hints import Hint
from workloop.driver.attempt.holding import Lease
from workloop.driver.attempt.outcomes import ORDERLY, EndClass, trusted
from workloop.driver.attempt.starting import Ended
from workloop.driver.project import SessionKit

SHUT_AGAIN_US: Final = 15 * MINUTE_US
WHOLE: Final = PhaseConfig(name="")
"""The one phase of an item that is not shared out: the brief is the one of its role."""


def phases_of(kit: SessionKit, role: str, hint: Hint | None) -> tuple[PhaseConfig, ...]:
    """Return the phases that are still to come: all of them, or those from where an interrupted attempt stood."""
    if role != "work" or not kit.phases:
        return (WHOLE,)
    names = [phase.name for phase in kit.phases]
    first = names.index(hint.phase) if hint is not None and hint.phase in names else 0
    return kit.phases[first:]


def kit_for(kit: SessionKit, phase: PhaseConfig) -> SessionKit:
    """Return what a phase's sessions are started with: its own agent and tier, and its own bounds.

    A phase that names no harness has the one that began the item, whichever agent the phase before it had.
    """
    own = kit.crew(phase.harness, phase.tier) if kit.crew is not None and phase.name else kit
    own = replace(own, others=() if phase.harness else kit.others)
    if phase.turns_max is not None:
        own = replace(own, turns_max=phase.turns_max)
    if phase.wall_seconds is not None:
        own = replace(own, limits=replace(own.limits, wall_seconds=phase.wall_seconds))
    return own


def ended_well(ended: Ended, lease: Lease, *, begun_at: str) -> bool:
    """Tell whether a phase that is not the last one did its share, so that the next may begin.

    Its claim is still held, its stream can be believed, and it ended by itself with work that is committed; one that
    ran into a cap of its own must have committed something new.
    """
    if lease.lost or ended.kind not in ORDERLY or not trusted(ended.report):
        return False
    witness = lease.witness
    if witness is None or witness.tree is None:
        return False
    since = witness.tree.base if ended.kind is EndClass.CLEAN else begun_at
    return witness.workshop.advanced(witness.tree, since)


def seam_hindrance(kit: SessionKit, lease: Lease, now: Instant) -> tuple[str, Instant | None]:
    """Return why a phase may not begin now, nothing when it may, and when its agent's gate is to be asked again.

    It is asked again after a while that no clock's error hides from the store, or the item would be taken up at once.
    """
    if lease.stop.requested.is_set():
        return lease.stop.reason, None
    asked = kit.oversight.may_go_on(kit.gate)
    if asked:
        return asked, None
    found = kit.oversight.enter(kit.gate)
    if found.entry is Entry.GO:
        return "", None
    return f"{kit.gate} is closed", max(found.at or now, Instant(now + SHUT_AGAIN_US))
