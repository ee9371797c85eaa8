"""How a whole run goes: checked before anything is made, on record from its first step to its last, closed always."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from workloop.domain.clock import Clock
from workloop.domain.errors import BadRequest
from workloop.domain.redaction import Redactor
from workloop.repair import checking
from workloop.repair.checking import ContractBrokenError
from workloop.repair.config import BenchConfig
from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.faults import LedgerFault
from workloop.repair.ledger.records import RepairRefusal, RunClose, RunOpen, StopReason
from workloop.repair.ledger.signing import Signer
from workloop.repair.ledger.writing import Ledger
from workloop.repair.loading import DriverFile, checked_driver, children_of_this_process
from workloop.repair.placement import check_placement
from workloop.repair.port import RepairDriver
from workloop.repair.sessions.keeper import Keeper
from workloop.repair.sessions.means import Means
from workloop.repair.supervisor import repairs, tasks
from workloop.repair.supervisor.desk import Desk, clean, recorded
from workloop.repair.supervisor.evidence import make_folder
from workloop.repair.supervisor.hosting import Answer, DriverHost, Ending, Monotonic, Patience
from workloop.repair.supervisor.machine import Event, Step, next_step
from workloop.repair.supervisor.points import At, Point, pass_by
from workloop.repair.supervisor.purse import Purse
from workloop.repair.supervisor.signals import Signals
from workloop.repair.supervisor.state import State
from workloop.repair.supervisor.stopping import ORDERLY, StopRun

EVIDENCE_SUFFIX: Final = ".evidence"
Handler = Callable[[State, Desk], Event]
HANDLERS: Final[dict[Step, Handler]] = {
    Step.SELECT: tasks.select,
    Step.TASK: tasks.task,
    Step.ACCEPT: tasks.accept,
    Step.OBSERVE: repairs.choose,
    Step.CONFIRM: repairs.confirm,
    Step.REPAIR: repairs.repair,
    Step.REGRESSION: repairs.regression,
    Step.REPRODUCER: repairs.reproducer,
    Step.ACTIVATE: repairs.activate,
    Step.REJECT: repairs.refuse,
    Step.OUTCOME: tasks.outcome,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run is given from outside: time, a name, patience, who signs, and where a test may cut it.

    `told` is noted at the ledger's beginning, by topic: what else the run rests on, such as settings and walls.
    `redactor` knows the secrets that no record may repeat.
    """

    clock: Clock
    monotonic: Monotonic
    run_id: str
    version: str
    patience: Patience = field(default_factory=Patience)
    signer: Signer | None = None
    means: Means | None = None
    told: Mapping[str, str] = field(default_factory=dict[str, str])
    redactor: Redactor = field(default_factory=Redactor)
    at: At = pass_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended; without a closing record the ledger could not take it, and says so when it is verified."""

    reason: StopReason
    detail: str
    ledger: Path
    head: str
    close: RunClose | None


def run_bench(config: BenchConfig, file: DriverFile, around: Surroundings) -> Ended:
    """Carry a campaign out; raises BadRequest or LedgerRefused when it could not begin, and then nothing was made."""
    signals = Signals()
    with ExitStack() as stack:
        stack.enter_context(signals.installed())
        host = DriverHost(around.monotonic, around.patience, signals)
        stack.callback(host.stop)
        keeper = Keeper(around.means) if around.means is not None else None
        if keeper is not None:
            stack.callback(keeper.stop)
        try:
            desk = set_up(config, file, host, around)
        except StopRun as stop:
            return Ended(reason=stop.reason, detail=stop.detail, ledger=config.ledger_path, head="", close=None)
        desk.keeper, desk.told = keeper, around.told
        stack.callback(desk.ledger.release)
        stop = walk(config, file, desk)
        return close(desk, stop, file)


def set_up(config: BenchConfig, file: DriverFile, host: DriverHost, around: Surroundings) -> Desk:
    """Make the driver, check where everything lies, and open the ledger, in this order."""
    driver = made_driver(config, file, host)
    try:
        check_places(config, file, driver, host)
        started = around.monotonic()
        ledger = Ledger.create(
            config.ledger_path, opening(config, file, around), clock=around.clock, signer=around.signer
        )
    except (BadRequest, LedgerFault, StopRun):
        close_driver(driver, host)
        raise
    return Desk(
        run_id=around.run_id,
        ledger=ledger,
        host=host,
        driver=driver,
        purse=Purse(config.limits.max_spend_microusd),
        clock=around.clock,
        evidence_dir=evidence_dir(config),
        deadline_ms=started + config.limits.max_runtime_ms,
        at=around.at,
        redactor=around.redactor,
    )


def opening(config: BenchConfig, file: DriverFile, around: Surroundings) -> RunOpen:
    """Return the first record: exactly what the run was begun with."""
    return RunOpen(
        run=around.run_id,
        config_path=clean(str(config.path)),
        config_digest=config.digest,
        driver_path=clean(str(file.path)),
        driver_digest=file.digest,
        harness=recorded(config.harness),
        limits=config.limits,
        tasks=tuple(task.id for task in config.tasks),
        version=around.version,
    )


def evidence_dir(config: BenchConfig) -> Path:
    """Return where a run keeps its evidence: beside its ledger, and as new as that."""
    return config.ledger_path.with_name(f"{config.ledger_path.name}{EVIDENCE_SUFFIX}")


def made_driver(config: BenchConfig, file: DriverFile, host: DriverHost) -> RepairDriver:
    """Let the driver's factory make the driver; raises BadRequest when it does not."""

    async def make() -> object:
        """Call the factory where the callbacks will run."""
        return file.factory(config)

    answer = host.ask(make, host.monotonic() + host.patience.settle_ms, host.abort())
    refuse_unless_returned(answer, host, f"{file.path}: its factory")
    return checked_driver(answer.value, str(file.path))


def check_places(config: BenchConfig, file: DriverFile, driver: RepairDriver, host: DriverHost) -> None:
    """Refuse a run of which a worker could reach the config, the driver, the ledger or the evidence."""
    evidence = evidence_dir(config)
    if evidence.is_symlink() or evidence.exists():
        problem = f"{evidence} is there already"
        raise BadRequest("PLACEMENT_INVALID", problem, hint="name a new ledger; each run has its own evidence")
    answer = host.ask(driver.worker_paths, host.monotonic() + host.patience.settle_ms, host.abort())
    refuse_unless_returned(answer, host, f"{file.path}: worker_paths")
    try:
        paths = checking.worker_paths(answer.value)
    except ContractBrokenError as error:
        raise BadRequest("DRIVER_INVALID", f"{file.path}: {error}", hint="return a tuple of absolute paths") from error
    trusted = {"config": config.path, "driver": file.path, "ledger": config.ledger_path, "evidence": evidence}
    check_placement({**trusted, "head": anchor_path(config.ledger_path)}, paths)


def refuse_unless_returned(answer: Answer, host: DriverHost, what: str) -> None:
    """Raise BadRequest when a driver cannot even begin, or StopRun when a signal came before it did."""
    if answer.ending is Ending.SIGNALLED:
        raise StopRun(host.signals.first or StopReason.SIGTERM, "before anything was made")
    if isinstance(answer.raised, BadRequest):
        raise answer.raised
    if answer.ending is not Ending.RETURNED:
        problem = answer.error or f"did not end: {answer.ending.value}"
        raise BadRequest("DRIVER_INVALID", f"{what} {problem}", hint="correct the driver")


def walk(config: BenchConfig, file: DriverFile, desk: Desk) -> StopRun:
    """Go from step to step until the run stops; returns why it did, whatever happened."""
    state = State(config=config, harness=config.harness, runtimes={config.harness.runtime_id})
    stop = StopRun(StopReason.SUPERVISOR_ERROR)
    try:
        desk.at(Point.RUN_OPENED)
        make_folder(desk.evidence_dir)
        begun(file, desk)
        step = Step.SELECT
        while step is not Step.STOPPED:
            try:
                event = heeded(HANDLERS[step], state, desk)
            except StopRun as reached:
                stop, event = reached, Event.STOP
                unfinished(step, state, desk)
            step = next_step(step, event)
    except LedgerFault as error:
        return StopRun(StopReason.LEDGER_FAILURE, str(error))
    except OSError as error:
        return StopRun(StopReason.LEDGER_FAILURE, f"evidence cannot be kept: {error}")
    except Exception as error:
        return StopRun(StopReason.SUPERVISOR_ERROR, f"{type(error).__name__}: {error}")
    return stop


def begun(file: DriverFile, desk: Desk) -> None:
    """Record what the run rests on, and what a driver's file left running when it was loaded."""
    for topic, text in desk.told.items():
        desk.note(topic, text)
    if file.threads or file.children:
        desk.note(
            "left-running", f"threads: {', '.join(file.threads)}; processes: {', '.join(map(str, file.children))}"
        )


def heeded(handler: Handler, state: State, desk: Desk) -> Event:
    """Take one step, unless a signal came since the last one."""
    signal = desk.host.signals.first
    if signal is not None:
        raise StopRun(signal, "between two phases")
    return handler(state, desk)


IN_REPAIR: Final = frozenset({Step.REPAIR, Step.REGRESSION, Step.REPRODUCER, Step.ACTIVATE, Step.REJECT})


def unfinished(step: Step, state: State, desk: Desk) -> None:
    """Record that a repair was cut short, unless it was refused already."""
    held = state.repair
    if step in IN_REPAIR and held is not None and held.number and held.refusal is None:
        repairs.reject(state, desk, RepairRefusal.STOPPED)


def left_running(file: DriverFile) -> tuple[int, ...]:
    """Return the processes that the driver's file started while it was loaded and that still run."""
    return tuple(sorted(set(file.children) & set(children_of_this_process()))) if file.children else ()


def close(desk: Desk, stop: StopRun, file: DriverFile) -> Ended:
    """Close the driver and then the ledger; a driver that cannot be closed outweighs an orderly end only."""
    reason, detail = stop.reason, stop.detail
    told = close_all(desk, file)
    if told:
        detail = f"{detail}; {told}" if detail else told
        reason = StopReason.CLEANUP_FAILED if reason in ORDERLY else reason
    detail = desk.discreet(detail)
    record: RunClose | None = None
    try:
        record = desk.ledger.stop(reason, detail)
    except LedgerFault as error:
        reason, detail = StopReason.LEDGER_FAILURE, f"{detail}; {error}" if detail else str(error)
    desk.at(Point.RUN_CLOSED)
    return Ended(reason=reason, detail=detail, ledger=desk.ledger.path, head=desk.ledger.head, close=record)


def close_all(desk: Desk, file: DriverFile) -> str:
    """Close the driver and end what its file left running; says what went wrong, so that the ledger is closed too."""
    try:
        children = left_running(file)
        answer = close_driver(desk.driver, desk.host)
        end_all(children)
        desk.at(Point.DRIVER_CLOSED)
    except Exception as error:
        return f"the driver's end could not be seen to: {type(error).__name__}: {error}"
    ended = answer.ending is Ending.RETURNED
    return "" if ended else f"the driver could not be closed: {answer.error or answer.ending.value}"


def close_driver(driver: RepairDriver, host: DriverHost) -> Answer:
    """Let a driver end whatever it still has, also after a signal."""
    return host.ask(driver.close, host.monotonic() + host.patience.close_ms, host.abort(), heed_signals=False)


def end_all(children: tuple[int, ...]) -> None:
    """Kill processes that are still this one's children."""
    if not children:
        return
    import psutil

    alive = [child for child in psutil.Process().children(recursive=True) if child.pid in children]
    for child in alive:
        child.kill()
    psutil.wait_procs(alive, timeout=5)
