"""What one session has used, and whether its next call may be sent; the only part that two threads share."""

import asyncio
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from workloop.domain.clock import Instant
from workloop.domain.session import Tokens
from workloop.runner.meter.port import Allowance, CallCharge, CallOutcome, CallPlan, CallRefusal, MeterReading, Upstream
from workloop.runner.meter.routes import Family

LOG = logging.getLogger(__name__)
OVER = CallRefusal(code="METER_SESSION_OVER", message="the session is over, so that nothing more is sent for it")
BROKEN = CallRefusal(code="METER_BOOKS_BROKEN", message="the last charge could not be booked, so nothing more is sent")
PAST = CallRefusal(code="METER_DEADLINE", message="the session's deadline has passed, so that nothing more is sent")


@dataclass(slots=True, kw_only=True)
class Book:
    """One session's account at the meter."""

    session_id: str
    allowance: Allowance
    upstream: Upstream
    providers: dict[Family, str]
    deadline: Instant | None = None
    reading: MeterReading = field(default_factory=MeterReading)
    tasks: set["asyncio.Task[object]"] = field(default_factory=set["asyncio.Task[object]"])  # of the meter's thread
    numbers: int = 0
    over: bool = False
    broken: bool = False
    guard: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, plan: CallPlan, now: Instant) -> CallRefusal | None:
        """Say why a call may not be sent; past this, exactly one charge follows."""
        refusal = self.judge(plan, now)
        with self.guard:
            if refusal is None:
                self.reading = replace(self.reading, calls=self.reading.calls + 1)
            else:
                self.reading = replace(self.reading, refused=self.reading.refused + 1)
        return refusal

    def judge(self, plan: CallPlan, now: Instant) -> CallRefusal | None:
        """Ask what closes the session first, then whoever holds the budgets; when they fail nothing is sent."""
        closed = self.closed_by(now)
        if closed is not None:
            return closed
        try:
            return self.allowance.admit(plan)
        except Exception:
            LOG.exception("the allowance of session %s failed", self.session_id)
            self.broken = True
            return BROKEN

    def closed_by(self, now: Instant) -> CallRefusal | None:
        """Say why nothing at all may be sent any more."""
        if self.over:
            return OVER
        if self.broken:
            return BROKEN
        if self.deadline is not None and now >= self.deadline:
            return PAST
        return None

    @contextmanager
    def working(self, task: "asyncio.Task[object] | None") -> Generator[None]:
        """Keep a call's task where it can be ended with the session."""
        assert task is not None, "a call is answered by a task"
        self.tasks.add(task)
        try:
            yield
        finally:
            self.tasks.discard(task)

    def charge(self, charge: CallCharge) -> None:
        """Book a call that is over."""
        with self.guard:
            self.reading = added(self.reading, charge)
        try:
            self.allowance.charge(charge)
        except Exception:
            LOG.exception("a charge of session %s could not be booked", self.session_id)
            self.broken = True

    def next_number(self) -> int:
        """Return the number of the next call, from 1."""
        with self.guard:
            self.numbers += 1
            return self.numbers


def added(reading: MeterReading, charge: CallCharge) -> MeterReading:
    """Return a reading with one more charge; money is unknown until something was priced."""
    cost = reading.cost_micros
    if charge.cost_micros is not None:
        cost = (cost or 0) + charge.cost_micros
    unknown = charge.outcome is CallOutcome.UNKNOWN or not charge.exact
    models = dict(reading.models)
    if charge.tokens != Tokens():
        models[charge.model] = models.get(charge.model, 0) + charge.tokens.total
    return replace(
        reading,
        tokens=reading.tokens + charge.tokens,
        cost_micros=cost,
        unknown_calls=reading.unknown_calls + unknown,
        models=models,
    )
