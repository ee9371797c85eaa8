"""When an agent account may be used: how gates open and close by what sessions meet.

A limit closes the gate of its own tier only; a login, a bill or an outage closes the whole account. A stated reset is
a hint: a cheap probe may find the gate open before it, and must find it open after it. An account of which nothing is
known is open.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, assert_never

from workloop.domain.clock import Instant, to_text
from workloop.domain.gate import (
    Admission,
    Cause,
    Entry,
    Gate,
    GateKey,
    GatePolicy,
    GateState,
    OnLimit,
    Seen,
    Source,
)
from workloop.domain.session import SessionClass

COVERS_ACCOUNT: Final = frozenset({Cause.OUTAGE, Cause.AUTH, Cause.BILLING})
COVERS_HARNESS: Final = frozenset({Cause.CONFIG})
LATEST: Final = 2**62

REMEDIES: Final = {
    Cause.AUTH: "log {key} in again, then resume it",
    Cause.BILLING: "settle the billing of {key}, then resume it",
    Cause.CONFIG: "correct the configuration of {key}, then resume it",
    Cause.MODEL_MISSING: "name a model that exists for {key}, then resume it",
    Cause.LIMIT: "resume {key} when its usage limit is over",
    Cause.OUTAGE: "find out why {key} does not answer, then resume it",
}
STOPPING: Final = {
    SessionClass.AUTH: Cause.AUTH,
    SessionClass.BILLING: Cause.BILLING,
    SessionClass.CONFIG: Cause.CONFIG,
    SessionClass.MODEL_MISSING: Cause.MODEL_MISSING,
}
SILENT: Final = frozenset({SessionClass.DEAD, SessionClass.CRASHED, SessionClass.HUNG})
"""Classes that, without any model output, make one wonder whether the account answers at all."""


def admission(gates: Iterable[Gate], key: GateKey, now: Instant) -> Admission:
    """Say what may start behind a gate now, and when to ask again; a gate that nobody spoke of is open."""
    strictest = Admission(entry=Entry.GO, at=now)
    for gate in gates:
        if concerns(gate, key):
            strictest = max(strictest, passage(gate, now), key=strictness)
    return strictest


def concerns(gate: Gate, key: GateKey) -> bool:
    """Tell whether a gate's state holds for a key: its own, and what covers its whole account or harness."""
    if gate.key == key:
        return True
    if gate.cause in COVERS_HARNESS:
        return gate.key.harness == key.harness
    return gate.cause in COVERS_ACCOUNT and (gate.key.harness, gate.key.account) == (key.harness, key.account)


def passage(gate: Gate, now: Instant) -> Admission:
    """Say what one gate by itself lets through."""
    match gate.state:
        case GateState.OPEN:
            return Admission(entry=Entry.GO, at=now)
        case GateState.STOPPED:
            return Admission(entry=Entry.CLOSED, by=gate)
        case GateState.PROBING:
            return Admission(entry=Entry.WAIT, by=gate)
        case GateState.LIMITED:
            due = gate.try_at is None or gate.try_at <= now
            return Admission(entry=Entry.PROBE if due else Entry.WAIT, at=now if due else gate.try_at, by=gate)
        case _:
            assert_never(gate.state)


def strictness(found: Admission) -> tuple[int, int]:
    """Order admissions by how little and how late they let something through."""
    order = (Entry.GO, Entry.PROBE, Entry.WAIT, Entry.CLOSED)
    return order.index(found.entry), LATEST if found.at is None else found.at


def probing(gate: Gate, now: Instant) -> Gate:
    """Book a probe that starts now; nothing else starts behind the gate until it is back."""
    return replace(gate, state=GateState.PROBING, probes=gate.probes + 1, last_probe=now)


def probe_lost(gate: Gate, now: Instant, policy: GatePolicy) -> Gate:
    """Close a gate again whose probe told nothing: it failed, or the loop that sent it died."""
    if gate.state is not GateState.PROBING:
        return gate
    return waiting(replace(gate, state=GateState.LIMITED), now, policy)


def reopened(gate: Gate) -> Gate:
    """Open a gate by a person's word: every streak begins anew, what was booked stays."""
    return Gate(key=gate.key, probes=gate.probes, last_probe=gate.last_probe)


def after(gates: Iterable[Gate], key: GateKey, met: Seen, policy: GatePolicy) -> tuple[Gate, ...]:
    """Return the gates that a session's end changes, its own first."""
    account = [gate for gate in gates if (gate.key.harness, gate.key.account) == (key.harness, key.account)]
    own = next((gate for gate in account if gate.key == key), Gate(key=key))
    others = [gate for gate in account if gate.key != key]
    if not met.produced:
        return (moved(own, met, policy, others_silent=sum(gate.silent for gate in others)),)
    heard = [(gate, heard_from(gate, met)) for gate in others]
    return (moved(own, met, policy, others_silent=0), *(new for old, new in heard if new != old))


def heard_from(gate: Gate, met: Seen) -> Gate:
    """Return another tier's gate after its account gave model output: the silence is over, and so is an outage."""
    if gate.cause is Cause.OUTAGE and gate.state is not GateState.STOPPED and speaks_for(met, gate):
        return replace(opened(gate), silent=0)
    return replace(gate, silent=0)


def speaks_for(met: Seen, gate: Gate) -> bool:
    """Tell whether a session began after a gate closed, so that its success says something about the gate."""
    return met.probe or gate.since is None or met.began_at > gate.since


def opened(gate: Gate) -> Gate:
    """Return a gate that was found open; the end of a limit is counted until there is output."""
    return Gate(
        key=gate.key,
        probes=gate.probes,
        last_probe=gate.last_probe,
        openings=gate.openings + (gate.cause is Cause.LIMIT),
    )


def moved(gate: Gate, met: Seen, policy: GatePolicy, *, others_silent: int) -> Gate:
    """Return a session's own gate after its end."""
    if met.session_class in STOPPING:
        return stopped(gate, STOPPING[met.session_class], met)
    if gate.state is GateState.STOPPED:
        return gate  # only a person opens it; a session from before has no say
    gate = streaks_ended(gate, met)
    match met.session_class:
        case SessionClass.LIMITED:
            return limited(gate, met, policy)
        case SessionClass.TRANSIENT:
            return passing(gate, met, policy)
        case SessionClass.STOPPED if not met.produced:
            return probe_lost(gate, met.ended_at, policy) if met.probe else gate
        case _ if met.session_class in SILENT and not met.produced:
            return unheard(gate, met, policy, others_silent)
        case _:
            return heard(gate, met)


def heard(gate: Gate, met: Seen) -> Gate:
    """Return a session's own gate when the account answered it."""
    if gate.state is not GateState.OPEN:
        return opened(gate) if speaks_for(met, gate) else gate
    return replace(gate, transients=0, guesses=0)


def streaks_ended(gate: Gate, met: Seen) -> Gate:
    """End the streaks that model output and a usage report end, whatever else the session met."""
    worked = met.produced and not met.probe
    return replace(
        gate,
        silent=0 if met.produced else gate.silent,
        transients=0 if met.usage_reported else gate.transients,
        openings=0 if worked and gate.state is GateState.OPEN else gate.openings,
    )


def stopped(gate: Gate, cause: Cause, met: Seen) -> Gate:
    """Close a gate until a person has acted; the remedy says how."""
    return replace(
        gate,
        state=GateState.STOPPED,
        cause=cause,
        since=gate.since or met.ended_at,
        until=None,
        source=None,
        try_at=None,
        remedy=REMEDIES[cause].format(key=gate.key),
        detail=met.detail,
    )


def limited(gate: Gate, met: Seen, policy: GatePolicy) -> Gate:
    """Close a gate for a usage limit: until the stated reset if it is plausible, else for a guessed while."""
    now, fresh = met.ended_at, gate.state is GateState.OPEN or gate.cause is not Cause.LIMIT
    believed = met.reset_at if plausible(met.reset_at, now, policy) else None
    if believed is not None:
        until, source = believed, Source.STATED
    elif fresh or gate.until is None:
        until, source = Instant(now + policy.guess_us), Source.GUESSED
    else:
        until, source = gate.until, gate.source  # the same limit, met once more
    odd = met.reset_at is not None and believed is None
    closed = replace(
        gate,
        state=GateState.LIMITED,
        cause=Cause.LIMIT,
        since=now if fresh else gate.since,
        until=until,
        source=source,
        detail=joined(unbelieved(met.reset_at) if odd else "", met.detail),
    )
    if policy.on_limit is not OnLimit.WAIT:
        return given_up(closed, f"on_limit = {policy.on_limit}")
    if gate.openings >= policy.resumes_max:
        return given_up(closed, f"opened {gate.openings} times and limited again each time without any output")
    return waiting(closed, now, policy)


def plausible(reset_at: Instant | None, now: Instant, policy: GatePolicy) -> bool:
    """Tell whether a stated reset can be one: not long past, and not further than any window reaches."""
    return reset_at is not None and now - policy.reset_past_us <= reset_at <= now + policy.reset_furthest_us


def unbelieved(reset_at: Instant | None) -> str:
    """Say that a stated reset was not believed."""
    told = to_text(reset_at) if reset_at is not None and 0 <= reset_at < 2**57 else str(reset_at)
    return f"the stated reset {told} is not plausible and was not used"


def joined(*parts: str) -> str:
    """Join what there is to say."""
    return "; ".join(part for part in parts if part)


def given_up(gate: Gate, why: str) -> Gate:
    """Stop a gate that is not to be waited for; only a person opens it."""
    return replace(
        gate,
        state=GateState.STOPPED,
        try_at=None,
        remedy=REMEDIES[gate.cause or Cause.LIMIT].format(key=gate.key),
        detail=joined(why, gate.detail),
    )


def waiting(gate: Gate, now: Instant, policy: GatePolicy) -> Gate:
    """Set when a closed gate is tried next, or give it up when it has been closed for too long."""
    if gate.since is not None and now - gate.since >= policy.wait_max_us:
        return given_up(gate, f"closed since {to_text(gate.since)}, the longest wait is over")
    return replace(gate, try_at=next_try(gate, now, policy))


def next_try(gate: Gate, now: Instant, policy: GatePolicy) -> Instant:
    """Return when a closed gate is tried next.

    Before its end: at the end or an interval from now, whichever comes first. After it, and in an outage: at doubling
    distances, from a minute to the interval. A limit that came back without output in between waits 1, 2, 4, 8 hours.
    """
    end = gate.since if gate.cause is Cause.OUTAGE else gate.until
    if gate.cause is Cause.LIMIT and gate.openings:
        rested = Instant(now + doubled(policy.resume_first_us, gate.openings - 1, policy.wait_max_us))
        return max(rested, end) if end is not None and gate.source is Source.STATED else rested
    if end is not None and end > now:
        return min(end, Instant(now + policy.probe_us))
    late_us = now - end if end is not None else 0
    return Instant(now + min(max(late_us, policy.probe_soonest_us), policy.probe_us))


def doubled(first_us: int, times: int, most_us: int) -> int:
    """Return a wait that doubles with each time, up to a bound."""
    return min(first_us << min(times, 40), most_us)


def passing(gate: Gate, met: Seen, policy: GatePolicy) -> Gate:
    """Count a passing failure; too many in a row, or too many that were only guessed, look like an outage."""
    if met.probe:
        return probe_lost(gate, met.ended_at, policy)
    failing = replace(
        gate,
        transients=gate.transients if met.usage_reported else gate.transients + 1,
        guesses=gate.guesses + met.guessed,
    )
    if failing.transients >= policy.transients_max:
        return suspected(failing, met, policy, f"{failing.transients} passing failures in a row without a usage report")
    if failing.guesses >= policy.guesses_max:
        return suspected(failing, met, policy, f"{failing.guesses} failures that were only guessed to be passing")
    return failing


def unheard(gate: Gate, met: Seen, policy: GatePolicy, others_silent: int) -> Gate:
    """Count a session without model output; several in a row on one account look like an outage."""
    if met.probe:
        return probe_lost(gate, met.ended_at, policy)
    quiet = replace(gate, silent=gate.silent + 1)
    if quiet.silent + others_silent < policy.outage_after:
        return quiet
    return suspected(quiet, met, policy, f"{quiet.silent + others_silent} sessions in a row without model output")


def suspected(gate: Gate, met: Seen, policy: GatePolicy, why: str) -> Gate:
    """Close an account that seems to be down: one probe at a time, at growing distances."""
    if gate.state is not GateState.OPEN:
        return gate
    closed = replace(
        gate,
        state=GateState.LIMITED,
        cause=Cause.OUTAGE,
        since=met.ended_at,
        source=Source.GUESSED,
        detail=joined(why, met.detail),
    )
    return waiting(closed, met.ended_at, policy)


def excused(gates: Iterable[Gate], key: GateKey) -> bool:
    """Tell whether a session without output is its account's doing, so that its item must not lose an attempt."""
    return any(concerns(gate, key) and gate.cause is Cause.OUTAGE for gate in gates)


def worth_telling(before: Gate | None, now: Gate) -> bool:
    """Tell whether a person should hear of a change: once per closing and opening, not for each probe."""
    return standing(before) != standing(now)


def standing(gate: Gate | None) -> tuple[Cause | None, bool] | None:
    """Return what a person would have to know about a gate; None when it is open."""
    if gate is None or gate.state is GateState.OPEN:
        return None
    return gate.cause, gate.state is GateState.STOPPED
