"""How a loop is put together from settings or from what a Python program gives, and run until it ends."""

import json
import socket
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from workloop import __version__
from workloop.config import NetworkWish, Settings, make_private
from workloop.config.validation import validate
from workloop.domain.errors import IntegrityFault, NotFound, StoreUnavailable
from workloop.domain.gate import Gate, GatePolicy
from workloop.domain.redaction import Redactor
from workloop.domain.settings import read_settings
from workloop.driver.control import Control
from workloop.driver.endpoint import SessionEndpoint
from workloop.driver.failures import first_of
from workloop.driver.project import Tell
from workloop.driver.report import LoopOptions, LoopReport
from workloop.driver.scheduling.situation import Halt
from workloop.driver.seam import run_sync
from workloop.driver.spending.metering import NoMeter
from workloop.driver.switches import FileSwitches, pauses_in
from workloop.driver.turn.desk import LoopParts
from workloop.driver.turn.loop import Loop
from workloop.driver.turn.preview import Prospect, preview
from workloop.driver.turn.recovery import only_loop
from workloop.runner.awake import keep_awake, read_clocks
from workloop.runner.harness.files import write_private
from workloop.runner.pidfile import end_leftovers
from workloop.service.call import Queue
from workloop.store.system import SystemClock, SystemIds
from workloop.wiring import LateProbe, open_store, operator, remark_unapplied
from workloop.wiring.doors import port_of, private_doors
from workloop.wiring.harnesses import known_secrets
from workloop.wiring.journal import host_slots, open_journal, read_journal
from workloop.wiring.keeping import keep_within
from workloop.wiring.lanes import lane_ports
from workloop.wiring.learning import LearningEndpoint
from workloop.wiring.metering import LoopMeter, meter_of, tell_meter
from workloop.wiring.planning import Plan, opening_gates, plan_of, site_of
from workloop.wiring.spending import price_list, reread_with
from workloop.wiring.versions import vet_versions

MakeEndpoint = Callable[[Queue], SessionEndpoint]


def run_settings(settings: Settings, options: LoopOptions, make_endpoint: MakeEndpoint, tell: Tell) -> LoopReport:
    """Run the loop that settings describe."""
    for target in settings.targets:
        read_settings(target.campaign_table)
    if options.dry_run:
        return preview_settings(settings, options, tell)
    with ExitStack() as opened, sole([settings.folder, *(target.place.folder for target in settings.targets)]):
        queues: list[Queue] = []
        for target in settings.targets:
            probe = LateProbe(target.place.repository, target.config.integration_branch or None)
            store = open_store(target.place, check=True)
            opened.callback(store.close)
            queues.append(Queue(store=store, ids=SystemIds(), slug=target.campaign, probe=probe))
            remark_unapplied(queues[-1], read_settings(target.campaign_table), tell)
        plan = plan_of(settings, options, queues, tell, operator())
        return anyio.run(lambda: run_plan(plan, make_endpoint, signals=True))


def preview_settings(settings: Settings, options: LoopOptions, tell: Tell) -> LoopReport:
    """Tell what the loop would do now; nothing is written."""
    with ExitStack() as opened:
        prospects: list[Prospect] = []
        now = SystemClock().now()
        pauses = pauses_in(settings.folder)
        for target in settings.targets:
            store = open_store(target.place, read_only=True)
            opened.callback(store.close)
            queue = Queue(store=store, ids=SystemIds(), slug=target.campaign)
            remark_unapplied(queue, read_settings(target.campaign_table), tell)
            hours = target.config.active_hours or settings.loop.active_hours
            prospects.append(
                Prospect(
                    name=target.name,
                    queue=queue,
                    gates=opening_gates(settings.loop, target.config.agents),
                    pause=pauses.get(target.name)
                    or (Halt(reason=target.config.paused) if target.config.paused else None),
                    opens_at=None if hours is None or hours.open_at(now) else hours.opens(now),
                    sessions_max=target.config.sessions_max,
                )
            )
        return preview(prospects, known_gates(settings), now, tell)


def known_gates(settings: Settings) -> list[Gate]:
    """Return the gates that an earlier run wrote down; none before the first one."""
    try:
        journal = read_journal(settings)
    except (NotFound, StoreUnavailable):
        return []
    try:
        return journal.gates()
    finally:
        journal.close()


@contextmanager
def sole(folders: Sequence[Path]) -> Generator[None]:
    """Hold the locks of a loop's folder and of every project in it, so that nobody else drives any of them."""
    with ExitStack() as locks:
        for folder in sorted(set(folders)):
            make_private(folder)
            locks.enter_context(only_loop(folder))
        yield


async def run_plan(plan: Plan, make_endpoint: MakeEndpoint, *, signals: bool) -> LoopReport:
    """Check a plan and run it to its end, under its locks; with signals, Ctrl-C and SIGTERM end it in good order."""
    validate(plan.config, {name: h.capabilities for name, h in plan.harnesses.items()}, [a.target for a in plan.aims])
    redactor = Redactor(known_secrets(plan.config, plan.environment))

    def tell(kind: str, facts: Mapping[str, Any]) -> None:
        """Say what the loop does, without known secrets; of an agent event only its words need a look."""
        clean = {**facts, "what": redactor.text(facts["what"])} if kind == "agent" else redactor.facts(facts)
        plan.tell(kind, clean)

    names = plan.config.harness_names(agent for aim in plan.aims for agent in aim.target.agents)
    await run_sync(vet_versions, plan.config, names, plan.harnesses, plan.environment, tell)
    with ExitStack() as held:
        journal = open_journal(plan.folder, lambda fault, path: tell("journal", told_of(fault, path)))
        held.callback(journal.close)
        if plan.config.keep_awake:
            kept = held.enter_context(keep_awake(plan.environment))
            tell("awake", {"held": kept.held, "detail": kept.detail})
        if plan.config.sandbox.network is NetworkWish.LOOPBACK:
            plan = replace(plan, doors=held.enter_context(private_doors()))
        tell_walls(plan, tell)
        control = Control(switches=FileSwitches(plan.folder))
        endpoint = endpoint_for(plan, make_endpoint, redactor)
        price = await run_sync(price_list, plan.config, SystemClock())
        meter = meter_of(plan.config, plan.environment, SystemClock(), redactor, plan.doors)
        parts = LoopParts(
            sites=tuple(site_of(plan, aim, endpoint, tell) for aim in plan.aims),
            folder=plan.folder,
            journal=journal,
            clock=SystemClock(),
            ids=SystemIds(),
            tell=tell,
            end_session=end_session,
            options=plan.options,
            policy=GatePolicy(on_limit=plan.config.on_limit),
            slots=host_slots(plan.environment),
            clocks=lambda: read_clocks(SystemClock()),
            budgets=plan.config.budgets,
            wall_seconds=plan.config.bounds.wall_seconds,
            price=price,
            reread=reread_with(plan.harnesses, price),
            meter=meter or NoMeter(),
            version=__version__,
            host=socket.gethostname(),
        )
        return await serve_and_run(plan, parts, control, endpoint, signals=signals)


def tell_walls(plan: Plan, tell: Tell) -> None:
    """Say which walls sessions and checks get, before any is started."""
    for name in dict.fromkeys(
        (building.sessions.name, building.checks.name) for building in map(plan.building, plan.aims)
    ):
        tell("sandbox", {"sessions": name[0], "checks": name[1]})


def told_of(fault: IntegrityFault, path: Path) -> dict[str, str]:
    """Say that a journal was beyond use."""
    return {"error": str(fault), "kept": str(path)}


def end_session(folder: Path) -> tuple[int, ...]:
    """Kill what a session left running; returns the processes that would not die."""
    return tuple(left.pid for left in end_leftovers(folder) if not left.dead)


def endpoint_for(plan: Plan, make_endpoint: MakeEndpoint, redactor: Redactor) -> SessionEndpoint | None:
    """Return what lets the sessions of queues of ours reach them; None when there is no such queue."""
    queue = next((aim.target.queue for aim in plan.aims if aim.target.queue is not None), None)
    return LearningEndpoint(make_endpoint(queue), redactor, plan.doors) if queue is not None else None


def publish_all(plan: Plan, endpoint: SessionEndpoint, url: str, tell: Tell) -> None:
    """Write down, in each project's private folder, how people reach the running loop there; for their eyes only."""
    for aim in plan.aims:
        if aim.place is None or aim.target.queue is None:
            continue
        token = endpoint.admit(plan.operator, aim.target.queue, over_mcp=False).token
        write_private(aim.place.operator_token, token + "\n")
        facts = {"url": url, "token_file": str(aim.place.operator_token)}
        write_private(aim.place.endpoint, json.dumps(facts) + "\n")
        tell("serving", facts)


def unpublish_all(plan: Plan) -> None:
    """Take back what publish_all wrote."""
    for aim in plan.aims:
        if aim.place is not None:
            aim.place.endpoint.unlink(missing_ok=True)
            aim.place.operator_token.unlink(missing_ok=True)


async def serve_and_run(
    plan: Plan, parts: LoopParts, control: Control, endpoint: SessionEndpoint | None, *, signals: bool
) -> LoopReport:
    """Serve the endpoint, say where it is, and run the loop on it."""
    reports: list[LoopReport] = []
    try:
        async with anyio.create_task_group() as services:
            if signals:
                services.start_soon(control.listen)
            folders = [plan.folder, *(aim.folder for aim in plan.aims)]
            services.start_soon(keep_within, folders, plan.config.retention, parts.clock, parts.tell)
            ports = [*plan.config.sandbox.ports, *lane_ports(site.project for site in parts.sites)]
            if isinstance(parts.meter, LoopMeter):
                tell_meter(parts.meter, await services.start(parts.meter.serve), parts.tell)
            if endpoint is not None:
                url = await services.start(endpoint.serve)
                ports.append(port_of(url))
                publish_all(plan, endpoint, url, parts.tell)
            if plan.doors is not None:
                for port in dict.fromkeys(ports):
                    await plan.doors.open(port, services)
            try:
                reports.append(await Loop(parts, control).run())
            finally:
                unpublish_all(plan)
                services.cancel_scope.cancel()
    except BaseExceptionGroup as failures:
        raise first_of(failures) from failures
    return reports[0]
