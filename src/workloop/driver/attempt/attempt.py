"""What follows a session while its claim is held: a nudge, a wait and another try, or a successor it asked for."""

from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from workloop.domain.clock import SECOND_US
from workloop.domain.gate import Entry, produced
from workloop.domain.handoff import Handoff, HandoffRefused, read_handoff
from workloop.domain.resumption import back_off_us
from workloop.driver.attempt.handingon import Chain, admitted
from workloop.driver.attempt.holding import Lease
from workloop.driver.attempt.insisting import settled
from workloop.driver.attempt.outcomes import EndClass, end_class, guessed
from workloop.driver.attempt.starting import Ended, Scene, Turn, start
from workloop.driver.project import Project, SessionKit

SILENT_MAX: Final = 3
GUESSES_MAX: Final = 2
TRIES_MAX: Final = 8
ACCOUNTS_DOING: Final = frozenset(
    {EndClass.LIMITED, EndClass.TRANSIENT, EndClass.AUTH, EndClass.BILLING, EndClass.MODEL_MISSING, EndClass.STOPPED}
)
"""Ends that say nothing about whether a conversation could still be gone on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the sessions of a share are told: at the beginning, when they go on, when they forgot to end, and in which
    frame a session's own words reach its successor.
    """

    brief: str
    go_on: str = ""
    nudge: str = ""
    frame: tuple[str, str] | None = None


@dataclass(slots=True, kw_only=True)
class Tries:
    """Passing failures in a row under one claim: in all, without any usage report, and merely guessed to be passing."""

    total: int = 0
    silent: int = 0
    guesses: int = 0

    def count(self, ended: Ended) -> None:
        """Count one more."""
        self.total += 1
        self.silent = 0 if ended.report.usage_reported else self.silent + 1
        self.guesses += guessed(ended.report)

    @property
    def spent(self) -> bool:
        """Tell whether another try would be one too many."""
        return self.silent >= SILENT_MAX or self.guesses >= GUESSES_MAX or self.total >= TRIES_MAX


@dataclass(slots=True, kw_only=True)
class Share:
    """The sessions of one phase of a claim, one after the other; `last` when the claim is to be settled by them."""

    project: Project
    kit: SessionKit
    lease: Lease
    scene: Scene
    words: Words
    last: bool = True
    handoffs: bool = True
    tries: Tries = field(default_factory=Tries)
    chain: Chain = field(default_factory=Chain)
    nudged: bool = False

    async def run(self, first: Turn) -> Ended:
        """Run sessions until nothing follows; returns the last one."""
        turn: Turn | None = first
        while True:
            ended = await self.one(turn)
            turn = await self.after(ended)
            if turn is None:
                return ended

    async def one(self, turn: Turn) -> Ended:
        """Run one session and say how it ended for the claim."""
        ended = await start(self.project, self.kit, self.lease, self.scene, turn)
        return replace(
            ended,
            kind=end_class(
                ended.report,
                settled=not self.lease.lost and await settled(self.project, self.lease),
                lost=self.lease.lost,
                tells_tools=not self.kit.harness.capabilities.hands_in_head,
            ),
        )

    async def after(self, ended: Ended) -> Turn | None:
        """Return what follows a session under the same claim."""
        if conversation_gone(ended):
            return self.anew(ended)
        match ended.kind:
            case EndClass.TRANSIENT:
                return await self.again(ended)
            case EndClass.CLEAN | EndClass.NO_OP:
                return self.successor(ended) or self.nudge(ended)
            case _:
                return None

    def anew(self, ended: Ended) -> Turn | None:
        """Begin afresh when the conversation to go on with is gone; the work tree is still there."""
        if self.hindrance():
            return None
        self.tell("resume_failed", ended, ended.report.detail)
        return Turn(prompt=self.words.brief)

    async def again(self, ended: Ended) -> Turn | None:
        """Wait and try again after a passing failure, in the same conversation where the program can."""
        self.tries.count(ended)
        if self.tries.spent:
            return None
        seconds = back_off_us(self.tries.total) / SECOND_US
        self.tell("waiting", ended, f"{seconds:.0f} s after a passing failure")
        if not await self.rest(seconds):
            return None
        return self.going_on(ended, self.words.go_on) or Turn(prompt=self.words.brief)

    def nudge(self, ended: Ended) -> Turn | None:
        """Remind a session that ended well and settled nothing, once, in the same conversation."""
        if self.nudged or not self.last or ended.kind is not EndClass.CLEAN or self.hindrance():
            return None
        turn = self.going_on(ended, self.words.nudge)
        self.nudged = turn is not None
        return turn

    def going_on(self, ended: Ended, prompt: str) -> Turn | None:
        """Return a turn in the same conversation; None where that cannot be."""
        if not self.kit.harness.capabilities.resumes or not ended.resume_id or not prompt:
            return None
        return Turn(prompt=prompt, resume_id=ended.resume_id, after=ended.facts.session_id, vain=ended.vain)

    def successor(self, ended: Ended) -> Turn | None:
        """Follow a session's own request for a successor, or say why not and go the usual way."""
        if not self.kit.harness.capabilities.final_text or self.lease.held.role == "verify":
            return None
        asked = read_handoff(ended.report.final_text)
        if isinstance(asked, Handoff):
            asked = admitted(asked, ended, self.chain, allowed=self.handoffs, hindrance=self.hindrance())
        if asked is None:
            return None
        if isinstance(asked, HandoffRefused):
            self.tell("handoff_refused", ended, asked.detail, reason=asked.reason.value)
            return None
        self.chain.followed()
        self.tell("handoff", ended, f"number {self.chain.length} of this share")
        before, after = self.words.frame or ("", "")
        return Turn(prompt=before + asked.prompt + after, after=ended.facts.session_id)

    def hindrance(self) -> str:
        """Return why no further session may start now."""
        return hindrance(self.kit, self.lease)

    async def rest(self, seconds: float) -> bool:
        """Wait, the lease being renewed meanwhile; tells whether another session may start after it."""
        until = anyio.current_time() + seconds
        while not self.hindrance() and (left := until - anyio.current_time()) > 0:
            async with anyio.create_task_group() as group:
                group.start_soon(wake_when_stopped, self.lease, group.cancel_scope)
                await self.kit.oversight.change(left)
                group.cancel_scope.cancel()
        return not self.hindrance()

    def tell(self, event: str, ended: Ended, detail: str, **more: str) -> None:
        """Tell what follows a session."""
        told = {"key": self.lease.held.key, "session": ended.facts.session_id, "detail": detail, **more}
        self.project.tell(event, told)


async def wake_when_stopped(lease: Lease, scope: anyio.CancelScope) -> None:
    """End a wait at once when the claim is lost or a person insists on the end."""
    await lease.stop.requested.wait()
    scope.cancel()


def hindrance(kit: SessionKit, lease: Lease) -> str:
    """Return why no further session may start under a claim just now, nothing when it may."""
    if lease.stop.requested.is_set():
        return lease.stop.reason
    asked = kit.oversight.may_go_on(kit.gate)
    if asked:
        return asked
    entry = kit.oversight.admission(kit.gate).entry
    return "" if entry is Entry.GO else f"{kit.gate} is closed"


def conversation_gone(ended: Ended) -> bool:
    """Tell whether a conversation could not be gone on with: it brought nothing, and its account is not to blame."""
    judged = ended.kind not in ACCOUNTS_DOING | {EndClass.SETTLED, EndClass.LOST, EndClass.UNTRUSTED, EndClass.HUNG}
    return bool(ended.turn.resume_id) and judged and not produced(ended.report)
