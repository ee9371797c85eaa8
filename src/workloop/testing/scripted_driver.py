"""A driver of the repair bench that does what its script says, sound by itself and wrong wherever the script wants it.

Every callback takes the next entry of its own script, or does what a sound driver does once that is used up. An entry
is a value to return, or a function of the callback's arguments that returns one, at once or awaited.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from workloop.repair.ledger.records import VerdictKind
from workloop.repair.observations.finding import (
    EvidenceRef,
    Observation,
    ObservationKind,
    ObservationSource,
    fingerprint,
)
from workloop.repair.port import (
    Charge,
    CheckRun,
    Confirmation,
    HarnessRevision,
    PhaseContext,
    Task,
    Verdict,
    WorkerResult,
    WorkerStatus,
    settled,
)

PROJECT_BASE = "b" * 40
REPRODUCER = "c" * 64
COST_MICROUSD = 1_000
EVENTS = b'{"scripted":1}\n{"scripted":2}\n'
"""What a worker of a script leaves as its events where it has found something."""

Sound = TypeVar("Sound")


def commit_of(number: int) -> str:
    """Return a made-up full commit SHA."""
    return f"{number:040x}"


def finding(
    name: str = "edit", signature: str = "", source: ObservationSource = ObservationSource.EVENTS
) -> Observation:
    """Return an observation of a tool that fails."""
    digest = hashlib.sha256(EVENTS).hexdigest()
    return Observation(
        fingerprint=fingerprint(ObservationKind.TOOL_ERROR, name, signature),
        kind=ObservationKind.TOOL_ERROR,
        subject=name,
        evidence=(EvidenceRef(session_id="s1", places=(1, 2), digest=digest, stream=digest),),
        measured=3,
        threshold=1,
        source=source,
    )


def runs(commit: str, *passed: bool) -> tuple[CheckRun, ...]:
    """Return runs of a check on one commit."""
    return tuple(CheckRun(commit=commit, passed=each) for each in passed)


def worked(
    *,
    candidate: str | None,
    cost: int = COST_MICROUSD,
    base: str = PROJECT_BASE,
    observations: tuple[Observation, ...] = (),
    transient: str = "",
) -> WorkerResult:
    """Return what a worker left that cost so many micro-dollars."""
    return WorkerResult(
        status=WorkerStatus.FINISHED,
        base=base,
        candidate=candidate,
        charge=settled(cost, "scripted"),
        observations=observations,
        transient=transient,
    )


@dataclass(slots=True, kw_only=True)
class ScriptedDriver:
    """Follows its script; `calls` lists every callback with its context, in order."""

    script: Mapping[str, list[object]] = field(default_factory=dict[str, list[object]])
    reachable: tuple[Path, ...] = ()
    calls: list[tuple[str, PhaseContext | None]] = field(default_factory=list[tuple[str, "PhaseContext | None"]])
    bills: dict[str, Charge] = field(default_factory=dict[str, Charge])
    commits: int = 0

    async def play(self, name: str, context: PhaseContext | None, sound: Sound, *arguments: object) -> Sound:
        """Take the next entry of a callback's script, or return what is sound; a script may hold what is not."""
        self.calls.append((name, context))
        entries = self.script.get(name, [])
        value: object = entries.pop(0) if entries else sound
        if callable(value):
            given = arguments if context is None else (context, *arguments)
            value = value(*given)
        return cast("Sound", await cast("Awaitable[object]", value) if isinstance(value, Awaitable) else value)

    def new_commit(self) -> str:
        """Return a commit that nobody has seen."""
        self.commits += 1
        return commit_of(self.commits)

    async def run_task(self, context: PhaseContext, task: Task) -> WorkerResult:
        """Leave a new commit and no finding."""
        return self.billed(context, await self.play("run_task", context, worked(candidate=self.new_commit()), task))

    async def run_repair(self, context: PhaseContext, observation: Observation) -> WorkerResult:
        """Leave a new commit of the harness."""
        sound = worked(candidate=self.new_commit(), base=context.harness.commit)
        return self.billed(context, await self.play("run_repair", context, sound, observation))

    def billed(self, context: PhaseContext, result: WorkerResult) -> WorkerResult:
        """Remember a phase's bill for whoever asks, and leave the events that its observations point at."""
        if getattr(result, "observations", ()):
            (context.evidence_dir / "events.jsonl").write_bytes(EVENTS)
        self.bills[context.phase] = getattr(result, "charge", settled(COST_MICROUSD, "scripted"))
        return result

    async def confirm_observation(self, context: PhaseContext, observation: Observation) -> Confirmation:
        """Bear the observation out."""
        sound = Confirmation(confirmed=True, why="it fails by itself", reproducer=REPRODUCER)
        return await self.play("confirm_observation", context, sound, observation)

    async def verify_regression(self, context: PhaseContext, candidate: str) -> Verdict:
        """Find everything green, before and after."""
        both = (*runs(context.harness.commit, True), *runs(candidate, True))
        sound = Verdict(kind=VerdictKind.REGRESSION, commit=candidate, passed=True, runs=both)
        return await self.play("verify_regression", context, sound, candidate)

    async def verify_reproducer(self, context: PhaseContext, candidate: str, observation: Observation) -> Verdict:
        """Find it red before and green after, twice each; the harness in force mends nothing."""
        base = runs(context.harness.commit, False, False)
        mends = candidate != context.harness.commit
        both = (*base, *runs(candidate, True, True)) if mends else base
        sound = Verdict(kind=VerdictKind.REPRODUCER, commit=candidate, passed=mends, runs=both)
        return await self.play("verify_reproducer", context, sound, candidate, observation)

    async def activate_harness(
        self, context: PhaseContext, candidate: str, verdicts: tuple[Verdict, Verdict]
    ) -> HarnessRevision:
        """Return a runtime that is named after the commit."""
        sound = HarnessRevision(commit=candidate, runtime_id=f"sha256:of-{candidate}")
        return await self.play("activate_harness", context, sound, candidate, verdicts)

    async def accept_task(self, context: PhaseContext, task: Task, candidate: str) -> Verdict:
        """Accept whatever is a commit."""
        sound = Verdict(kind=VerdictKind.ACCEPTANCE, commit=candidate, passed=True)
        return await self.play("accept_task", context, sound, task, candidate)

    async def settle(self, context: PhaseContext) -> Charge:
        """Return the bill of the phase, or what a worker costs that returned nothing."""
        return await self.play("settle", context, self.bills.get(context.phase, settled(COST_MICROUSD, "scripted")))

    async def worker_paths(self) -> tuple[Path, ...]:
        """Return what the driver was made with."""
        return await self.play("worker_paths", None, self.reachable)

    async def close(self) -> None:
        """Have nothing to close."""
        await self.play("close", None, None)


def raising(*_: object) -> object:
    """Fail as a driver with a bug does."""
    raise RuntimeError("scripted failure")


async def hanging(*_: object) -> object:
    """Never end by itself, and end when cancelled."""
    return await asyncio.Event().wait()


async def until_aborted(context: PhaseContext, *_: object) -> object:
    """End by itself when told to, without a result."""
    await context.abort.wait()
    raise RuntimeError("ended by the abort")


async def stubborn(*_: object) -> object:
    """Swallow every cancellation."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


def blocking(*_: object) -> object:
    """Block the driver's whole thread, as a call of a library that waits does."""
    return time.sleep(3_600)


def after(seconds: float, value: object) -> Callable[..., Awaitable[object]]:
    """Return an entry that takes its time."""

    async def late(*_: object) -> object:
        """Wait, then return the value."""
        await asyncio.sleep(seconds)
        return value

    return late
