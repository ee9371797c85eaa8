"""Where a verification runs and what it may reach: whose repository, which walls, until when."""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from workloop.domain.clock import Instant
from workloop.domain.errors import BadRequest, Refusal
from workloop.repair.placement import check_placement
from workloop.runner.checks.plan import CheckPlan
from workloop.runner.repository import Repository
from workloop.runner.sandbox.enclosure import Enclosure, Network, SandboxKind

ARGUMENTS_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A program of the operator's that judges a harness: an argument list, never a line for a shell.

    Its files are laid over each checkout from `overlay`, a folder of the operator's own. An exit code of 0 passes, one
    of `red_exit_codes` fails, anything else is neither. `control` has to fail where the probe has passed: it finds a
    harness that makes everything pass. `confirmed` is the digest that an observation was confirmed with, if it was.
    """

    command: tuple[str, ...]
    overlay: Path | None = None
    cwd: str = "."
    timeout_seconds: float = 300.0
    red_exit_codes: tuple[int, ...] = (1,)
    control: tuple[str, ...] = ()
    confirmed: str = ""

    def __post_init__(self) -> None:
        commands = [self.command, *([self.control] if self.control else [])]
        if any(not words or not all(words[:1]) or len(words) > ARGUMENTS_MAX for words in commands):
            raise BadRequest("PROBE_INVALID", "a probe needs a program and a bounded list of arguments")
        if self.timeout_seconds <= 0 or not self.red_exit_codes or 0 in self.red_exit_codes:
            raise BadRequest("PROBE_INVALID", "a probe needs a time above 0 and red exit codes other than 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Until when, on the given monotonic clock in milliseconds, and how a run is ended before that."""

    deadline_ms: int
    monotonic: Callable[[], int]
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def seconds_left(self) -> float:
        """Return how long there still is."""
        return (self.deadline_ms - self.monotonic()) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The harness's repository with the host's own state folder, the evidence folder of the phase, and the walls.

    `run` names the phase and is new; `worker_paths` is all that a worker can reach, `readable` what a check needs
    although it is masked, `hidden` what it must not see. `unwalled` lets it run without walls, at the operator's word.
    """

    repository: Repository
    run: str
    now: Instant
    evidence: Path
    enclosure: Enclosure
    worker_paths: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    allowed_variables: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    unwalled: bool = False

    @property
    def masked(self) -> tuple[Path, ...]:
        """Return what nothing that runs here may see."""
        return (*self.hidden, self.evidence, self.repository.path, self.repository.common_dir)

    def plan(self, commit: str) -> CheckPlan:
        """Return what the room of a run on a commit is made by."""
        return CheckPlan(
            run=self.run,
            item_id="repair",
            base_sha=commit,
            candidate_sha=commit,
            checks=(),
            now=self.now,
            allowed_variables=self.allowed_variables,
            environment=self.environment,
            enclosure=self.enclosure,
        )


def check_ground(ground: Ground, probes: tuple[Probe, ...]) -> None:
    """Raise Refusal where a candidate would run without walls, or a worker could read what judges it."""
    if not ground.unwalled:
        if ground.enclosure.kind is SandboxKind.NONE:
            raise _without_walls("code of a candidate would run without walls")
        if ground.enclosure.network is Network.OPEN:
            raise _without_walls("code of a candidate would reach the network")
    trusted = {f"the folder of probe {number}": probe.overlay for number, probe in enumerate(probes, 1)}
    places = {name: place for name, place in trusted.items() if place is not None}
    reachable = (*ground.worker_paths, ground.repository.path, ground.repository.common_dir)
    check_placement(places, reachable)
    check_placement({f"the folder {path}": path for path in reachable}, places.values())
    check_placement({"the state folder": ground.repository.state_dir, "evidence": ground.evidence}, reachable)


def _without_walls(why: str) -> Refusal:
    return Refusal(
        "VERIFICATION_UNWALLED",
        why,
        hint="install bubblewrap and cut the network, or say in the driver that this is meant",
    )
