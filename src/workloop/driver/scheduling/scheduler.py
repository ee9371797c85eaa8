"""What the loop does next, and why not something else: one pure function of a snapshot.

Targets take turns: among those that may have a session, the one that was served longest ago is next. So a target that
stays eligible waits for at most one session of each other target, N - 1 of them, per slot that comes free.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from workloop.domain.clock import Instant, to_text
from workloop.domain.gate import GateKey
from workloop.driver.report import LoopEndReason
from workloop.driver.scheduling.blocks import Block, Code, blocks, gate_name, opens, told, usable
from workloop.driver.scheduling.situation import Snapshot, Standing, TargetView


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Give a target a session of this agent; `tries` is the shut gate that this session finds open or not.

    `instead` says why the agents that the target prefers do not get it.
    """

    target: str
    gate: GateKey
    tries: GateKey | None = None
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Try with one cheap session whether a limited gate has opened; it is booked on a target that waits for it."""

    gate: GateKey
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Start nothing until something changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """End the run once what is under way has ended."""

    reason: LoopEndReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a target, or the loop as a whole when `about` is empty, gets nothing now.

    `unblock` is the one change that would let it go on; `also` are the further things in its way, because of which
    that change alone would not do.
    """

    about: str
    code: Code
    sentence: str
    unblock: str
    until: Instant | None = None
    also: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do, why nothing else, and when to look again at the latest; None means: when something changes."""

    action: Start | Probe | Wait | Stop
    reasons: tuple[Reason, ...]
    next_wake: Instant | None


def decide(seen: Snapshot) -> Decision:
    """Choose the next thing to do."""
    found = {target.name: blocks(target, seen) for target in seen.targets}
    ready = [target for target in seen.targets if not found[target.name]]
    closed = closure(seen)
    action = choose(seen, ready, found, closed)
    reasons = [reason_of(target, found[target.name], action, seen) for target in seen.targets]
    told = [reason for reason in (closed, *reasons) if reason is not None]
    return Decision(action=action, reasons=tuple(told), next_wake=wake(seen, found))


def choose(
    seen: Snapshot, ready: Sequence[TargetView], found: dict[str, tuple[Block, ...]], closed: Reason | None
) -> Start | Probe | Wait | Stop:
    """Stop, probe, start or wait, in this order."""
    stop = ended(seen, ready, found, closed)
    if stop is not None:
        return stop
    if closed is not None:
        return Wait()
    probe = due_probe(seen, found)
    if probe is not None:
        return probe
    if not ready:
        return Wait()
    target = min(ready, key=lambda view: view.served)
    view = next(view for view in map(seen.gate, target.gates) if usable(view, seen.now))
    tries = None if view.standing is Standing.OPEN else view.by or view.key
    return Start(target=target.name, gate=view.key, tries=tries, instead=passed_over(target, seen))


def passed_over(target: TargetView, seen: Snapshot) -> str:
    """Say why the agents that a target prefers to the one that may work for it now do not."""
    shut = takewhile(lambda view: not usable(view, seen.now), map(seen.gate, target.gates))
    return "; ".join((*target.resting, *map(told, shut)))


ANEW: Final = "start the loop again: a new run begins anew"


def closure(seen: Snapshot) -> Reason | None:
    """Return what keeps the whole loop from any further session."""
    if seen.asked_to_end:
        return loop_reason(Code.ENDING, seen.asked_to_end, "start it again")
    if seen.ends_at is not None and seen.ends_at <= seen.now:
        said = f"the run was to end at {to_text(seen.ends_at)}"
        return loop_reason(Code.TIME_SPENT, said, f"{ANEW}; raise loop.run_seconds_max for a longer one")
    if seen.spent is not None:
        said = seen.spent
        return Reason(about="", code=Code.BUDGET_SPENT, sentence=said.sentence, unblock=said.unblock, until=said.until)
    if seen.sessions_left is not None and seen.sessions_left <= 0:
        more = f"{ANEW}; raise --sessions or loop.max_iterations for a longer one"
        return loop_reason(Code.SESSIONS_SPENT, "all sessions of this run are spent", more)
    if seen.live >= seen.sessions_max:
        said = f"all {seen.sessions_max} sessions of the loop are under way"
        return loop_reason(Code.LOOP_FULL, said, "raise sessions_max, or wait for one to end")
    if not seen.host_free:
        return loop_reason(
            Code.HOST_FULL, "this machine has all its sessions under way", "raise the host's sessions_max"
        )
    return None


def loop_reason(code: Code, sentence: str, unblock: str) -> Reason:
    """Write a reason that holds for the whole loop."""
    return Reason(about="", code=code, sentence=sentence, unblock=unblock)


def ended(
    seen: Snapshot, ready: Sequence[TargetView], found: dict[str, tuple[Block, ...]], closed: Reason | None
) -> Stop | None:
    """Tell whether the run is over; what was counted may still be given back by a session that is under way."""
    if closed is not None:
        if closed.code is Code.ENDING:
            return Stop(reason=LoopEndReason.STOPPED, detail=closed.sentence)
        if closed.code is Code.TIME_SPENT:
            return Stop(reason=LoopEndReason.BUDGET, detail=closed.sentence)
        if closed.code is Code.BUDGET_SPENT and seen.idle and not comes_back(closed.until, seen):
            return Stop(reason=LoopEndReason.BUDGET, detail=closed.sentence)
        if closed.code is Code.SESSIONS_SPENT and seen.idle:
            return Stop(reason=LoopEndReason.SESSIONS, detail=closed.sentence)
        return None
    if ready or not seen.idle:
        return None
    if seen.once:
        return drained(seen, found)
    return hopeless(seen) or broke(seen, found)


def comes_back(until: Instant | None, seen: Snapshot) -> bool:
    """Tell whether a ceiling resets while the run still lasts; one that ends by itself does not wait for it."""
    return until is not None and not seen.once and (seen.ends_at is None or until < seen.ends_at)


def broke(seen: Snapshot, found: dict[str, tuple[Block, ...]]) -> Stop | None:
    """Stop when ceilings that only a person lifts keep every target from its next session."""
    said: list[str] = []
    for name, several in found.items():
        block = next((block for block in several if block.code is Code.BUDGET_SPENT), None)
        if block is None or comes_back(block.until, seen):
            return None
        said.append(f"{name}: {block.sentence}")
    return Stop(reason=LoopEndReason.BUDGET, detail="; ".join(said)) if said else None


DRAINED_BY: Final = {
    Code.LIMITED: LoopEndReason.LIMITED,
    Code.STOPPED: LoopEndReason.HARNESS,
    Code.BUDGET_SPENT: LoopEndReason.BUDGET,
}


def drained(seen: Snapshot, found: dict[str, tuple[Block, ...]]) -> Stop:
    """Say why a run that was to end by itself ends."""
    every = [(name, block) for name, several in found.items() for block in several]
    for code, reason in DRAINED_BY.items():
        said = [f"{name}: {block.sentence}" for name, block in every if block.code is code]
        if said:
            return Stop(reason=reason, detail="; ".join(said))
    held = [f"{name}: {block.sentence}" for name, block in every if block.code is not Code.IDLE]
    detail = "; ".join(held) or "nothing more is claimable"
    return Stop(reason=LoopEndReason.DRAINED if seen.worked else LoopEndReason.NOTHING, detail=detail)


def hopeless(seen: Snapshot) -> Stop | None:
    """Stop early when limits keep every target from its next session until the run is over anyway."""
    if seen.ends_at is None or not seen.targets:
        return None
    first: list[Instant] = []
    for target in seen.targets:
        at = earliest(target, seen)
        if at is None or at < seen.ends_at:
            return None
        first.append(at)
    shut = {gate_name(key) for target in seen.targets for key in target.gates if not usable(seen.gate(key), seen.now)}
    if not shut:
        return None
    said = f"no session can begin before {to_text(min(first))}, and the run ends at {to_text(seen.ends_at)}"
    return Stop(reason=LoopEndReason.LIMITED, detail=f"{said}; limited: {', '.join(sorted(shut))}")


def earliest(target: TargetView, seen: Snapshot) -> Instant | None:
    """Return before when no session can begin for a target; None when a person could change that at any time."""
    times = [opens(seen.gate(key), seen.now) for key in target.gates]
    if any(at is None for at in times) or (target.pause is not None and target.pause.until is None):
        return None
    known = [at for at in times if at is not None]
    holds = [halt.until for halt in (target.pause, target.back_off) if halt is not None and halt.until is not None]
    return max([min(known, default=seen.now), target.opens_at or seen.now, *holds])


def due_probe(seen: Snapshot, found: dict[str, tuple[Block, ...]]) -> Probe | None:
    """Return a probe that is due, of a gate that some target waits for; one at a time for each account."""
    tried = {(view.key.harness, view.key.account) for view in seen.gates if view.standing is Standing.PROBING}
    for target in sorted(seen.targets, key=lambda view: view.served):
        if not waits_for_gate(found[target.name]):
            continue
        for view in (seen.gate(key) for key in target.gates):
            due = view.standing is Standing.LIMITED and view.probe_at is not None and view.probe_at <= seen.now
            if due and view.spent is None and (view.key.harness, view.key.account) not in tried:
                return Probe(gate=view.by or view.key, target=target.name)
    return None


def waits_for_gate(several: Sequence[Block]) -> bool:
    """Tell whether nothing but a shut gate keeps a target from a session."""
    return [block.code for block in several] == [Code.LIMITED]


def reason_of(
    target: TargetView, several: Sequence[Block], action: Start | Probe | Wait | Stop, seen: Snapshot
) -> Reason | None:
    """Say why a target does not get the next session; None for the one that does."""
    if isinstance(action, Start | Probe) and action.target == target.name:
        return None
    if not several:
        passed = passed_over(target, seen)
        sentence = "it is ready and waits for its turn" + (f" with another agent: {passed}" if passed else "")
        unblock = "wait for a free session, or raise sessions_max"
        return Reason(about=target.name, code=Code.TURN, sentence=sentence, unblock=unblock)
    first = several[0]
    return Reason(
        about=target.name,
        code=first.code,
        sentence=first.sentence,
        unblock=first.unblock,
        until=first.until,
        also=tuple(block.code for block in several[1:]),
    )


def wake(seen: Snapshot, found: dict[str, tuple[Block, ...]]) -> Instant | None:
    """Return when something is due by itself, the earliest of all."""
    times = [block.until for several in found.values() for block in several]
    times += [target.looked.next_wake for target in seen.targets if target.looked is not None]
    times += [seen.gate(key).probe_at for target in seen.targets for key in target.gates]
    times += [view.until for view in seen.gates]
    times += [seen.spent.until] if seen.spent is not None else []
    times.append(seen.ends_at)
    return min((at for at in times if at is not None and at > seen.now), default=None)
