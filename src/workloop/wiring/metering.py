"""How the meter is put together from settings: for which agents it stands, and whose keys it keeps."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.abc import TaskStatus

from workloop.config import DriverConfig
from workloop.config.meter import MeterConfig, Metering
from workloop.domain.clock import Clock, Instant
from workloop.domain.redaction import Redactor
from workloop.driver.project import Tell
from workloop.runner.harness.port import MeterEndpoint
from workloop.runner.meter.port import Allowance, CallCharge, CallPlan, CallRefusal, MeterReading, Upstream
from workloop.wiring.doors import Doors
from workloop.wiring.harnesses import secret_in

if TYPE_CHECKING:
    from workloop.runner.meter.prices import OwnPrice
    from workloop.runner.meter.server import Meter

SOCKET_NAME = "meter.sock"


class Boundless:
    """The allowance of a trial, which is one short session that a person asked for."""

    def admit(self, plan: CallPlan) -> CallRefusal | None:
        """Let every call through."""
        del plan

    def charge(self, charge: CallCharge) -> None:
        """Book nothing."""
        del charge


class LoopMeter:
    """The meter of one loop; keys are read once, and whatever key is given out the redactor is told of."""

    def __init__(self, meter: "Meter", upstreams: Mapping[str, Upstream], redactor: Redactor) -> None:
        self.meter = meter
        self.upstreams = upstreams
        self.redactor = redactor

    @property
    def socket(self) -> Path | None:
        """Return its Unix socket, if it has one."""
        return self.meter.settings.socket

    async def serve(self, *, task_status: TaskStatus[int]) -> None:
        """Listen until cancelled."""
        await self.meter.serve(task_status=task_status)

    def open(
        self, harness: str, session_id: str, allowance: Allowance, deadline: Instant | None
    ) -> MeterEndpoint | None:
        """Let a session send calls; None when the settings leave its agent alone."""
        upstream = self.upstreams.get(harness)
        if upstream is None:
            return None
        endpoint = self.meter.open(session_id, allowance, upstream, deadline=deadline)
        self.redactor.learn([endpoint.key or endpoint.anthropic_url.rpartition("/")[2]])
        return endpoint

    async def close(self, session_id: str) -> MeterReading:
        """End a session's calls and say what they came to."""
        return await self.meter.close(session_id)


def meter_of(
    config: DriverConfig, environment: Mapping[str, str], clock: Clock, redactor: Redactor, doors: Doors | None
) -> LoopMeter | None:
    """Return the meter of a loop, not listening yet; None when no agent is metered."""
    upstreams = {name: upstream_of(name, block.meter) for name, block in config.harnesses.items() if block.meter}
    if not upstreams:
        return None
    from workloop.runner.meter.prices import ListedPrices
    from workloop.runner.meter.server import Meter, MeterSettings

    redactor.learn([upstream.api_key for upstream in upstreams.values() if upstream.api_key])
    settings = MeterSettings(
        socket=None if doors is None else doors.folder / SOCKET_NAME,
        idle_seconds=config.meter.idle_seconds,
        proxies=proxies_in(environment),
    )
    prices = ListedPrices(own=own_prices(config.meter))
    return LoopMeter(Meter(settings, clock, prices=prices), upstreams, redactor)


def tell_meter(meter: LoopMeter, port: int, tell: Tell) -> None:
    """Say where the meter listens and for whom."""
    tell("meter", {"port": port, "harnesses": sorted(meter.upstreams)})


def upstream_of(name: str, metering: Metering) -> Upstream:
    """Return where an agent's calls go and who pays for them; raises BadRequest for a key that cannot be read."""
    key = secret_in(metering.key[1:], f"harness.{name}.meter.key") if metering.key else None
    usual = Upstream()
    return Upstream(
        anthropic_url=metering.anthropic_url or usual.anthropic_url,
        openai_url=metering.openai_url or usual.openai_url,
        api_key=key,
        subscription=metering.login,
    )


def own_prices(config: MeterConfig) -> "dict[str, OwnPrice]":
    """Return the operator's prices as the list takes them."""
    from workloop.runner.meter.prices import OwnPrice

    return {
        model: OwnPrice(
            input=price.input, output=price.output, cache_read=price.cache_read, cache_write=price.cache_write
        )
        for model, price in config.prices.items()
    }


def proxies_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the proxies on the way to providers, by scheme, and hosts without one, as the environment names them."""
    names = ("http", "https", "no")
    found = {name: environment.get(f"{name}_proxy") or environment.get(f"{name.upper()}_PROXY") for name in names}
    return {name: value for name, value in found.items() if value}
