"""How the doctor tries an agent: one short session that touches nothing, run like any other and written down."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from workloop.config import HarnessKind, Settings
from workloop.config.harnesses import TIER_DEFAULT
from workloop.domain.clock import to_text
from workloop.domain.errors import IntegrityFault, WorkloopError
from workloop.domain.gate import produced
from workloop.domain.journal import SessionRow, ended_row
from workloop.domain.redaction import Redactor
from workloop.domain.session import SessionClass, SessionEvent, SessionReport
from workloop.driver.failures import first_of
from workloop.driver.spending.metering import metered
from workloop.driver.turn.recovery import only_loop
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.quarters import quartered
from workloop.runner.sandbox.enclosure import Rooms
from workloop.runner.session import StopRequest, run_session
from workloop.runner.watch import SessionLimits
from workloop.store.system import SystemClock, SystemIds
from workloop.wiring.doctor.finding import Finding, broken, doubtful, fine, refused, skipped
from workloop.wiring.doors import Doors, private_doors
from workloop.wiring.harnesses import session_environment
from workloop.wiring.journal import JOURNAL_NAME, open_journal
from workloop.wiring.metering import Boundless, meter_of
from workloop.wiring.planning import opened
from workloop.wiring.sandbox import building_of, hidden_by

HOME = "home"
PROMPT = "Answer with the single word OK. Use no tool and change nothing.\n"
WALL_SECONDS = 120.0
QUIET_SECONDS = 90.0
REMEDIES: Mapping[SessionClass, str] = {
    SessionClass.AUTH: "log in with the agent again, or pass its key on",
    SessionClass.BILLING: "settle the account's billing",
    SessionClass.MODEL_MISSING: "name a model that the account has",
    SessionClass.CONFIG: "correct the agent's own configuration",
}


class Trial(NamedTuple):
    """One session to try: whose, with which model."""

    name: str
    tier: str
    model: str | None

    @property
    def check(self) -> str:
        """Return the name of the look."""
        return f"probe[{self.name}]" if self.tier == TIER_DEFAULT else f"probe[{self.name}/{self.tier}]"


def trials(settings: Settings) -> Iterator[Trial]:
    """Yield one trial for each harness and tier that sessions are started with."""
    loop, seen = settings.loop, set[tuple[str, str]]()
    agents = dict.fromkeys(agent for target in settings.targets for agent in loop.agent_names(target.config.agents))
    used = [(name, phase.tier) for phase in loop.phases for name in ((phase.harness,) if phase.harness else agents)]
    used = used or [(agent, "") for agent in agents]
    for name, tier in (*used, *((name, "") for name in loop.harnesses)):
        if (name, tier) not in seen and not (not tier and any(name == other for other, _ in seen)):
            seen.add((name, tier))
            block = loop.harness_config(name)
            yield Trial(name, tier or TIER_DEFAULT, block.model_for(tier))


def probe(settings: Settings, harnesses: Mapping[str, Harness], environment: Mapping[str, str]) -> Iterator[Finding]:
    """Try every agent that sessions can be started with, one after the other."""
    for trial in trials(settings):
        kind = settings.loop.harness_config(trial.name).kind
        if kind in (HarnessKind.COMMAND, HarnessKind.SCRIPTED):
            yield skipped(trial.check, "a program of your own is not started without work")
            continue
        try:
            report = run_trial(settings, trial, harnesses[trial.name], environment)
        except WorkloopError as error:
            yield refused(trial.check, error)
            continue
        except OSError as error:
            yield broken(trial.check, f"it cannot be started: {error}", "see that the program can be executed")
            continue
        yield judged(settings, trial, report)


def run_trial(settings: Settings, trial: Trial, harness: Harness, environment: Mapping[str, str]) -> SessionReport:
    """Run one short session in a private folder of its own, which is also its work dir."""
    session_id = str(uuid.UUID(int=SystemIds().bits(128), version=4))
    folder = settings.folder / "sessions" / session_id
    cwd = folder / "empty"
    cwd.mkdir(mode=0o700, parents=True)
    request = LaunchRequest(
        prompt=PROMPT,
        cwd=cwd,
        session_dir=folder,
        session_id=session_id,
        environment=session_environment(settings.loop, trial.name, environment),
        model=trial.model,
        turns_max=1 if harness.capabilities.turn_cap else None,
        read_only=True,
        rooms=Rooms(writable=(cwd,)),
    )
    row = SessionRow(
        session_id=session_id,
        target="",
        harness=trial.name,
        began_at=SystemClock().now(),
        role="probe",
        probe=True,
        account=settings.loop.harness_config(trial.name).account,
        tier=trial.tier,
        model=trial.model or "",
        cwd=str(cwd),
        log_path=str(folder),
    )

    async def sink(event: SessionEvent) -> None:
        """Nobody need read what it says."""

    async def run(doors: Doors) -> SessionReport:
        """Run it under the session's usual supervision, behind the same walls."""
        limits = SessionLimits(wall_seconds=WALL_SECONDS, quiet_seconds=QUIET_SECONDS, progress_seconds=QUIET_SECONDS)
        hidden = hidden_by(settings, environment)
        walls = building_of(settings.loop.sandbox, hidden, environment, doors).sessions
        walls = opened(walls, settings.loop.harness_config(trial.name))
        walled = quartered(harness, request, walls, folder / HOME)
        reports: list[SessionReport] = []
        async with anyio.create_task_group() as tasks:
            for port in settings.loop.sandbox.ports:
                await doors.open(port, tasks)
            tried = await under_trial_meter(settings, trial.name, walled, (environment, doors), tasks)
            reports.append(
                await run_session(harness, tried, limits=limits, clock=SystemClock(), sink=sink, stop=StopRequest())
            )
            tasks.cancel_scope.cancel()
        return reports[0]

    with private_doors() as doors:
        report = ended(lambda: anyio.run(run, doors))
    book(settings.folder, ended_row(row, report))
    return report


async def under_trial_meter(
    settings: Settings, name: str, request: LaunchRequest, around: tuple[Mapping[str, str], Doors], tasks: TaskGroup
) -> LaunchRequest:
    """Put a trial under a meter of its own, where its agent has no other way to a model."""
    if settings.loop.harness_config(name).meter is None:
        return request
    meter = meter_of(settings.loop, around[0], SystemClock(), Redactor(()), around[1])
    assert meter is not None, "an agent is metered"
    await tasks.start(meter.serve)
    endpoint = meter.open(name, request.session_id, Boundless(), None)
    return request if endpoint is None else metered(request, endpoint, meter.socket)


def ended(run: Callable[[], SessionReport]) -> SessionReport:
    """Return a session's report; the only error of its task group is raised by itself."""
    try:
        return run()
    except BaseExceptionGroup as failures:
        raise first_of(failures) from failures


def book(folder: Path, row: SessionRow) -> None:
    """Write a probe down in the loop's journal, where there is one and no loop is writing it."""
    if not (folder / JOURNAL_NAME).is_file():
        return
    with only_loop(folder):
        journal = open_journal(folder, damaged)
        try:
            journal.session_put(row)
        finally:
            journal.close()


def damaged(fault: IntegrityFault, path: Path) -> None:
    """Refuse to begin a new journal: that is the loop's to do."""
    raise fault


def judged(settings: Settings, trial: Trial, report: SessionReport) -> Finding:
    """Say what came of a trial."""
    said = report.detail or report.final_text or report.stderr_tail
    kind = report.session_class
    if kind is SessionClass.CLEAN and produced(report):
        model = f" by {trial.model}" if trial.model else ""
        return fine(trial.check, f"answered{model}")
    if kind is SessionClass.CLEAN:
        return doubtful(trial.check, f"ended well and said nothing: {said}", "workloop logs shows what it printed")
    if kind is SessionClass.LIMITED:
        until = to_text(report.reset_at) if report.reset_at is not None else "a time it does not say"
        return doubtful(trial.check, f"usage limit until {until}", "wait for the reset, or use another account")
    if kind is SessionClass.TRANSIENT:
        return doubtful(trial.check, f"the provider did not answer: {said}", "try again a little later")
    entry = f"[harness.{trial.name}] in {settings.source}"
    return broken(trial.check, f"{kind}: {said}", f"{REMEDIES.get(kind, 'read what it said, and correct it')}; {entry}")
