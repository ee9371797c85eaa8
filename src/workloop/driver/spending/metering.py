"""How a session's model calls are put under the meter, where its agent's settings say so, and what is learnt of it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import anyio

from workloop.domain.clock import Instant
from workloop.domain.session import SessionReport
from workloop.driver.spending.allowance import PurseAllowance
from workloop.driver.spending.purse import Purse
from workloop.runner.harness.port import LaunchRequest, MeterEndpoint
from workloop.runner.meter.bypass import went_round
from workloop.runner.meter.port import Allowance, MeterReading
from workloop.runner.sandbox.rooms import Rooms

Run = Callable[[LaunchRequest], Awaitable[SessionReport]]


class SessionMeter(Protocol):
    """The meter, as the loop sees it; socket is the way to it for sessions whose network is cut."""

    @property
    def socket(self) -> Path | None:
        """Return its Unix socket, if it has one."""
        ...

    def open(
        self, harness: str, session_id: str, allowance: Allowance, deadline: Instant | None
    ) -> MeterEndpoint | None:
        """Let a session send calls; None when the settings leave its agent alone."""
        ...

    async def close(self, session_id: str) -> MeterReading:
        """End a session's calls and say what they came to."""
        ...


class NoMeter:
    """Every agent is left alone."""

    socket: Path | None = None

    def open(
        self, harness: str, session_id: str, allowance: Allowance, deadline: Instant | None
    ) -> MeterEndpoint | None:
        """Leave it alone."""
        del harness, session_id, allowance, deadline

    async def close(self, session_id: str) -> MeterReading:
        """Have seen nothing."""
        del session_id
        return MeterReading()


async def under_meter(
    meter: SessionMeter, purse: Purse, request: LaunchRequest, deadline: Instant | None, run: Run
) -> tuple[SessionReport, str]:
    """Run a session whose calls are metered if its agent's are; also say why it must have spoken past the meter.

    What a session spent past the meter is known by its own report alone, so the meter's figure is not the whole.
    """
    allowance = PurseAllowance(purse)
    endpoint = meter.open(purse.charge.payer.harness, request.session_id, allowance, deadline)
    if endpoint is None:
        return await run(request), ""
    reading = MeterReading()
    try:
        report = await run(metered(request, endpoint, meter.socket))
    finally:
        with anyio.CancelScope(shield=True):
            reading = await meter.close(request.session_id)
    past = went_round(report, reading)
    if past:
        purse.went_past()
    return report, past


def metered(request: LaunchRequest, endpoint: MeterEndpoint, socket: Path | None) -> LaunchRequest:
    """Tell a session of the meter; one whose network is cut reaches it by its socket."""
    port = urlsplit(endpoint.openai_url).port
    if socket is None or port is None:
        return replace(request, meter=endpoint)
    return replace(request, meter=endpoint, rooms=request.rooms | Rooms(ports={port: socket}))
