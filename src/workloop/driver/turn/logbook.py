"""What the loop writes into its journal, in order and without making anybody wait for the disk."""

from collections import deque
from collections.abc import Callable, Sequence

import anyio

from workloop.domain.charge import Charge
from workloop.domain.clock import Clock
from workloop.domain.errors import Fault
from workloop.domain.gate import Gate
from workloop.domain.journal import LOOP, Decision, SessionRow, Subject, SubjectKind, TargetRow, Verb
from workloop.driver.project import Tell
from workloop.driver.scheduling import scheduler
from workloop.driver.scheduling.blocks import gate_name
from workloop.driver.seam import run_sync
from workloop.driver.turn.landing import Waits
from workloop.store.journal.port import Journal

AGAIN_SECONDS = 1.0
DOUBLINGS_MAX = 5
PENDING_MAX = 10_000


class Logbook:
    """Writes wait in a line until the journal took them; when there are far too many, the oldest are dropped."""

    def __init__(self, journal: Journal, clock: Clock, tell: Tell) -> None:
        self.journal = journal
        self.clock = clock
        self.tell = tell
        self.pending: deque[Callable[[], object]] = deque(maxlen=PENDING_MAX)
        self.more = anyio.Event()
        self.last: tuple[object, ...] = ()
        self.run = 0
        self.refusals = 0

    def put(self, write: Callable[[], object]) -> None:
        """Have something written soon."""
        self.pending.append(write)
        self.more.set()

    async def keep(self) -> None:
        """Write down what comes, until cancelled."""
        while True:
            await self.more.wait()
            self.more = anyio.Event()
            if not await self.flush():
                await anyio.sleep(AGAIN_SECONDS * 2 ** min(self.refusals - 1, DOUBLINGS_MAX))
                self.more.set()

    async def flush(self) -> bool:
        """Write down everything that waits; tells whether all was taken. What no retry mends is told and lost.

        A journal that takes nothing for now is told once.
        """
        while self.pending:
            write = self.pending[0]
            try:
                await run_sync(write)
            except Fault as failed:
                if not failed.retryable or self.refusals == 0:
                    self.tell("journal", {"error": str(failed)})
                if failed.retryable:
                    self.refusals += 1
                    return False
            else:
                self.refusals = 0
            if self.pending and self.pending[0] is write:
                self.pending.popleft()
        return True

    def decided(self, decision: scheduler.Decision, item: str = "", session: str = "") -> None:
        """Keep a decision with every reason and instant in it, unless the last one was the very same."""
        said = (decision, item)
        if said == self.last:
            return
        self.last = said
        rows = [loop_row(decision, item, session), *(target_row(reason) for reason in decision.reasons if reason.about)]
        if isinstance(decision.action, scheduler.Start | scheduler.Probe):
            rows.append(started_row(decision.action, item, session))
        at = self.clock.now()
        self.put(lambda: self.journal.decide(rows, at))

    def landings(self, target: str, waiting: Sequence[Waits]) -> None:
        """Keep why results wait to land."""
        rows = [landing_row(target, waits) for waits in waiting]
        at = self.clock.now()
        if rows:
            self.put(lambda: self.journal.decide(rows, at))

    def gates(self, gates: Sequence[Gate]) -> None:
        """Keep where gates stand."""
        kept = tuple(gates)
        self.put(lambda: self.journal.gates_put(kept))

    def target(self, row: TargetRow) -> None:
        """Keep where a target stands."""
        self.put(lambda: self.journal.target_put(row))

    def session(self, row: SessionRow) -> None:
        """Keep a session."""
        self.put(lambda: self.journal.session_put(row))

    def charge(self, row: Charge) -> None:
        """Keep what a session may cost, or did."""
        self.put(lambda: self.journal.charge_put(row))


def loop_row(decision: scheduler.Decision, item: str, session: str) -> Decision:
    """Write what the loop as a whole does."""
    action = decision.action
    whole = next((reason for reason in decision.reasons if not reason.about), None)
    code = whole.code.value if whole is not None else ""
    said = whole.sentence if whole is not None else ""
    unblock = whole.unblock if whole is not None else ""
    match action:
        case scheduler.Start():
            verb, code, said = Verb.START, "start", f"{action.target} gets {session_of(action)}"
        case scheduler.Probe():
            verb, code, said = Verb.PROBE, "probe", f"{gate_name(action.gate)} is tried with a short session"
        case scheduler.Stop():
            verb, code, said = Verb.STOP, action.reason.value, action.detail
        case scheduler.Wait():
            verb = Verb.WAIT
            code, said = code or "nothing_to_start", said or "no target can have a session now"
            unblock = unblock or "whatever unblocks one of the targets"
    return Decision(
        subject=LOOP,
        verb=verb,
        code=code,
        message=said,
        unblock=unblock,
        wakes_at=decision.next_wake,
        item=item,
        session=session,
    )


def target_row(reason: scheduler.Reason) -> Decision:
    """Write why a target got nothing."""
    also = f"; and {', '.join(code.replace('_', ' ') for code in reason.also)}" if reason.also else ""
    return Decision(
        subject=Subject(kind=SubjectKind.TARGET, name=reason.about),
        verb=Verb.SKIP,
        code=reason.code.value,
        message=reason.sentence + also,
        unblock=reason.unblock + (", and that alone is not enough" if reason.also else ""),
        wakes_at=reason.until,
    )


def landing_row(target: str, waits: Waits) -> Decision:
    """Write why a result waits to land, and what a person may do about it."""
    match waits.outcome:
        case "checkout_dirty":
            unblock = f"commit or stash in the checkout: {waits.reason}"
        case "push_refused":
            unblock = "see to what the remote and its hook said"
        case "pr_waits":
            unblock = "see to the pull request"
        case _:
            unblock = "see to what it says"
    return Decision(
        subject=Subject(kind=SubjectKind.ITEM, name=waits.key, target=target),
        verb=Verb.WAIT,
        code=waits.outcome,
        message=f"waits to land: {waits.outcome.replace('_', ' ')}: {waits.reason}",
        unblock=f"{unblock}; a running loop tries again",
        wakes_at=waits.again,
    )


def started_row(action: scheduler.Start | scheduler.Probe, item: str, session: str) -> Decision:
    """Write what a target got."""
    probe = isinstance(action, scheduler.Probe)
    return Decision(
        subject=Subject(kind=SubjectKind.TARGET, name=action.target),
        verb=Verb.PROBE if probe else Verb.START,
        code="probe" if probe else "start",
        message=session_of(action),
        item=item,
        session=session,
    )


def session_of(action: scheduler.Start | scheduler.Probe) -> str:
    """Say which agent's session a target gets, and why not the one that it would rather have."""
    said = f"a session of {gate_name(action.gate)}"
    instead = action.instead if isinstance(action, scheduler.Start) else ""
    return f"{said}, because {instead}" if instead else said
