"""How one probe is run once on one commit: a fresh tree that it cannot write, walls, a time, and what is kept of it."""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from workloop.domain.checks import CheckOutcome, outcome_of_end
from workloop.repair.port import CheckRun, EvidenceFile
from workloop.repair.verification.ground import Bounds, Ground, Probe
from workloop.repair.verification.keeping import keep
from workloop.repair.verification.trees import Overlay, lay_over, read_overlay, untouched, write_tree
from workloop.runner.checks.plan import CheckPlan
from workloop.runner.checks.room import checkout_of, open_room, variables
from workloop.runner.command import Command, CommandEnd, run_command
from workloop.runner.registry import Workspace
from workloop.runner.removal import discard_checkout
from workloop.runner.sandbox.enclosure import Rooms

SUMMARY = "runs.json"


class CutShortError(Exception):
    """The phase was over before its runs were; what was cut off says nothing about the candidate. Never leaves here."""

    def __init__(self) -> None:
        """Say what stands in the verdict."""
        super().__init__("the phase was over before the check was")


class Judge(NamedTuple):
    """A probe with its files, read once."""

    probe: Probe
    overlay: Overlay

    @property
    def digest(self) -> str:
        """Return the SHA-256 of all that makes the probe what it is."""
        probe = self.probe
        facts = [probe.command, probe.cwd, probe.timeout_seconds, probe.red_exit_codes, probe.control]
        return hashlib.sha256(json.dumps([*facts, self.overlay.facts]).encode()).hexdigest()


class Trial(NamedTuple):
    """How one run ended, and the digest of the output that is kept of it."""

    commit: str
    outcome: CheckOutcome
    exit_code: int | None
    duration_us: int
    output: EvidenceFile

    @property
    def passed(self) -> bool:
        """Tell whether it passed; what is neither red nor green has not."""
        return self.outcome is CheckOutcome.PASSED


def judge_of(probe: Probe) -> Judge:
    """Read a probe's files, once for all of its runs."""
    return Judge(probe, read_overlay(probe.overlay))


class Trials:
    """The runs of one verification; counts them, and keeps what each printed under its digest."""

    def __init__(self, ground: Ground, bounds: Bounds) -> None:
        """Begin with no run."""
        self.ground = ground
        self.bounds = bounds
        self.done: list[Trial] = []
        self.counted = 0

    def run(self, judge: Judge, commit: str, *, seed: int = 0) -> Trial:
        """Run a probe on a commit and count it; raises CutShortError when the phase is over first."""
        trial = self._once(judge, judge.probe.command, commit, seed)
        self.done.append(trial)
        return trial

    def control(self, judge: Judge, commit: str) -> Trial | None:
        """Run what has to fail on a commit; None where the operator gave nothing."""
        return self._once(judge, judge.probe.control, commit, 0) if judge.probe.control else None

    @property
    def runs(self) -> tuple[CheckRun, ...]:
        """Return the runs as a verdict lists them."""
        return tuple(CheckRun(commit=trial.commit, passed=trial.passed) for trial in self.done)

    def evidence(self) -> tuple[EvidenceFile, ...]:
        """Return every output once, and a file that says which run printed which."""
        rows = [
            {
                "commit": trial.commit,
                "outcome": trial.outcome.value,
                "exit_code": trial.exit_code,
                "duration_us": trial.duration_us,
                "output": trial.output.digest,
                "sandbox": self.ground.enclosure.name,
            }
            for trial in self.done
        ]
        summary = keep(self.ground.evidence, (json.dumps(rows, indent=1) + "\n").encode(), SUMMARY)
        return tuple(sorted({*(trial.output for trial in self.done), summary}, key=lambda one: one.path))

    def _once(self, judge: Judge, words: tuple[str, ...], commit: str, seed: int) -> Trial:
        plan = self.ground.plan(commit)
        if self.bounds.stop.is_set() or self.bounds.seconds_left <= 0:
            raise CutShortError
        self.counted += 1
        folder = self.ground.repository.folder("checkouts") / f"{self.ground.run}-{self.counted}"
        room = open_room(self.ground.repository, plan, commit, folder)
        try:
            write_tree(self.ground.repository.path, commit, checkout_of(room))
            lay_over(judge.overlay, checkout_of(room))
            order = self._order(judge, plan, room, words, seed)
            end = run_command(order)
            if end.stopped or (end.timed_out and order.timeout_seconds < judge.probe.timeout_seconds):
                raise CutShortError
            outcome = _outcome(judge, end, untampered=untouched(judge.overlay, checkout_of(room)))
            output = keep(self.ground.evidence, order.log_path.read_bytes())
        finally:
            discard_checkout(self.ground.repository, room)
            self._log_path.unlink(missing_ok=True)
        return Trial(commit, outcome, end.exit_code, end.duration_us, output)

    @property
    def _log_path(self) -> Path:
        return self.ground.repository.folder("checks") / f"{self.ground.run}-{self.counted}.log"

    def _order(self, judge: Judge, plan: CheckPlan, room: Workspace, words: tuple[str, ...], seed: int) -> Command:
        checkout = checkout_of(room)
        return Command(
            command=words,
            folder=room.path,
            cwd=checkout / judge.probe.cwd,
            log_path=self._log_path,
            timeout_seconds=min(judge.probe.timeout_seconds, max(0.0, self.bounds.seconds_left)),
            env={**variables(plan, room), "PYTHONHASHSEED": str(seed)},
            stop=self.bounds.stop,
            enclosure=self.ground.enclosure,
            rooms=self._rooms(judge, room),
        )

    def _rooms(self, judge: Judge, room: Workspace) -> Rooms:
        """Let a run read its tree and write its scratch alone: what it runs is read-only where it is used, too."""
        ground = self.ground
        overlay = judge.probe.overlay
        return Rooms(
            writable=(room.path / "scratch",),
            readable=(checkout_of(room), *ground.readable),
            hidden=(*ground.masked, *([overlay] if overlay is not None else [])),
            home=room.path / "home",
        )


def _outcome(judge: Judge, end: CommandEnd, *, untampered: bool) -> CheckOutcome:
    if end.survivors or not untampered:
        return CheckOutcome.ERROR
    if end.timed_out or end.exit_code is None:
        return CheckOutcome.TIMEOUT
    return outcome_of_end(end.exit_code, end.output_tail, judge.probe.red_exit_codes)
