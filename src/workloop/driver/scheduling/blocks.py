"""What keeps a target from its next session, each with a sentence and the one change that would lift it."""

from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.clock import Instant, to_text
from workloop.domain.gate import GateKey
from workloop.driver.scheduling.situation import GateView, Halt, Snapshot, Standing, TargetView

USUAL = "default"


class Code(StrEnum):
    """Why a target, a gate or the loop does not go on just now."""

    UNREADABLE = "unreadable"
    PAUSED = "paused"
    QUEUE_PAUSED = "queue_paused"
    OUTSIDE_HOURS = "outside_hours"
    BACKED_OFF = "backed_off"
    IDLE = "idle"
    UNCLAIMED = "unclaimed"
    TARGET_FULL = "target_full"
    DISK_FULL = "disk_full"
    LIMITED = "limited"
    PROBING = "probing"
    STOPPED = "stopped"
    TURN = "turn"
    LOOP_FULL = "loop_full"
    HOST_FULL = "host_full"
    ENDING = "ending"
    SESSIONS_SPENT = "sessions_spent"
    BUDGET_SPENT = "budget_spent"
    TIME_SPENT = "time_spent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One thing in the way: `unblock` is the change that would lift it, `until` when it lifts by itself."""

    code: Code
    sentence: str
    unblock: str
    until: Instant | None = None


def usable(view: GateView, now: Instant) -> bool:
    """Tell whether a session may pass a gate; past a limit's end the first one shows whether it is over."""
    if view.spent is not None:
        return False
    match view.standing:
        case Standing.OPEN:
            return True
        case Standing.LIMITED:
            return view.until is not None and view.until <= now
        case Standing.STOPPED | Standing.PROBING:
            return False


def opens(view: GateView, now: Instant) -> Instant | None:
    """Return when a session may pass a gate, or a probe may try one that named no end; None when a person must act."""
    if view.spent is not None:
        return view.spent.until
    if usable(view, now) or view.standing is Standing.PROBING:
        return now
    if view.standing is Standing.STOPPED:
        return None
    times = [at for at in (view.until, None if view.stated else view.probe_at) if at is not None]
    return max(now, min(times)) if times else None


def blocks(target: TargetView, seen: Snapshot) -> tuple[Block, ...]:
    """Return everything that keeps a target from a session now; nothing when it may have one."""
    found = (
        unreadable(target),
        halted(target.pause, seen.now, Code.PAUSED, f"workloop resume --target {target.name}"),
        queue_paused(target),
        outside_hours(target, seen.now),
        halted(target.back_off, seen.now, Code.BACKED_OFF, "answer its open questions, or change something in it"),
        idle(target),
        spent(target),
        full(target),
        crowded(target),
        gated(target, seen),
    )
    return tuple(block for block in found if block is not None)


def unreadable(target: TargetView) -> Block | None:
    """Say that a backlog cannot be looked at."""
    if target.looked is not None:
        return None
    said = target.problem or "it was not looked at yet"
    return Block(code=Code.UNREADABLE, sentence=f"its backlog cannot be read: {said}", unblock="mend its backlog")


def halted(halt: Halt | None, now: Instant, code: Code, unblock: str) -> Block | None:
    """Say that it rests."""
    if halt is None or not halt.holds(now):
        return None
    until = f" until {to_text(halt.until)}" if halt.until is not None else ""
    return Block(
        code=code, sentence=f"{code.replace('_', ' ')}{until}: {halt.reason}", unblock=unblock, until=halt.until
    )


def queue_paused(target: TargetView) -> Block | None:
    """Say that a campaign hands out nothing."""
    if target.looked is None or not target.looked.paused:
        return None
    return Block(
        code=Code.QUEUE_PAUSED,
        sentence="its campaign is paused",
        unblock="workloop resume",
        until=target.looked.next_wake,
    )


def outside_hours(target: TargetView, now: Instant) -> Block | None:
    """Say that it is not the time of day."""
    if target.opens_at is None or target.opens_at <= now:
        return None
    return Block(
        code=Code.OUTSIDE_HOURS,
        sentence=f"outside its active hours until {to_text(target.opens_at)}",
        unblock="widen its active hours",
        until=target.opens_at,
    )


def idle(target: TargetView) -> Block | None:
    """Say that there is nothing to do, or that those who were sent have not taken it yet."""
    looked = target.looked
    if looked is None or looked.paused:
        return None
    if looked.work == 0:
        asked = f"answer its {looked.open_questions} open questions, or add" if looked.open_questions else "add"
        wakes = f"; something changes at {to_text(looked.next_wake)}" if looked.next_wake is not None else ""
        return Block(
            code=Code.IDLE,
            sentence=f"nothing is claimable{wakes}",
            unblock=f"{asked} or promote work",
            until=looked.next_wake,
        )
    if looked.work <= target.unclaimed:
        return Block(
            code=Code.UNCLAIMED,
            sentence=f"{target.unclaimed} sessions were started for it and have claimed nothing yet",
            unblock="wait until they claim or end",
        )
    return None


def spent(target: TargetView) -> Block | None:
    """Say that a ceiling of its own leaves no room for a session."""
    if target.spent is None:
        return None
    said = target.spent
    return Block(code=Code.BUDGET_SPENT, sentence=said.sentence, unblock=said.unblock, until=said.until)


def full(target: TargetView) -> Block | None:
    """Say that a target has all the sessions it may have."""
    if target.sessions_max is None or target.live < target.sessions_max:
        return None
    return Block(
        code=Code.TARGET_FULL,
        sentence=f"all of its {target.sessions_max} sessions are under way",
        unblock="raise its sessions_max, or wait for one to end",
    )


def crowded(target: TargetView) -> Block | None:
    """Say that the disk has no room for another work tree."""
    if not target.disk:
        return None
    unblock = "see workloop gc --dry-run, then workloop gc or workloop gc --outputs, or make room in another way"
    return Block(code=Code.DISK_FULL, sentence=target.disk, unblock=unblock)


def gated(target: TargetView, seen: Snapshot) -> Block | None:
    """Say why none of a target's agents may start a session; what opens first stands for all."""
    views = [seen.gate(key) for key in target.gates]
    if any(usable(view, seen.now) for view in views):
        return None
    if not views:
        return Block(code=Code.STOPPED, sentence="no agent may work on it", unblock="name a harness for it")
    first = min(views, key=lambda view: (rank(view), opens(view, seen.now) or 0))
    return Block(
        code=code_of(first),
        sentence="; ".join(told(view) for view in views),
        unblock=lift(first),
        until=lifted_at(first),
    )


def lifted_at(view: GateView) -> Instant | None:
    """Return when a gate that may not be passed opens by itself."""
    if view.spent is not None:
        return view.spent.until
    return view.until if view.standing is Standing.LIMITED else None


def rank(view: GateView) -> int:
    """Order gates by how soon one may hope for them."""
    if view.spent is not None:
        return len(Standing) - (view.spent.until is not None)
    order = (Standing.OPEN, Standing.PROBING, Standing.LIMITED, Standing.STOPPED)
    return order.index(view.standing)


def code_of(view: GateView) -> Code:
    """Return why a gate that may not be passed is shut."""
    if view.spent is not None:
        return Code.BUDGET_SPENT
    match view.standing:
        case Standing.STOPPED:
            return Code.STOPPED
        case Standing.PROBING:
            return Code.PROBING
        case Standing.LIMITED | Standing.OPEN:
            return Code.LIMITED


def told(view: GateView) -> str:
    """Say how a gate stands."""
    name = gate_name(view.key)
    if view.spent is not None:
        return f"{name} may not spend more: {view.spent.sentence}"
    match view.standing:
        case Standing.STOPPED:
            return f"{name} is stopped: {view.remedy}"
        case Standing.PROBING:
            return f"{name} is being tried by one session"
        case Standing.LIMITED | Standing.OPEN:
            when = f"until {to_text(view.until)}" if view.until is not None else "until a time it does not state"
            return f"{name} is limited {when}"


def lift(view: GateView) -> str:
    """Say what would open a gate."""
    if view.spent is not None:
        return view.spent.unblock
    match view.standing:
        case Standing.STOPPED:
            return f"{view.remedy}, then answer the question about {gate_name(view.key)}"
        case Standing.PROBING:
            return f"wait for the session that tries {gate_name(view.key)}"
        case Standing.LIMITED | Standing.OPEN:
            return f"wait for {gate_name(view.key)}, or allow the target another harness or account"


def gate_name(key: GateKey) -> str:
    """Name a gate in words."""
    parts = ", ".join(part for part in (key.account, key.tier) if part and part != USUAL)
    return f"{key.harness} ({parts})" if parts else key.harness
