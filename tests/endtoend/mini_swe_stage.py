"""A bench whose worker is mini-swe-agent: behind walls, on the meter, out of an immutable runtime of a store."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mini_swe import FOLDER, PROGRAM, Change, harness_repository, project_repository

from repair_stage import LIMITS, Seen, Stage, records_of
from workloop.config import DriverConfig, HarnessConfig, HarnessKind, NetworkWish, SandboxConfig, SandboxWish
from workloop.config.meter import MeterConfig, Metering, ModelPrice
from workloop.repair.bundled.files import files_of_commit
from workloop.repair.bundled.laying import lay
from workloop.repair.bundled.manifest import read_harness
from workloop.repair.bundled.mapping import agent_command, setup_for
from workloop.repair.ledger.verifying import verify
from workloop.repair.port import (
    HarnessRevision,
    PhaseContext,
    SessionOrder,
    SessionReport,
    SessionSetup,
    WorkerResult,
    by_meter,
)
from workloop.store.system import SystemClock
from workloop.testing.model_server import ModelServer
from workloop.testing.scripted_driver import ScriptedDriver, worked
from workloop.wiring.repairing import worker_means
from workloop.wiring.runtimes import runtime_store

MODEL: Final = "scripted"
CALL_MICROS: Final = 460_000
PRICES: Final = {MODEL: ModelPrice(input=1_000_000_000, output=1_000_000_000, cache_read=0, cache_write=0)}
CUT: Final = SandboxConfig(kind=SandboxWish.BWRAP, network=NetworkWish.LOOPBACK, checks_network=NetworkWish.NONE)
SPEND_MAX: Final = 60_000_000
RUNTIME_MS_MAX: Final = 200_000
BRANCH: Final = "workloop/task"
KEY: Final = "sk-of-the-operator-0123456789abcdef"


def settings(key: Path, url: str) -> DriverConfig:
    """Return settings with mini-swe-agent as their one agent, whose key lies with the meter."""
    key.write_text(KEY)
    key.chmod(0o600)
    block = HarnessConfig(
        kind=HarnessKind.COMMAND,
        command=(str(PROGRAM), "-c", "raise SystemExit('no harness of files was given')"),
        model=MODEL,
        readable=(FOLDER, Path(sys.base_prefix)),
        meter=Metering(key=f"@{key}", openai_url=f"{url}/v1"),
    )
    return DriverConfig(harness="mini", harnesses={"mini": block}, sandbox=CUT, meter=MeterConfig(prices=PRICES))


@dataclass(kw_only=True)
class MiniSwe:
    """One session of mini-swe-agent on a task of the project, by a driver that does only that."""

    folder: Path
    model: ModelServer
    defects: tuple[Change, ...] = ()
    reports: list[SessionReport] = field(default_factory=list[SessionReport])
    evidence: list[Path] = field(default_factory=list[Path])

    def __post_init__(self) -> None:
        for name in ("bench", "home", "loop", "packages"):
            (self.folder / name).mkdir(mode=0o700)
        self.environment = {
            "PATH": f"{PROGRAM.parent}:/usr/bin:/bin",
            "HOME": str(self.folder / "home"),
            "XDG_STATE_HOME": str(self.folder / "state"),
        }
        self.harness = harness_repository(self.folder / "harness", *self.defects)
        self.project = project_repository(self.folder / "project")
        runtime = runtime_store(self.environment).build(self.harness.path, self.harness.head)
        self.revision = HarnessRevision(commit=self.harness.head, runtime_id=runtime.id)
        self.tree = runtime.path
        self.work = self.folder / "work"
        self.project.git("worktree", "add", "--quiet", "-b", BRANCH, str(self.work))

    def order(self, prompt: str) -> SessionOrder:
        """Return the order of a session with the harness laid out for it."""
        packages = self.folder / "packages"
        spec = read_harness(files_of_commit(self.harness.path, self.harness.head))
        made = setup_for(HarnessKind.COMMAND, spec, packages, {})
        lay(made.packages, packages)
        return SessionOrder(
            harness="mini",
            prompt=f"{made.preface}\n\n{prompt}",
            cwd=self.work,
            readable=(packages,),
            model=MODEL,
            setup=SessionSetup(command=agent_command(spec, self.tree)),
        )

    async def run_task(self, context: PhaseContext, task: object) -> WorkerResult:
        """Run the session and return whatever it left."""
        base = self.project.head
        self.reports.append(await context.run_session(self.order("Mend mdurl.encode.")))
        self.evidence.append(context.evidence_dir)
        left = self.project.git("rev-parse", BRANCH)
        candidate = left if left != base else None
        return replace(worked(candidate=candidate, base=base), charge=by_meter())

    def see(self) -> Seen:
        """Run a campaign of this one session."""
        limits = replace(LIMITS, max_task_attempts=1, max_spend_microusd=SPEND_MAX, max_runtime_ms=RUNTIME_MS_MAX)
        with ExitStack() as stack:
            stack.enter_context(self.model)
            config = settings(self.folder / "provider.key", self.model.url)
            means = stack.enter_context(worker_means(config, self.folder / "loop", self.environment, SystemClock()))
            stage = Stage(folder=self.folder / "bench", limits=limits, means=means, harness=self.revision)
            driver = ScriptedDriver(
                script={"run_task": [self.run_task], "settle": [by_meter()]}, reachable=(self.work,)
            )
            ended = stage.run(driver)
        return Seen(ended, records_of(stage.ledger), verify(stage.ledger), driver)
