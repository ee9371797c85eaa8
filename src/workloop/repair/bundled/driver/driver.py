"""What each phase of a bench run comes to where the harness is a repository of files and nobody wrote a driver."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from workloop.domain.clock import Instant
from workloop.domain.session import SessionClass, SessionEvent, SessionReport
from workloop.repair.bundled.announcing import with_servers
from workloop.repair.bundled.capabilities import widened
from workloop.repair.bundled.driver.acceptance import Court, acceptance_verdict
from workloop.repair.bundled.driver.briefs import repair_brief, task_brief
from workloop.repair.bundled.driver.campaign import BundledCampaign
from workloop.repair.bundled.driver.outfits import Outfit, outfit
from workloop.repair.bundled.driver.premises import Premises
from workloop.repair.bundled.driver.worktrees import WorkTree, open_tree, put_away, put_away_left
from workloop.repair.bundled.files import files_of_commit
from workloop.repair.bundled.manifest import HarnessSpec, read_harness
from workloop.repair.observations.finding import Observation
from workloop.repair.observations.reading import read_events
from workloop.repair.port import (
    Charge,
    Confirmation,
    HarnessRegressedError,
    HarnessRevision,
    PhaseContext,
    SessionOrder,
    Task,
    Verdict,
    WorkerResult,
    WorkerStatus,
    by_meter,
)
from workloop.repair.runtimes.outcomes import Outcome
from workloop.repair.verification.ground import Bounds, Ground
from workloop.repair.verification.guard import GuardRules
from workloop.repair.verification.hosted import hosted
from workloop.repair.verification.regression import regression_verdict
from workloop.repair.verification.reproducer import confirmation_of, reproducer_verdict
from workloop.runner.repository import open_repository, repository_lock

SESSIONS = "sessions"
TOLD = "worker.txt"
UNREADABLE = "events-unusable.txt"
LIMIT_MS = 300_000
BLIP_MS = 5_000
TRANSIENT = frozenset({SessionClass.LIMITED, SessionClass.TRANSIENT})


class BundledDriver:
    """Runs agents of the settings on work trees, and judges what they leave by the operator's own checks."""

    def __init__(self, campaign: BundledCampaign, premises: Premises) -> None:
        self.campaign = campaign
        self.premises = premises
        self.projects = open_repository(campaign.project, campaign.scratch)
        self.harnesses = open_repository(campaign.harness_repository, campaign.scratch)
        self.judged_projects = open_repository(campaign.project, premises.state)
        self.judged_harnesses = open_repository(campaign.harness_repository, premises.state)
        self.held = ExitStack()
        self.trees: list[WorkTree] = []
        self.seen: dict[str, tuple[SessionEvent, ...]] = {}
        self.confirmed: dict[str, str] = {}

    async def run_task(self, context: PhaseContext, task: Task) -> WorkerResult:
        """Let the task's agent work in a tree of the project, dressed with the harness in force."""
        tree = await self.tree(context, project=True, title=task.id)
        try:
            dressed = await asyncio.to_thread(self.dressed, context)
            order = SessionOrder(
                harness=self.campaign.task_agent,
                prompt=task_brief(dressed.preface, task),
                cwd=tree.path,
                readable=(dressed.packages,),
                model=self.campaign.task_model,
                turns_max=dressed.turns_max,
                setup=dressed.setup,
            )
            report = await context.run_session(order)
            found = self.observed(context, report)
        finally:
            left = await asyncio.to_thread(self.close_tree, tree)
            await asyncio.to_thread(self.clear, name_of(context))
        return replace(self.result(context, tree, report, left), observations=found)

    async def run_repair(self, context: PhaseContext, observation: Observation) -> WorkerResult:
        """Let the repair's agent work in a tree of the harness, as the settings have it and not with that harness."""
        tree = await self.tree(context, project=False, title="repair")
        try:
            order = SessionOrder(
                harness=self.campaign.repair_agent,
                prompt=repair_brief(observation, self.excerpt(observation)),
                cwd=tree.path,
                model=self.campaign.repair_model,
            )
            report = await context.run_session(order)
        finally:
            left = await asyncio.to_thread(self.close_tree, tree)
        return self.result(context, tree, report, left)

    async def confirm_observation(self, context: PhaseContext, observation: Observation) -> Confirmation:
        """Run the operator's reproducer on the harness in force; what has none is not confirmed."""
        probe = self.campaign.reproducer_of(observation)
        if probe is None:
            return Confirmation(
                confirmed=False, why=f"the campaign has no reproducer for {observation.kind} of {observation.subject}"
            )

        def work(bounds: Bounds) -> Confirmation:
            return confirmation_of(
                self.ground(context), bounds, probe, context.harness.commit, runs=self.campaign.reproducer_runs
            )

        said = await hosted(context, self.premises.monotonic, work)
        if said.confirmed:
            self.confirmed[observation.fingerprint] = said.reproducer
        return said

    async def verify_regression(self, context: PhaseContext, candidate: str) -> Verdict:
        """Run the operator's probes on the harness in force and on the candidate, once the guard lets it pass.

        Then its servers are started, each of which has to announce exactly the tools that the harness declares.
        """

        def work(bounds: Bounds) -> Verdict:
            commits, ground = (context.harness.commit, candidate), self.ground(context)
            verdict = regression_verdict(ground, bounds, self.campaign.regression, commits, self.rules())
            return with_servers(verdict, ground, bounds, self.spec(candidate)) if verdict.passed else verdict

        return await hosted(context, self.premises.monotonic, work)

    async def verify_reproducer(self, context: PhaseContext, candidate: str, observation: Observation) -> Verdict:
        """Run the very reproducer that confirmed the observation, several times on each side."""
        probe = self.campaign.reproducer_of(observation)
        assert probe is not None, "an observation without a reproducer is never confirmed"
        known = replace(probe, confirmed=self.confirmed.get(observation.fingerprint, ""))

        def work(bounds: Bounds) -> Verdict:
            commits = context.harness.commit, candidate
            runs = self.campaign.reproducer_runs
            return reproducer_verdict(self.ground(context), bounds, known, commits, self.rules(), runs=runs)

        return await hosted(context, self.premises.monotonic, work)

    async def activate_harness(
        self, context: PhaseContext, candidate: str, verdicts: tuple[Verdict, Verdict]
    ) -> HarnessRevision:
        """Build the runtime of the verified commit and put it into force, unless the phase was aborted meanwhile."""

        def build(bounds: Bounds) -> str:
            runtime = self.premises.store.build(self.campaign.harness_repository, candidate)
            self.premises.store.activate(runtime.id, candidate, lambda: not bounds.stop.is_set())
            return runtime.id

        return HarnessRevision(commit=candidate, runtime_id=await hosted(context, self.premises.monotonic, build))

    async def accept_task(self, context: PhaseContext, task: Task, candidate: str) -> Verdict:
        """Run the task's checks, and keep how the runtime did; raises HarnessRegressedError when it did worse."""

        def work(bounds: Bounds) -> Verdict:
            return acceptance_verdict(self.court(context), candidate, self.campaign.acceptance[task.id], bounds)

        verdict = await hosted(context, self.premises.monotonic, work)

        def record(bounds: Bounds) -> None:
            self.record(context, task, verdict, lambda: not bounds.stop.is_set())

        await hosted(context, self.premises.monotonic, record)
        return verdict

    async def settle(self, context: PhaseContext) -> Charge:
        """Bill what the meter has on its books, because nothing runs past it."""
        return by_meter()

    async def worker_paths(self) -> tuple[Path, ...]:
        """Return the repositories, whose objects workers read, and where their trees are."""
        return self.campaign.workplaces

    async def close(self) -> None:
        """Put away the trees of phases that were cut off, and let other runs have the repositories."""
        try:
            for tree in tuple(self.trees):
                await asyncio.to_thread(self.close_tree, tree)
        finally:
            self.held.close()

    async def tree(self, context: PhaseContext, *, project: bool, title: str) -> WorkTree:
        """Make the work tree of a phase."""
        repository, base = (
            (self.projects, self.campaign.project_commit) if project else (self.harnesses, context.harness.commit)
        )
        name = name_of(context)
        tree = await asyncio.to_thread(open_tree, repository, name, title, base, self.premises.clock.now())
        self.trees.append(tree)
        return tree

    def close_tree(self, tree: WorkTree) -> str:
        """Put a tree away; says what stands of it."""
        self.trees.remove(tree)
        return put_away(tree)

    def take(self) -> None:
        """Have both repositories for this run alone; raises Conflict while another run has one of them.

        Two runs would clear away what the other's sessions stand on.
        """
        repositories = {each.name: each for each in (self.judged_projects, self.judged_harnesses)}
        for _, repository in sorted(repositories.items()):
            self.held.enter_context(repository_lock(repository, "repair-run", seconds=0.0))

    def put_away_left(self) -> None:
        """Put away what runs on the same scratch folder left that were killed."""
        for repository in (self.projects, self.harnesses):
            for name in put_away_left(repository):
                self.clear(name)

    def clear(self, name: str) -> None:
        """Remove what was laid out for a session, if anything was."""
        folder = self.campaign.scratch / SESSIONS / name
        if folder.is_dir():
            shutil.rmtree(folder)

    def dressed(self, context: PhaseContext) -> Outfit:
        """Lay out the harness in force for the session of a phase, out of the runtime as it is read again now."""
        harness = context.harness
        runtime = self.premises.store.for_worker(harness.runtime_id, harness.commit)
        folder = self.campaign.scratch / SESSIONS / name_of(context)
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        agent = self.premises.agent(self.campaign.task_agent)
        return outfit(agent, self.spec(harness.commit), runtime.path, folder)

    def spec(self, commit: str) -> HarnessSpec:
        """Read the harness of a commit; raises BadRequest for one that is none."""
        return read_harness(files_of_commit(self.campaign.harness_repository, commit))

    def observed(self, context: PhaseContext, report: SessionReport) -> tuple[Observation, ...]:
        """Return what the session's events say of the harness, and keep the events for whoever repairs it."""
        reading = read_events(context.evidence_dir / "session-1-events.jsonl", report.session_id)
        if not reading.usable:
            (context.evidence_dir / UNREADABLE).write_text(f"{reading.state}: {reading.reason}\n", "utf-8")
        found = reading.observations(self.campaign.thresholds) or ()
        self.seen.update((one.fingerprint, reading.events) for one in found)
        return found

    def excerpt(self, observation: Observation) -> Sequence[SessionEvent]:
        """Return the events that an observation rests on."""
        places = {place for reference in observation.evidence for place in reference.places}
        return [event for event in self.seen.get(observation.fingerprint, ()) if event.seq in places]

    def result(self, context: PhaseContext, tree: WorkTree, report: SessionReport, left: str) -> WorkerResult:
        """Return what a worker left, and keep in words what became of it; a limit is no reason against the harness."""
        clean = report.session_class is SessionClass.CLEAN
        summary = "; ".join(part for part in (f"{report.session_class}", report.detail, left) if part)
        (context.evidence_dir / TOLD).write_text(f"{summary}\nbranch {tree.workspace.branch}\n", "utf-8")
        transient = f"{report.session_class}: {report.detail}" if report.session_class in TRANSIENT else ""
        return WorkerResult(
            status=WorkerStatus.FINISHED if clean else WorkerStatus.FAILED,
            base=tree.base,
            candidate=tree.candidate,
            charge=by_meter(),
            transient=transient,
            wait_ms=self.wait_ms(report.session_class, report.reset_at) if transient else 0,
            summary=summary,
        )

    def wait_ms(self, session_class: SessionClass, reset_at: Instant | None) -> int:
        """Return how long a usage limit still lasts, or how long to leave a provider alone that does not say."""
        if session_class is SessionClass.TRANSIENT:
            return BLIP_MS
        return LIMIT_MS if reset_at is None else max(0, (reset_at - self.premises.clock.now()) // 1_000)

    def ground(self, context: PhaseContext) -> Ground:
        """Return where a candidate of the harness is judged."""
        return self.ground_for(name_of(context), context.evidence_dir)

    def ground_for(self, run: str, evidence: Path) -> Ground:
        """Return where a harness is judged under a name that is new."""
        premises, campaign = self.premises, self.campaign
        return Ground(
            repository=self.judged_harnesses,
            run=run,
            now=premises.clock.now(),
            evidence=evidence,
            enclosure=premises.enclosure,
            worker_paths=campaign.workplaces,
            readable=premises.rooms.readable,
            hidden=(*premises.rooms.hidden, *campaign.folders()),
            environment=premises.environment,
            unwalled=campaign.without_walls,
        )

    def court(self, context: PhaseContext) -> Court:
        """Return where a candidate of the project is judged."""
        premises = self.premises
        return Court(
            repository=self.judged_projects,
            base=self.campaign.project_commit,
            run=name_of(context),
            now=premises.clock.now(),
            evidence=context.evidence_dir,
            protected=self.campaign.project_protected,
            enclosure=premises.enclosure,
            rooms=premises.rooms,
            environment=premises.environment,
        )

    def rules(self) -> GuardRules:
        """Return what a repair may not touch, and how what it may do is compared with what was allowed before."""

        def wider(repository: Path, base: str, candidate: str) -> tuple[str, ...]:
            return widened(self.spec(base), self.spec(candidate))

        folders = tuple(dict.fromkeys(probe.cwd for probe in self.campaign.regression))
        return GuardRules(protected=self.campaign.protected, folders=folders, widened=wider)

    def record(self, context: PhaseContext, task: Task, verdict: Verdict, wanted: Callable[[], bool]) -> None:
        """Keep how a runtime did with a task."""
        runtime_id, store = context.harness.runtime_id, self.premises.store
        store.record_outcome(
            Outcome(
                runtime_id=runtime_id,
                task_id=f"{task.id}@{self.campaign.digest_of(task)}",
                run_id=context.run_id,
                accepted=verdict.passed,
            ),
            wanted,
        )
        if not verdict.passed and store.has_regressed(runtime_id, self.campaign.regressions_max):
            failing = ", ".join(store.standing(runtime_id).regressed)
            told = f"tasks that went well before fail with {runtime_id}: {failing}"
            raise HarnessRegressedError(f"{told}; {verdict.why}" if verdict.why else told)


def name_of(context: PhaseContext) -> str:
    """Return the name of a phase that is new on this host: of its tree, its session's files and its checks."""
    return f"{context.run_id}-{context.phase}"
